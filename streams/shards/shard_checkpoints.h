// The positions of one reader in a stream's shards, and how they are stored: an item for each shard, and one for the
// start (docs/formats.md), in the system table or, in a fleet, in the table of positions. Each mark has a `rev` that
// only rises, and is written on the condition that the stored one is what this object knows: of two readers that go on
// from one position, only one can store its next. Pure, except for load_checkpoints() and load_reader(); loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async.h"
#include "streams/shards/shard_order.h"
#include "tables/tables.h"

namespace freshet {

struct StoredReader;

// The clocks of an engine and of a daemon differ by no more: no signature would be accepted.
inline constexpr seconds kSignatureMargin{15 * 60};

// Where a reader started in a stream.
struct ReaderStart {
  std::string reader;
  std::string table;  // Empty in a start that an older version has stored.
  std::string label;  // The stream's label.
  std::string arn;    // The stream's ARN; empty: it is not known.
  // Rises with each start of the reader. The marks of its earlier starts have no meaning any more.
  int64_t number = 0;
  std::optional<WallTime> from;  // By the engine's clock; changes before that are not wanted. Empty: all are.
};

class ShardCheckpoints {
 public:
  ShardCheckpoints() = default;
  explicit ShardCheckpoints(ReaderStart start) : start_(std::move(start)) {}

  const ReaderStart& start() const { return start_; }
  // The shard's mark; null if nothing of it is stored.
  const ShardMark* find(const std::string& shard) const;
  std::vector<std::pair<std::string, ShardMark>> all() const;

  // The reader never wants these shards: their marks are over, and stored with the start. Call it before
  // start_writes().
  void pass(const std::vector<std::string>& shards);
  // The write that stores the start; make it before any other.
  PutItemInput start_write() const;
  // The same, on the condition that the reader's stored start is that of `before`; null: that it has none.
  PutItemInput start_write_after(const ShardCheckpoints* before) const;
  // The writes that store the marks, in their order. Call stored() once they are made.
  std::vector<WriteInput> writes(const std::vector<std::pair<std::string, ShardMark>>& marks) const;
  void stored(const std::vector<std::pair<std::string, ShardMark>>& marks);
  // This start under another reader's name and table, with the shards that are passed, but without the marks that have
  // items of their own.
  ShardCheckpoints begun_as(std::string reader, std::string table) const;
  // The marks that have items of their own.
  std::vector<std::pair<std::string, ShardMark>> marks_with_items() const;
  // The wall time of the reader's last loss in milliseconds, or a little later; 0: none. It is stored with each mark.
  int64_t lost_at() const { return lost_at_; }
  void lose(int64_t now);
  // Takes the stored marks of this start as they are now, because others may have written some, too.
  void learn(const ShardCheckpoints& now);
  // The write that removes a shard's mark. Forgets the mark.
  std::optional<WriteInput> remove(const std::string& shard);
  // The writes that remove everything.
  std::vector<WriteInput> removals() const;

 private:
  friend Async<Result<std::map<std::string, ShardCheckpoints>>> load_checkpoints(Tables& tables);
  friend Async<Result<StoredReader>> load_reader(Tables& tables, std::string table, std::string reader);
  // The writes that remove all that such a table has of one reader, also marks without a start.
  Async<Result<std::vector<WriteInput>>> all_removals(Tables& tables, std::string table, std::string reader);
  struct Stored {
    ShardMark mark;
    uint64_t rev = 0;  // 0: it is stored with the start, or not at all.
  };
  static ShardCheckpoints started(const Item& item);
  void take(const Item& item);
  std::string mark_id(const std::string& shard) const;

  ReaderStart start_;
  std::map<std::string, Stored> marks_;  // By shard.
  int64_t lost_at_ = 0;
};

// All that is stored, by reader.
Async<Result<std::map<std::string, ShardCheckpoints>>> load_checkpoints(Tables& tables);

struct StoredReader {
  std::optional<ShardCheckpoints> checkpoints;  // Empty: the reader has no start.
  std::vector<WriteInput> left_over;            // The writes that remove the marks of earlier starts.
};
// Loads one reader from a table that has the keys of the system table.
Async<Result<StoredReader>> load_reader(Tables& tables, std::string table, std::string reader);

}  // namespace freshet
