// freshet_fleet_sim: runs seeds of the simulation of a whole fleet.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/fleet/fleet_machine.h"
#include "tests/sim/fleet/seed_list.h"
#include "tests/sim/machine/points.h"

namespace {

using freshet::fleet_sim::draw_fleet_plan;
using freshet::fleet_sim::FleetRunPlan;
using freshet::fleet_sim::FleetRunResult;
using freshet::fleet_sim::run_fleet;
using freshet::fleet_sim::SeedChoice;
using freshet::fleet_sim::SeedList;

struct Words {
  SeedChoice seeds;
  bool trace = false;
  bool twice = false;
  bool seen = false;
  bool list_planted = false;
  std::string plant;
  std::string must_see_file;
  std::set<std::string> with;
  std::set<std::string> without;
};

constexpr const char* kHelp =
    "Runs an engine and a fleet on it in a simulation and judges what a fleet promises. The same seed is the same "
    "run.\n"
    "\n"
    "  --seed N        this seed (1), or the first one\n"
    "  --seeds COUNT   so many, one after the other\n"
    "  --seconds S     as many as there is time for\n"
    "  --stride N      every N-th: N programs side by side share the work\n"
    "  --seeds-file F  all that are named there, a line each\n"
    "  --trace         prints what happens\n"
    "  --twice         runs each seed twice and compares\n"
    "  --seen          prints how often each kind of event was there\n"
    "  --must-see FILE fails if an event that is named there has not been seen\n"
    "  --with FAULT    leaves out seeds that have not this fault; may be repeated\n"
    "  --without FAULT leaves out that fault; may be repeated\n"
    "  --state FILE    goes on behind the last seed that FILE names, and keeps it there\n"
    "  --plant NAME    plants that fault, which the judges must find; --planted lists them\n";

struct Option {
  const char* name;
  std::function<void(Words&, const std::string& value)> set;
  bool has_value = true;
};

uint64_t number(const std::string& text) {
  return std::strtoull(text.c_str(), nullptr, 10);
}

const std::vector<Option>& options() {
  static const std::vector<Option> all = {
      {"--seed", [](Words& words, const std::string& value) { words.seeds.first = number(value); }},
      {"--seeds", [](Words& words, const std::string& value) { words.seeds.count = number(value); }},
      {"--seconds",
       [](Words& words, const std::string& value) { words.seeds.seconds = static_cast<int64_t>(number(value)); }},
      {"--stride",
       [](Words& words, const std::string& value) { words.seeds.stride = std::max<uint64_t>(1, number(value)); }},
      {"--seeds-file", [](Words& words, const std::string& value) { words.seeds.listed_in = value; }},
      {"--must-see", [](Words& words, const std::string& value) { words.must_see_file = value; }},
      {"--trace", [](Words& words, const std::string&) { words.trace = true; }, false},
      {"--twice", [](Words& words, const std::string&) { words.twice = true; }, false},
      {"--seen", [](Words& words, const std::string&) { words.seen = true; }, false},
      {"--with", [](Words& words, const std::string& value) { words.with.insert(value); }},
      {"--without", [](Words& words, const std::string& value) { words.without.insert(value); }},
      {"--state", [](Words& words, const std::string& value) { words.seeds.state_file = value; }},
      {"--plant", [](Words& words, const std::string& value) { words.plant = value; }},
      {"--planted", [](Words& words, const std::string&) { words.list_planted = true; }, false},
  };
  return all;
}

bool read_words(int argc, char** argv, Words& words) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto& all = options();
    const auto option = std::find_if(all.begin(), all.end(), [&](const Option& one) { return word == one.name; });
    if (option == all.end() || (option->has_value && i + 1 == argc)) {
      if (word != "--help") std::fprintf(stderr, "freshet_fleet_sim: '%s' is not understood\n\n", word.c_str());
      std::fputs(kHelp, word == "--help" ? stdout : stderr);
      return false;
    }
    option->set(words, option->has_value ? argv[++i] : "");
  }
  return true;
}

void tell(const FleetRunPlan& plan, const FleetRunResult& result) {
  std::printf("\n%s\n", to_string(plan).c_str());
  for (const std::string& line : result.last) std::printf("  %s\n", line.substr(0, 240).c_str());
  std::printf("BROKEN at step %llu: %s\n  %s\nAgain with: freshet_fleet_sim --seed %llu --trace\n",
              static_cast<unsigned long long>(result.steps), result.promise.c_str(), result.what.c_str(),
              static_cast<unsigned long long>(plan.seed));
}

struct Totals {
  uint64_t runs = 0;
  uint64_t lives = 0;
  uint64_t operations = 0;
  std::map<std::string, uint64_t> seen;
};

// False if a promise was broken.
bool run_seed(const Words& words, uint64_t seed, Totals& totals) {
  const FleetRunPlan plan = draw_fleet_plan(seed, words.without);
  if (!std::all_of(words.with.begin(), words.with.end(), [&](const auto& fault) { return plan.has(fault); }))
    return true;
  const FleetRunResult result = run_fleet(plan, {words.trace});
  ++totals.runs;
  totals.lives += result.lives;
  totals.operations += result.operations;
  for (const auto& [what, count] : result.seen) totals.seen[what] += count;
  if (!result.holds) {
    tell(plan, result);
    return false;
  }
  if (words.twice && run_fleet(plan, {}).hash != result.hash) {
    std::printf("seed %llu: two runs differ\n", static_cast<unsigned long long>(seed));
    return false;
  }
  return true;
}

int list_planted() {
  for (const auto& fault : freshet::sim::planted_faults()) {
    std::printf("%s\t%s\t%s\t%s\n", fault.name, fault.back ? "back" : "new", fault.what, fault.needs);
  }
  return 0;
}

bool saw_all(const Words& words, const Totals& totals) {
  if (words.must_see_file.empty()) return true;
  bool all = true;
  for (const std::string& what : freshet::fleet_sim::lines_of(words.must_see_file)) {
    if (totals.seen.contains(what)) continue;
    std::printf("never seen: %s\n", what.c_str());
    all = false;
  }
  return all;
}

void print_seen(const Totals& totals) {
  for (const auto& [what, count] : totals.seen) {
    std::printf("%10llu %s\n", static_cast<unsigned long long>(count), what.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  setenv("SSL_CERT_FILE", "/dev/null", 1);  // Nobody is asked by https://.
  Words words;
  if (!read_words(argc, argv, words)) return argc == 2 && std::strcmp(argv[1], "--help") == 0 ? 0 : 2;
  if (words.list_planted) return list_planted();
  if (!freshet::sim::plant(words.plant)) {
    std::fprintf(stderr, "freshet_fleet_sim: there is no planted fault '%s' (--planted lists them)\n",
                 words.plant.c_str());
    return 2;
  }
  const auto began = std::chrono::steady_clock::now();
  Totals totals;
  SeedList seeds(words.seeds);
  if (words.seeds.seconds > 0) {
    std::printf("the first seed is %llu\n", static_cast<unsigned long long>(words.seeds.first));
  }
  while (const auto seed = seeds.next()) {
    if (!run_seed(words, *seed, totals)) return 1;
    seeds.done(*seed);
  }
  if (words.seen) print_seen(totals);
  if (!words.plant.empty() && !freshet::sim::planted_was_met()) std::printf("the planted fault was never met\n");
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%llu seeds, %llu lives, %llu operations judged in %.1f s; every promise held\n",
              static_cast<unsigned long long>(totals.runs), static_cast<unsigned long long>(totals.lives),
              static_cast<unsigned long long>(totals.operations), passed);
  return saw_all(words, totals) ? 0 : 1;
}
