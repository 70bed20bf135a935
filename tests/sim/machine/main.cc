// freshet_sim: runs seeds of the simulation of whole daemons.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/machine/machine.h"
#include "tests/sim/machine/points.h"
#include "tests/sim/machine/sources.h"

namespace {

using freshet::sim::draw_plan;
using freshet::sim::Plan;
using freshet::sim::run_machine;
using freshet::sim::RunOptions;
using freshet::sim::RunResult;

struct Words {
  uint64_t seed = 1;
  uint64_t seeds = 1;
  uint64_t stride = 1;
  int64_t seconds = 0;
  std::string seeds_file;
  std::string state_file;
  std::string must_see_file;
  std::string sources;
  RunOptions run;
  bool shrink = false;
  bool twice = false;
  bool show_seen = false;
  bool show_hashes = false;
  bool list_planted = false;
  bool list_often = false;
  std::string plant;
  std::set<std::string> without;
  std::set<std::string> with;
};

constexpr const char* kHelp =
    "Runs whole daemons in a simulation and judges what they promise. The same seed is the same run.\n"
    "\n"
    "Which seeds:\n"
    "  --seed N          this one (1), or the first one\n"
    "  --new             the first one is chosen by the time of day, and printed\n"
    "  --seeds COUNT     so many, one after the other\n"
    "  --seconds S       as many as there is time for\n"
    "  --stride N        every N-th: N programs side by side share the work\n"
    "  --state FILE      goes on behind the last seed that FILE names, and keeps it there\n"
    "  --seeds-file FILE all that are named there, a line each\n"
    "  --sources FOLDER  reads the templates of that checkout, and not of the one that it was built in\n"
    "  --with PART       leaves out seeds that have not this fault, setting or kind of client; may be repeated\n"
    "What to do with them:\n"
    "  --trace           prints what happens\n"
    "  --until STEP      stops there\n"
    "  --without PART    leaves out a fault or a kind of client; may be repeated\n"
    "  --shrink          after a fault: finds the parts that it needs\n"
    "  --twice           runs each seed twice and compares\n"
    "  --seen            prints how often each kind of event was there\n"
    "  --hashes          prints the hash of each seed's trace\n"
    "  --must-see FILE   fails if an event that is named there has not been seen\n"
    "  --plant NAME      plants that fault, which the judges must find; --planted lists them\n"
    "  --often           lists the rare branches that some seeds make common\n";

struct Option {
  const char* name;
  std::function<void(Words&, const std::string& value)> set;
  bool has_value = true;
};

uint64_t number(const std::string& text) {
  return std::strtoull(text.c_str(), nullptr, 10);
}

uint64_t seed_of_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count()) * 1'000;
}

const std::vector<Option>& options() {
  static const std::vector<Option> all = {
      {"--seed", [](Words& words, const std::string& value) { words.seed = number(value); }},
      {"--new", [](Words& words, const std::string&) { words.seed = seed_of_now(); }, false},
      {"--seeds", [](Words& words, const std::string& value) { words.seeds = number(value); }},
      {"--seconds",
       [](Words& words, const std::string& value) { words.seconds = static_cast<int64_t>(number(value)); }},
      {"--stride", [](Words& words, const std::string& value) { words.stride = std::max<uint64_t>(1, number(value)); }},
      {"--state", [](Words& words, const std::string& value) { words.state_file = value; }},
      {"--seeds-file", [](Words& words, const std::string& value) { words.seeds_file = value; }},
      {"--must-see", [](Words& words, const std::string& value) { words.must_see_file = value; }},
      {"--sources", [](Words& words, const std::string& value) { words.sources = value; }},
      {"--until", [](Words& words, const std::string& value) { words.run.until = number(value); }},
      {"--with", [](Words& words, const std::string& value) { words.with.insert(value); }},
      {"--without", [](Words& words, const std::string& value) { words.without.insert(value); }},
      {"--trace", [](Words& words, const std::string&) { words.run.print = true; }, false},
      {"--shrink", [](Words& words, const std::string&) { words.shrink = true; }, false},
      {"--twice", [](Words& words, const std::string&) { words.twice = true; }, false},
      {"--seen", [](Words& words, const std::string&) { words.show_seen = true; }, false},
      {"--hashes", [](Words& words, const std::string&) { words.show_hashes = true; }, false},
      {"--plant", [](Words& words, const std::string& value) { words.plant = value; }},
      {"--planted", [](Words& words, const std::string&) { words.list_planted = true; }, false},
      {"--often", [](Words& words, const std::string&) { words.list_often = true; }, false},
  };
  return all;
}

bool read_words(int argc, char** argv, Words& words) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto& all = options();
    const auto option = std::find_if(all.begin(), all.end(), [&](const Option& one) { return word == one.name; });
    if (option == all.end() || (option->has_value && i + 1 == argc)) {
      if (word != "--help") std::fprintf(stderr, "freshet_sim: '%s' is not understood\n\n", word.c_str());
      std::fputs(kHelp, word == "--help" ? stdout : stderr);
      return false;
    }
    option->set(words, option->has_value ? argv[++i] : "");
  }
  return true;
}

// The first word of each line that does not begin with '#'; with `whole`, the whole line.
std::vector<std::string> lines_of(const std::string& file, bool whole) {
  std::vector<std::string> found;
  std::ifstream in(file);
  if (!in) {
    std::fprintf(stderr, "freshet_sim: cannot read %s\n", file.c_str());
    std::exit(2);
  }
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    found.push_back(whole ? line : line.substr(0, line.find(' ')));
  }
  return found;
}

void print_failure(const Plan& plan, const RunResult& result) {
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

// Gives out the seeds to run, one by one.
class Seeds {
 public:
  explicit Seeds(const Words& words) : words_(words), next_(words.seed) {
    if (!words.seeds_file.empty()) {
      for (const std::string& line : lines_of(words.seeds_file, false)) listed_.push_back(number(line));
    }
    if (words.state_file.empty()) return;
    std::ifstream in(words.state_file);
    uint64_t last = 0;
    if (in >> last) next_ = last + words.stride;
  }
  std::optional<uint64_t> next() {
    if (words_.seconds > 0 ? passed() >= static_cast<double>(words_.seconds)
                           : listed_.empty() && given_ >= words_.seeds) {
      return std::nullopt;
    }
    if (!words_.seeds_file.empty()) {
      if (given_ == listed_.size()) return std::nullopt;
      return listed_[given_++];
    }
    ++given_;
    const uint64_t seed = next_;
    next_ += words_.stride;
    return seed;
  }
  void done(uint64_t seed) const {
    if (!words_.state_file.empty()) std::ofstream(words_.state_file) << seed << "\n";
  }
  double passed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }

 private:
  const Words& words_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::vector<uint64_t> listed_;
  uint64_t next_;
  uint64_t given_ = 0;
};

struct Totals {
  uint64_t runs = 0;
  uint64_t lives = 0;
  uint64_t operations = 0;
  std::map<std::string, uint64_t> seen;

  void add(const RunResult& result) {
    ++runs;
    lives += result.lives;
    operations += result.operations;
    for (const auto& [what, count] : result.seen) seen[what] += count;
  }
};

// False if a promise was broken.
bool run_seed(const Words& words, uint64_t seed, Totals& totals) {
  const Plan plan = draw_plan(seed, words.without);
  for (const std::string& part : words.with) {
    if (!plan.has(part)) return true;
  }
  const RunResult result = run_machine(plan, words.run);
  totals.add(result);
  if (words.show_hashes) {
    std::printf("%llu %016llx\n", static_cast<unsigned long long>(seed), static_cast<unsigned long long>(result.hash));
  }
  if (!result.holds) {
    print_failure(plan, result);
    if (words.shrink) shrink(seed, result.promise, words.without);
    return false;
  }
  if (words.twice && run_machine(plan, {}).hash != result.hash) {
    std::printf("seed %llu: two runs differ\n", static_cast<unsigned long long>(seed));
    return false;
  }
  return true;
}

bool saw_all(const Words& words, const Totals& totals) {
  if (words.must_see_file.empty()) return true;
  bool all = true;
  for (const std::string& what : lines_of(words.must_see_file, true)) {
    if (totals.seen.contains(what)) continue;
    std::printf("never seen: %s\n", what.c_str());
    all = false;
  }
  return all;
}

int list_planted() {
  for (const auto& fault : freshet::sim::planted_faults()) {
    std::printf("%s\t%s\t%s\t%s\n", fault.name, fault.back ? "back" : "new", fault.what, fault.needs);
  }
  return 0;
}

int list_often() {
  for (const auto& branch : freshet::sim::rare_branches()) std::printf("%s\t%s\n", branch.name, branch.what);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Nobody is asked by https:// in a simulation; to read all certificates of the machine takes longer than many a life.
  setenv("SSL_CERT_FILE", "/dev/null", 1);
  Words words;
  if (!read_words(argc, argv, words)) return argc == 2 && std::strcmp(argv[1], "--help") == 0 ? 0 : 2;
  if (words.list_planted) return list_planted();
  if (words.list_often) return list_often();
  if (!freshet::sim::plant(words.plant)) {
    std::fprintf(stderr, "freshet_sim: there is no planted fault '%s' (--planted lists them)\n", words.plant.c_str());
    return 2;
  }
  if (!words.sources.empty() && !freshet::sim::set_sources(words.sources)) {
    std::fprintf(stderr, "freshet_sim: there is no folder %s\n", words.sources.c_str());
    return 2;
  }
  Seeds seeds(words);
  Totals totals;
  if (words.seeds_file.empty()) std::printf("the first seed is %llu\n", static_cast<unsigned long long>(words.seed));
  while (const auto seed = seeds.next()) {
    if (!run_seed(words, *seed, totals)) return 1;
    seeds.done(*seed);
  }
  if (words.show_seen) {
    for (const auto& [what, count] : totals.seen) {
      std::printf("%10llu %s\n", static_cast<unsigned long long>(count), what.c_str());
    }
  }
  if (!words.plant.empty() && !freshet::sim::planted_was_met()) std::printf("the planted fault was never met\n");
  const double passed = seeds.passed();
  std::printf("%llu seeds, %llu lives, %llu operations judged in %.1f s (%.0f a second); every promise held\n",
              static_cast<unsigned long long>(totals.runs), static_cast<unsigned long long>(totals.lives),
              static_cast<unsigned long long>(totals.operations), passed,
              static_cast<double>(totals.operations) / passed);
  return saw_all(words, totals) ? 0 : 1;
}
