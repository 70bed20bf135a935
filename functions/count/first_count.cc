#include "functions/count/first_count.h"

#include <absl/container/flat_hash_map.h>

#include <string_view>
#include <utility>
#include <vector>

#include "functions/count/key_hash.h"
#include "functions/count/state_changes.h"

namespace freshet {
namespace {

constexpr uint32_t kItemsATurn = 1000;

// The state of each item, by the hash of its key.
class States {
 public:
  explicit States(const KeySchema& keys) : key_(keys) {}

  void set(const ItemRef& item, std::string label) { states_[key_.hash_of(item)] = number_of(std::move(label)); }
  // As the first record of an item says, so it was before. Later records of it change nothing.
  void go_back(const ChangeRecord& record, std::string_view attribute) {
    const KeyHash hash = key_.hash_of(record.before ? record.before : record.after);
    if (!changed_.try_emplace(hash, true).second) return;
    if (record.before) {
      states_[hash] = number_of(state_label(record.before, attribute));
    } else {
      states_.erase(hash);
    }
  }
  std::map<std::string, int64_t> counts() const {
    std::vector<int64_t> numbers(labels_.size());
    for (const auto& [hash, label] : states_) ++numbers[label];
    std::map<std::string, int64_t> out;
    for (const auto& [label, number] : labels_) {
      if (numbers[number] > 0) out[label] = numbers[number];
    }
    return out;
  }

 private:
  uint32_t number_of(std::string label) {
    return labels_.try_emplace(std::move(label), static_cast<uint32_t>(labels_.size())).first->second;
  }

  KeyHasher key_;
  absl::flat_hash_map<std::string, uint32_t> labels_;
  absl::flat_hash_map<KeyHash, uint32_t> states_;
  absl::flat_hash_map<KeyHash, bool> changed_;
};

Async<Result<void>> scan_all(Tables& tables, Scheduler& scheduler, const FirstCountInput& input, States& states) {
  Item start;
  do {
    ScanInput scan;
    scan.table = input.table;
    scan.exclusive_start_key = std::move(start);
    scan.consistent = true;
    scan.limit = kItemsATurn;
    auto page = co_await tables.scan(std::move(scan));
    if (!page) co_return fail(page.error());
    for (const ItemRef& item : page->items) states.set(item, state_label(item, input.attribute));
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(scheduler, nanoseconds(0));
  } while (!start.empty());
  co_return Result<void>();
}

Async<Result<void>> go_back(Tables& tables, Scheduler& scheduler, const FirstCountInput& input, uint64_t end,
                            States& states) {
  for (uint64_t from = input.before; from < end;) {
    ReadStreamInput read;
    read.table = input.table;
    read.label = input.label;
    read.from = from;
    auto page = co_await tables.read_stream(std::move(read));
    if (!page) co_return fail(page.error());
    if (page->next == from) co_return fail(ErrorCode::kInternal, "the stream of " + input.table + " ends too early");
    for (const ChangeRecord& record : page->records) {
      StateChanges checked;
      if (auto good = checked.add(record, input.attribute); !good) co_return good;
      states.go_back(record, input.attribute);
    }
    from = page->next;
    co_await sleep_for(scheduler, nanoseconds(0));
  }
  co_return Result<void>();
}

}  // namespace

Async<Result<std::map<std::string, int64_t>>> count_items(Tables& tables, Scheduler& scheduler, FirstCountInput input) {
  States states(input.keys);
  auto scanned = co_await scan_all(tables, scheduler, input, states);
  if (!scanned) co_return fail(scanned.error());
  // Changes that the scan has seen are in the stream once they are durable.
  auto durable = co_await tables.durable();
  if (!durable) co_return fail(durable.error());
  auto bounds = co_await tables.stream_bounds(input.table);
  if (!bounds) co_return fail(bounds.error());
  auto back = co_await go_back(tables, scheduler, input, bounds->next, states);
  if (!back) co_return fail(back.error());
  co_return states.counts();
}

}  // namespace freshet
