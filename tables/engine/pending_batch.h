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
  // Without this call there is no log: the batch has a time only.
  void set_logged() { logged_ = true; }
  // Begins a batch: only while empty(). Without a log it stays empty, so that each change gets a time of its own.
  void begin(WallTime now);
  WallTime time() const { return time_; }

  // All after begin(), and only with a log. `sequence`: of the change in its table's stream; 0: it is in none.
  void add(const Change& change, uint64_t sequence);
  void add_table(Table& table);
  void add_closed(const ClosedEntry& closed);
  void add_drop(const Table& table);
  // Moves the counts of transitions that have changed to the batch.
  void add_changed_flows(const Catalog& catalog);

  // It is to be synced at once, and not with the next one.
  void hurry() { hurried_ = true; }
  bool hurried() const { return hurried_; }

  bool empty() const { return text_.empty(); }
  uint64_t bytes() const { return text_.size(); }
  const std::string& text() const { return text_; }
  // It is in this segment of the log: its items are placed there, and the next batch begins.
  void appended(Catalog& catalog, uint32_t segment);

 private:
  bool logged_ = false;
  bool hurried_ = false;
  std::string text_;
  WallTime time_{};
  std::vector<ItemRef> placed_;  // New items; their log position is known once the batch is appended.
};

// All that a start has to know before it replays the records that come behind: counters, tables, closed streams, books.
std::string checkpoint_of(const Catalog& catalog);

}  // namespace freshet
