#include "functions/ordered/replay_world.h"

#include "base/check.h"
#include "tables/value/json.h"

namespace freshet::ordered {
namespace {

std::unique_ptr<EmbeddedTables> open_store(Scheduler& scheduler, Random& random) {
  EmbeddedOptions options;
  options.directory = kMemoryDirectory;
  auto opened = open_embedded(nullptr, scheduler, random, std::move(options));
  FRESHET_CHECK(opened.has_value(), "a store in memory opens");
  return std::move(*opened);
}

}  // namespace

std::string_view write_name(const Record& record) {
  constexpr std::string_view kWriteNames[] = {"put", "delete", "update"};
  return kWriteNames[record.write.index()];
}

ReplayWorld::ReplayWorld(const Settings& settings, const KeySchema& keys, WallTime start, uint64_t seed)
    : clock_(start), random_(seed), store_(open_store(loop_.loop(), random_)), late_(*store_, loop_.loop(), seed) {
  loop_.loop().add(*store_);
  auto table = wait(GuardedTable::open(late_, clock_, Definition{settings, keys}));
  FRESHET_CHECK(table.has_value(), "a table of checked settings and keys opens");
  table_ = std::move(*table);
}

template <class T>
T ReplayWorld::wait(Async<T> work) {
  const bool done = loop_.run_until([&] { return work.is_ready(); }, seconds(3600));
  FRESHET_CHECK(done, "the store in memory answers");
  return work.take();
}

void ReplayWorld::advance_to(WallTime when) {
  if (when > now()) loop_.run_for(when - now());
}

Result<void> ReplayWorld::fill(const Fixture& fixture) {
  for (size_t i = 0; i < fixture.snapshot.size(); ++i) {
    PutItemInput put;
    put.table = table_->settings().table;
    put.item = fixture.snapshot[i];
    auto done = wait(store_->put_item(std::move(put)));
    if (!done) return fail(done.error().code, fixture.place_of_item(i) + ": " + done.error().message);
  }
  return {};
}

Async<OrderedResult> ReplayWorld::begin(const Record& record) {
  if (const auto* put = std::get_if<OrderedPut>(&record.write)) return table_->put(*put);
  if (const auto* erase = std::get_if<OrderedDelete>(&record.write)) return table_->erase(*erase);
  return table_->update(std::get<OrderedUpdate>(record.write));
}

OrderedResult ReplayWorld::write(const Record& record) {
  return wait(begin(record));
}

Async<void> ReplayWorld::work(ReplayWorld& world, std::vector<Delivery> deliveries,
                              std::map<std::string, uint64_t>& outcomes) {
  for (const Delivery& one : deliveries) {
    const auto left = one.at - world.now();
    if (left.count() > 0) co_await sleep_for(world.loop_.loop(), left);
    const auto result = co_await world.begin(*one.record);
    ++outcomes[std::string(code_name(result.code))];
  }
}

void ReplayWorld::deliver(const std::vector<std::vector<Delivery>>& of_writers, WallTime end,
                          std::map<std::string, uint64_t>& outcomes) {
  Scope writers;
  for (const auto& deliveries : of_writers) writers.spawn(work(*this, deliveries, outcomes));
  const bool done = loop_.run_until([&] { return writers.size() == 0; }, std::chrono::hours(24 * 365 * 20));
  FRESHET_CHECK(done, "the writers come to an end");
  advance_to(end);
}

std::map<std::string, std::string> ReplayWorld::items() {
  std::map<std::string, std::string> out;
  ScanInput scan;
  scan.table = table_->settings().table;
  for (;;) {
    auto page = wait(store_->scan(scan));
    FRESHET_CHECK(page.has_value(), "the table can be scanned");
    for (const ItemRef& ref : page->items) {
      const Item item = ref.decode();
      Item key;
      for (const KeyAttribute* one : table_->keys().attributes()) key.set(one->name, *item.find(one->name));
      std::string name;
      append_item_json(name, key);
      append_item_json(out[name], item);
    }
    if (page->last_evaluated_key.empty()) return out;
    scan.exclusive_start_key = std::move(page->last_evaluated_key);
  }
}

}  // namespace freshet::ordered
