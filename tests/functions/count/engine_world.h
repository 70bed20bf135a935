// The table of count_world.h as if it were in an engine: its changes come in shards, whose order among each other is
// drawn, and which are replaced by new ones now and then. A reader delivers them, and starts again at what it has
// saved.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/functions/count/count_world.h"

namespace freshet {

class EngineCountWorld : public CountWorld {
 public:
  static constexpr size_t kLineages = 3;  // Groups of shards: an item's changes are all in one.

  explicit EngineCountWorld(bool late, uint64_t seed = 1) : CountWorld(late, seed), drawn_(seed) {}

  // Takes what was written since into the shards.
  void collect() {
    pass(milliseconds(1));  // All is durable.
    for (;;) {
      ReadStreamInput read;
      read.table = "Parcels";
      read.from = collected_;
      auto page = wait(store->read_stream(std::move(read)));
      ASSERT_TRUE(page) << page.error().message;
      if (page->records.empty()) return;
      collected_ = page->next;
      for (ChangeRecord& record : page->records) add(std::move(record));
    }
  }
  // New changes come in new shards.
  void replace_shards() { ++generation_; }

  // At most that many of the next records, in a drawn order of the shards.
  StreamBatch next_batch(size_t most) {
    StreamBatch batch;
    batch.source = {Account{}, stream_arn(Account{}, "Parcels", label()), StreamView::kNewAndOldImages};
    batch.continuity = "m/1/" + std::to_string(losses_);
    reached_ = done_;
    while (batch.records.size() < most) {
      std::vector<size_t> ready;
      for (size_t i = 0; i < kLineages; ++i) {
        if (reached_[i] < lineages_[i].size()) ready.push_back(i);
      }
      if (ready.empty()) break;
      const size_t lineage = ready[drawn_.below(ready.size())];
      const Change& change = lineages_[lineage][reached_[lineage]++];
      batch.records.push_back(change.record);
      batch.records.back().sequence = ++numbers_;  // Means nothing beyond this delivery.
      batch.names.push_back(change.name);
    }
    return batch;
  }
  void delivered() { done_ = reached_; }
  void save() { saved_ = done_; }
  void restart() { done_ = saved_; }
  // The next record of a lineage is lost; the reader sees that.
  bool lose_one(size_t lineage) {
    if (done_[lineage] >= lineages_[lineage].size()) return false;
    ++done_[lineage];
    saved_ = done_;
    ++losses_;
    return true;
  }
  // The last record of the item is lost, as if it had been trimmed behind others that wait; the reader sees that.
  void lose_last_of(const std::string& id) {
    collect();
    auto& lineage = lineages_[lineage_of(id)];
    const auto last = std::find_if(lineage.rbegin(), lineage.rend(),
                                   [&](const Change& one) { return one.record.keys.string_or("id") == id; });
    ASSERT_TRUE(last != lineage.rend());
    lineage.erase(std::next(last).base());
    ++losses_;
  }
  // A reader that was made anew passes over what there is, and has a start of its own.
  void begin_at_latest() {
    collect();
    for (size_t i = 0; i < kLineages; ++i) done_[i] = lineages_[i].size();
    saved_ = done_;
    ++losses_;
  }
  bool has_more() const {
    for (size_t i = 0; i < kLineages; ++i) {
      if (done_[i] < lineages_[i].size()) return true;
    }
    return false;
  }
  Result<std::string> deliver_next(size_t most = 1000) {
    collect();
    auto answer = invoke(Payload(next_batch(most)));
    if (answer) delivered();
    return answer;
  }

 private:
  struct Change {
    ChangeRecord record;
    RecordName name;
  };
  static size_t lineage_of(const std::string& id) { return std::hash<std::string>()(id) % kLineages; }
  void add(ChangeRecord record) {
    const std::string id(record.keys.string_or("id"));
    const size_t lineage = lineage_of(id);
    RecordName name{"shard-" + std::to_string(generation_) + "-" + std::to_string(lineage),
                    std::to_string(9'000'000 + record.sequence), "e" + std::to_string(record.sequence)};
    lineages_[lineage].push_back({std::move(record), std::move(name)});
  }

  Random drawn_;
  std::array<std::vector<Change>, kLineages> lineages_;
  std::array<size_t, kLineages> done_{};
  std::array<size_t, kLineages> saved_{};
  std::array<size_t, kLineages> reached_{};
  uint64_t collected_ = 1;
  uint64_t numbers_ = 0;
  int generation_ = 0;
  int losses_ = 0;
};

}  // namespace freshet
