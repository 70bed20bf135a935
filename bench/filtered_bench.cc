// Filtered assigns a second: 9 queues (3 languages x 3 genders), so many members in 1 to 3 of them, 16 callers that
// each ask for a random combination and wait until the answer is durable; in process, on real files, synced at every
// commit. Then the same with every member released and queued again, so that there is always somebody. Prints the rates
// as one JSON document, and checks the books of both by a recount.
//
//   filtered_bench DIR [MEMBERS] [ROUNDS]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "functions/filtered/table_queue.h"
#include "runtime/loop/loop.h"
#include "runtime/no_services.h"
#include "tables/engine/embedded.h"

namespace freshet {
namespace {

using filtered::TableQueue;

constexpr int kCallers = 16;
const std::vector<std::string> kLanguages{"English", "French", "Spanish"};
const std::vector<std::string> kGenders{"F", "M", "T"};

filtered::Settings call_centre() {
  filtered::Settings settings;
  settings.name = "calls";
  settings.table = "AgentQueueFIFO";
  settings.attributes = {{"Languages", true, kLanguages, 0}, {"Gender", false, kGenders, 0}};
  settings.copied = {"AgentName"};
  return settings;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Progress {
  int64_t asked = 0;     // Calls that were begun.
  int64_t wanted = 0;    // And how many there shall be.
  int64_t assigned = 0;  // Members that were given out.
  int ended = 0;         // Callers that have done their part.
};

class Bench {
 public:
  explicit Bench(const std::string& directory) : directory_(directory) {
    std::filesystem::remove_all(directory_);
    EmbeddedOptions options;
    options.directory = directory_;
    options.durability.mode = DurabilityMode::kSync;
    auto opened = open_embedded(files_.get(), loop_, random_, options);
    FRESHET_CHECK(opened.has_value(), opened ? "" : opened.error().message.c_str());
    tables_ = std::move(*opened);
    loop_.add(*tables_);
    services_ = std::make_unique<Services>(Services{*tables_, topics_, loop_, random_, http_, spawner_});
    auto queue = wait(TableQueue::open(*services_, call_centre()));
    FRESHET_CHECK(queue.has_value(), queue ? "" : queue.error().message.c_str());
    queue_ = std::move(*queue);
  }
  ~Bench() {
    loop_.remove(*tables_);
    queue_.reset();
    services_.reset();
    tables_.reset();
    std::filesystem::remove_all(directory_);
  }

  void fill(int64_t members) {
    for (int64_t i = 0; i < members; ++i) {
      StringSet languages;
      while (languages.members.empty()) {
        for (const auto& one : kLanguages) {
          if (random_.below(2) == 0) languages.members.push_back(one);
        }
      }
      const std::string id = "agent-" + std::to_string(i);
      Item attributes{{"AgentName", Value("Agent " + std::to_string(i))},
                      {"Gender", Value(kGenders[random_.below(3)])},
                      {"Languages", Value(std::move(languages))}};
      FRESHET_CHECK(wait(queue_->put_member(id, std::move(attributes))).has_value(), "put");
      FRESHET_CHECK(wait(queue_->enqueue(id)).has_value(), "enqueue");
      if (i % 100 == 99) turn();
    }
    turn();
  }

  // Assigns a second; with `again` each member comes back at once.
  double run(int64_t assigns, bool again) {
    Progress progress;
    progress.wanted = assigns;
    Scope scope;
    const double begun = now_s();
    for (int i = 0; i < kCallers; ++i) scope.spawn(call(progress, again));
    while (progress.ended < kCallers) turn();
    return static_cast<double>(progress.assigned) / (now_s() - begun);
  }
  void check() {
    const auto recount = wait(queue_->recount());
    FRESHET_CHECK(recount.has_value() && recount->wrong == 0, "the recount");
  }

 private:
  Async<void> call(Progress& progress, bool again) {
    while (progress.asked < progress.wanted) {
      ++progress.asked;
      AssignInput input;
      input.match.push_back(
          {"", {{"Languages", {kLanguages[random_.below(3)]}}, {"Gender", {kGenders[random_.below(3)]}}}});
      auto assigned = co_await queue_->assign(std::move(input));
      FRESHET_CHECK(assigned.has_value(), assigned ? "" : assigned.error().message.c_str());
      auto durable = co_await tables_->durable();
      FRESHET_CHECK(durable.has_value(), "durable");
      if (assigned->outcome != AssignOutcome::kAssigned) continue;
      ++progress.assigned;
      if (!again) continue;
      ReleaseInput release{assigned->member.id, assigned->member.assignment, true};
      auto released = co_await queue_->release(std::move(release));
      FRESHET_CHECK(released.has_value(), "release");
    }
    ++progress.ended;
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

  const std::string directory_;
  SystemClock clock_;
  EventWaiter waiter_{clock_};
  Loop loop_{clock_, waiter_};
  Random random_{1};
  std::unique_ptr<Files> files_ = make_posix_files();
  NoHttp http_;
  NoSpawner spawner_;
  NoTopics topics_;
  std::unique_ptr<EmbeddedTables> tables_;
  std::unique_ptr<Services> services_;
  std::unique_ptr<TableQueue> queue_;
};

int run(const std::string& directory, int64_t members, int64_t rounds) {
  Bench bench(directory);
  bench.fill(members);
  // Few enough that every combination still has a member at the end.
  const double assigns = bench.run(members / 2, false);
  bench.check();
  const double cycles = bench.run(rounds, true);
  bench.check();
  std::printf("{\"members\": %lld, \"callers\": %d, \"queues\": 9, \"assigns_per_s\": %.0f, \"cycles_per_s\": %.0f}\n",
              static_cast<long long>(members), kCallers, assigns, cycles);
  return 0;
}

}  // namespace
}  // namespace freshet

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: filtered_bench DIR [MEMBERS] [ROUNDS]\n");
    return 2;
  }
  const auto number = [&](int at, int64_t fallback) { return argc > at ? std::atoll(argv[at]) : fallback; };
  return freshet::run(argv[1], number(2, 40'000), number(3, 20'000));
}
