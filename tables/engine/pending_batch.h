// The changes of one turn, as the records that the log gets.
//
// Loop thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tables/engine/catalog.h"

namespace freshet {

class PendingBatch {
 public:
  // Call it if there is a log. Without a log, the batch holds only a time.
  void set_logged() { logged_ = true; }
  // Begins a batch. Call it only while empty(). Without a log the batch stays empty, so that each change gets its own
  // time.
  void begin(WallTime now);
  WallTime time() const { return time_; }

  // The add functions: call them after begin(), and only with a log. `sequence`: that of the change in its table's
  // stream; 0: none.
  void add(const Change& change, uint64_t sequence);
  void add_table(Table& table);
  void add_closed(const ClosedEntry& closed);
  void add_drop(const Table& table);
  // Moves the counts of transitions that have changed to the batch.
  void add_changed_flows(const Catalog& catalog);

  // The batch must be synced at once, not with the next one.
  void hurry() { hurried_ = true; }
  bool hurried() const { return hurried_; }

  bool empty() const { return text_.empty(); }
  uint64_t bytes() const { return text_.size(); }
  const std::string& text() const { return text_; }
  // The batch was appended to this segment of the log: places its items there and empties the batch.
  void appended(Catalog& catalog, uint32_t segment);

 private:
  bool logged_ = false;
  bool hurried_ = false;
  std::string text_;
  WallTime time_{};
  std::vector<ItemRef> placed_;  // New items; their log position is known once the batch is appended.
};

// The state that recovery needs before it replays the records that follow: counters, tables, closed streams, books.
std::string checkpoint_of(const Catalog& catalog);

}  // namespace freshet
