// Measures the cost of an ordered put beside an unconditional put of the same items into a table of the
// same kind, in turn, in one process, from the item to its answer: each round puts every item once into
// both, so that from the second on every condition meets an item. Prints the medians of the rounds and
// their ratio as one JSON document; in memory, and with a log in DIR that is synced at every commit of
// GROUP puts.
//
//   ordered_bench DIR [ITEMS] [ROUNDS] [GROUP]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "functions/ordered/guarded_table.h"
#include "runtime/loop/loop.h"
#include "tables/engine/embedded.h"

namespace freshet {
namespace {

using ordered::Definition;
using ordered::GuardedTable;

constexpr const char* kPlain = "plain";
constexpr const char* kOrdered = "ordered";

class Bench {
 public:
  Bench(const std::string& directory, int64_t items, int64_t group) : items_(items), group_(group) {
    EmbeddedOptions options;
    options.directory = directory;
    auto opened = open_embedded(files_.get(), loop_, random_, options);
    FRESHET_CHECK(opened.has_value(), opened ? "" : opened.error().message.c_str());
    tables_ = std::move(*opened);
    loop_.add(*tables_);
    for (const char* name : {kPlain, kOrdered}) {
      Definition definition{{}, {{"PK", Type::kString}, {}}};
      definition.settings.name = definition.settings.table = name;
      auto table = wait(GuardedTable::open(*tables_, clock_, std::move(definition)));
      FRESHET_CHECK(table.has_value(), "open");
      ordered_ = std::move(*table);  // The last one stays.
    }
  }
  ~Bench() { loop_.remove(*tables_); }

  // Nanoseconds a put, of all items put once.
  double plain(int64_t round) {
    return timed(round, [&](Item item) {
      PutItemInput put;
      put.table = kPlain;
      put.item = std::move(item);
      auto done = tables_->put_item(std::move(put));
      FRESHET_CHECK(done.is_ready() && done.take().has_value(), "put");
    });
  }
  double ordered(int64_t round) {
    return timed(round, [&](Item item) {
      OrderedPut put;
      put.item = std::move(item);
      auto done = ordered_->put(std::move(put));
      FRESHET_CHECK(done.is_ready() && done.take().ok(), "ordered put");
    });
  }

 private:
  // About 200 bytes, with its timestamp; no two rounds write the same.
  Item item(int64_t number, int64_t round) const {
    return Item{{"PK", Value("User#" + std::to_string(number))},
                {"Rating", Value::number(round % 5 + 1)},
                {"Timestamp", Value::number(now_ms_ + round)},
                {"Title", Value("Movie " + std::to_string(number * 7919 % 100'000))},
                {"Text", Value(std::string(120, static_cast<char>('a' + round % 26)))}};
  }
  template <class Put>
  double timed(int64_t round, Put put) {
    std::vector<Item> items;
    for (int64_t i = 0; i < items_; ++i) items.push_back(item(i, round));
    const auto begun = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < items_; ++i) {
      put(std::move(items[static_cast<size_t>(i)]));
      if (i % group_ == group_ - 1) turn();
    }
    turn();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begun;
    return took.count() / static_cast<double>(items_);
  }
  void turn() {
    loop_.turn();
    while (loop_.ready()) loop_.turn();
  }
  template <class T>
  T wait(Async<T> work) {
    while (!work.is_ready()) turn();
    return work.take();
  }

  const int64_t items_;
  const int64_t group_;
  SystemClock clock_;
  EventWaiter waiter_{clock_};
  Loop loop_{clock_, waiter_};
  Random random_{1};
  std::unique_ptr<Files> files_ = make_posix_files();
  std::unique_ptr<EmbeddedTables> tables_;
  std::unique_ptr<GuardedTable> ordered_;
  const int64_t now_ms_ = epoch_ms(clock_.wall());
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void run(const char* name, const std::string& directory, int64_t items, int64_t rounds, int64_t group) {
  Bench bench(directory, items, group);
  std::vector<double> plain;
  std::vector<double> ordered;
  for (int64_t round = 0; round <= rounds; ++round) {
    const bool first = round % 2 == 0;  // The second one finds warmer caches, so the order alternates.
    const double a = first ? bench.plain(round) : bench.ordered(round);
    const double b = first ? bench.ordered(round) : bench.plain(round);
    if (round == 0) continue;  // Makes the items.
    plain.push_back(first ? a : b);
    ordered.push_back(first ? b : a);
  }
  std::printf("\"%s\": {\"put_ns\": %.0f, \"ordered_put_ns\": %.0f, \"ratio\": %.3f}", name, median(plain),
              median(ordered), median(ordered) / median(plain));
}

}  // namespace
}  // namespace freshet

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "ordered_bench DIR [ITEMS] [ROUNDS] [GROUP]: DIR is made, and holds a log\n");
    return 2;
  }
  const auto number = [&](int at, int64_t fallback) { return argc > at ? std::atoll(argv[at]) : fallback; };
  const int64_t items = number(2, 20'000);
  const int64_t rounds = number(3, 20);
  const int64_t group = number(4, 64);
  std::printf("{\"items\": %lld, \"group\": %lld, ", static_cast<long long>(items), static_cast<long long>(group));
  freshet::run("memory", std::string(freshet::kMemoryDirectory), items, rounds, group);
  std::printf(", ");
  freshet::run("log", argv[1], items, rounds, group);
  std::printf("}\n");
}
