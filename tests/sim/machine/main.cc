// freshet_sim: runs seeds of the simulation of whole daemons.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/machine/machine.h"

namespace {

using freshet::sim::draw_plan;
using freshet::sim::Plan;
using freshet::sim::run_machine;
using freshet::sim::RunOptions;
using freshet::sim::RunResult;

struct Words {
  uint64_t seed = 1;
  uint64_t seeds = 1;
  int64_t seconds = 0;
  RunOptions run;
  bool shrink = false;
  bool check_hash = false;
  bool show_seen = false;
  std::set<std::string> without;
};

constexpr const char* kHelp =
    "freshet_sim [--seed N] [--seeds COUNT | --seconds S] [--trace] [--until STEP] [--without PART]... [--shrink]\n"
    "            [--twice] [--seen]\n"
    "Runs whole daemons in a simulation and judges what they promise. The same seed is the same run.\n"
    "  --seeds COUNT    that many seeds, from N on        --seconds S   as many as there is time for\n"
    "  --trace          prints what happens               --until STEP  stops there\n"
    "  --without PART   leaves out a fault or a client    --shrink      finds the parts that a fault needs\n"
    "  --twice          runs each seed twice, and compares\n"
    "  --seen           counts what has happened\n";

bool read_words(int argc, char** argv, Words& words) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&]() -> uint64_t { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (word == "--seed") {
      words.seed = number();
    } else if (word == "--seeds") {
      words.seeds = number();
    } else if (word == "--seconds") {
      words.seconds = static_cast<int64_t>(number());
    } else if (word == "--until") {
      words.run.until = number();
    } else if (word == "--trace") {
      words.run.print = true;
    } else if (word == "--shrink") {
      words.shrink = true;
    } else if (word == "--twice") {
      words.check_hash = true;
    } else if (word == "--seen") {
      words.show_seen = true;
    } else if (word == "--without" && i + 1 < argc) {
      words.without.insert(argv[++i]);
    } else {
      std::fputs(kHelp, word == "--help" ? stdout : stderr);
      return false;
    }
  }
  return true;
}

void tell(const Plan& plan, const RunResult& result) {
  std::printf("\n%s\n", to_string(plan).c_str());
  for (const std::string& line : result.last) std::printf("  %s\n", line.substr(0, 220).c_str());
  std::printf("BROKEN at step %llu: %s\n  %s\nAgain with: freshet_sim --seed %llu --trace\n",
              static_cast<unsigned long long>(result.steps), result.promise.c_str(), result.what.c_str(),
              static_cast<unsigned long long>(plan.seed));
}

// Leaves out one part after the other for as long as the same promise breaks.
void shrink(uint64_t seed, const std::string& promise, std::set<std::string> without) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    auto parts = draw_plan(seed, without).parts;
    parts["lives"] = 1;
    for (const auto& [part, often] : parts) {
      if (without.contains(part)) continue;
      auto fewer = without;
      fewer.insert(part);
      const RunResult result = run_machine(draw_plan(seed, fewer), {});
      if (result.holds || result.promise != promise) continue;
      without = std::move(fewer);
      smaller = true;
    }
  }
  std::printf("Smallest: freshet_sim --seed %llu --trace", static_cast<unsigned long long>(seed));
  for (const std::string& part : without) std::printf(" --without %s", part.c_str());
  std::printf("\n  %s\n", to_string(draw_plan(seed, without)).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Words words;
  if (!read_words(argc, argv, words)) return argc == 2 && std::strcmp(argv[1], "--help") == 0 ? 0 : 2;
  const auto began = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); };
  uint64_t operations = 0;
  uint64_t lives = 0;
  uint64_t runs = 0;
  std::map<std::string, uint64_t> seen;
  for (uint64_t seed = words.seed;; ++seed) {
    if (words.seconds > 0 ? passed() >= static_cast<double>(words.seconds) : runs >= words.seeds) break;
    const Plan plan = draw_plan(seed, words.without);
    const RunResult result = run_machine(plan, words.run);
    ++runs;
    operations += result.operations;
    lives += result.lives;
    for (const auto& [what, count] : result.seen) seen[what] += count;
    if (!result.holds) {
      tell(plan, result);
      if (words.shrink) shrink(seed, result.promise, words.without);
      return 1;
    }
    if (words.check_hash && run_machine(plan, {}).hash != result.hash) {
      std::printf("seed %llu: two runs differ\n", static_cast<unsigned long long>(seed));
      return 1;
    }
  }
  if (words.show_seen) {
    for (const auto& [what, count] : seen)
      std::printf("%10llu %s\n", static_cast<unsigned long long>(count), what.c_str());
  }
  std::printf(
      "%llu seeds from %llu: %llu lives, %llu operations judged, %.1f s, %.0f operations/s; every promise held\n",
      static_cast<unsigned long long>(runs), static_cast<unsigned long long>(words.seed),
      static_cast<unsigned long long>(lives), static_cast<unsigned long long>(operations), passed(),
      static_cast<double>(operations) / passed());
  return 0;
}
