#include "tests/sim/machine/plan.h"

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace freshet::sim {

namespace {

struct Part {
  const char* name;
  int chance;  // The number of seeds in a hundred that have it.
  int least;
  int most;
};

// Ends of lives; what is wrong with the disk, the clock and the network; settings; clients.
constexpr Part kParts[] = {
    {"kill", 60, 20, 300},
    {"power", 50, 20, 300},
    {"drain", 40, 10, 200},
    {"second-daemon", 20, 10, 100},
    {"sync-fails", 25, 5, 60},
    {"write-fails", 25, 5, 60},
    {"calls-fail", 20, 5, 60},
    {"disk-full", 25, 10, 60},
    {"slow-sync", 40, 1, 1},
    {"wall-step", 30, 10, 100},
    {"wrong-start", 20, 1, 1},
    {"pause", 20, 5, 50},
    {"slow-turn", 40, 10, 300},
    {"cut", 40, 10, 400},
    {"freeze", 30, 10, 300},
    {"refuse", 20, 10, 200},
    {"slow-network", 30, 1, 1},
    {"small-segments", 60, 1, 1},
    {"little-memory", 10, 1, 1},
    {"interval-durability", 10, 1, 1},
    {"http-runner", 40, 1, 1},
    {"registers", 80, 1, 4},
    {"pairs", 50, 1, 2},
    {"counters", 40, 1, 2},
    {"stream", 50, 1, 1},
    {"producers", 90, 1, 3},
    {"workers", 90, 1, 4},
    {"lookers", 50, 1, 2},
    {"cancellers", 30, 1, 1},
    // Further kinds of tasks, and of hands on the queue.
    {"keys", 30, 1, 1},
    {"groups", 30, 1, 1},
    {"priorities", 30, 1, 1},
    {"orders", 40, 1, 1},
    {"bounded", 20, 1, 1},
    {"margins", 20, 1, 1},
    {"adaptive", 20, 1, 1},
    {"rate", 15, 1, 1},
    {"policy-changes", 25, 1, 1},
    {"deploys", 20, 1, 1},
    {"redrivers", 25, 1, 1},
    {"backups", 15, 1, 1},
    {"bit-rot", 15, 1, 1},
    {"relative-deadlines", 30, 1, 1},
    {"keep", 30, 1, 1},
    {"pausers", 20, 1, 1},
    {"purgers", 20, 1, 1},
    {"leavers", 40, 1, 2},
    {"priority-queue", 30, 1, 2},
    // A life may end within a call of the disk.
    {"at-call", 60, 1, 1},
    {"big-values", 10, 1, 1},
    // Others come behind, so that a seed stays what it was but for them.
    {"repeats", 40, 1, 1},
    {"filtered-queues", 25, 1, 2},
    {"foreign-items", 40, 1, 1},
    {"ordered-writes", 25, 1, 2},
    {"strict-queue", 15, 1, 1},
    {"unreadable-records", 50, 1, 1},
    {"index-droppers", 10, 1, 1},
    {"limiter", 25, 1, 1},
    {"programs", 15, 1, 1},
    {"functions", 15, 1, 1},
    {"upgrade", 10, 1, 1},
    {"start-crash", 25, 1, 1},
    {"early-stop", 15, 1, 1},
    {"misdirected", 8, 1, 1},
    {"late-repeats", 30, 1, 1},
    {"holders", 25, 1, 1},
    {"hasty-pauses", 50, 1, 1},
    {"full-at-last", 10, 1, 1},
};

// These draw from numbers of their own, so that a seed stays what it was but for them.
constexpr Part kLaterParts[] = {
    {"little-data", 12, 1, 1},
    {"disk-refuses", 15, 5, 40},
    {"late-beats", 20, 1, 1},
    {"heavy-keys", 8, 1, 1},
    // The daemon's own store answers within the turn. Queues are written for one that does not (docs/tests.md).
    {"late-answers", 10, 1, 1},
    {"priority-hands", 60, 1, 1},
    {"hasty-cancels", 8, 1, 1},
    // Where there are functions.
    {"events", 60, 1, 3},
    {"run-nows", 20, 1, 1},
    {"slow-readers", 15, 1, 2},
    {"wall-drift", 15, 5, 60},
    // Where these are, there are functions.
    {"fifo-topics", 8, 1, 2},
    {"destinations", 8, 1, 2},
    // Rare branches of the product are common.
    {"often", 25, 1, 1},
    // In the end all clients go, and the daemon holds no more than it must.
    {"quiet-end", 30, 1, 1},
    {"replacers", 20, 1, 1},
};

// Every eighth seed is about the disk: many short lives, most of which end by a power cut within a call, and clients
// that fill segments quickly. Nothing else is in the way.
constexpr uint64_t kDiskSeeds = 8;

void make_it_about_the_disk(Plan& plan, Random& random) {
  plan.lives = 8 + static_cast<int>(random.below(13));
  plan.longest_life = milliseconds(200 + static_cast<int64_t>(random.below(2'500)));
  for (const char* part :
       {"http-runner",     "pause",          "wall-step",    "wrong-start",    "little-memory", "interval-durability",
        "priority-queue",  "calls-fail",     "disk-full",    "write-fails",    "freeze",        "slow-network",
        "filtered-queues", "ordered-writes", "strict-queue", "index-droppers", "programs",      "functions",
        "disk-refuses",    "heavy-keys",     "late-answers", "wall-drift",     "fifo-topics",   "destinations"}) {
    plan.parts.erase(part);
  }
  for (const char* part : {"power", "at-call", "small-segments", "big-values", "leavers", "pairs", "stream"}) {
    plan.parts[part] = std::max(plan.how_many(part), 1);
  }
  plan.parts["registers"] = 3;
  plan.parts["disk"] = 1;  // So that it can be asked for.
  // Some have little room: segments are retired and removed all the time. Huge values fill one with a write or two.
  const uint64_t number = plan.seed / kDiskSeeds;
  if (number % 2 == 1) plan.parts["little-data"] = 1;
  if (number % 3 == 0) plan.parts["start-crash"] = 1;
  if (number % 4 == 1) plan.parts["huge-values"] = 1;
  if (plan.has("huge-values")) plan.parts.erase("stream");  // Pages of them would take most of the time.
  if (number % 5 != 2) return;
  // Damage is cut then, as a torn tail is.
  for (const char* part : {"bit-rot", "misdirected"}) plan.parts.erase(part);
  plan.parts["no-syncs"] = 1;
  plan.parts["start-crash"] = 1;
}

bool needs_the_functions(std::string_view part) {
  return part == "fifo-topics" || part == "destinations";
}

void draw_later_parts(Plan& plan, const std::set<std::string>& without) {
  Random random(plan.seed ^ 0xd1b54a32d192ed03ull);
  bool needs_functions = false;
  for (const Part& part : kLaterParts) {
    const bool there = random.below(100) < static_cast<uint64_t>(part.chance);
    needs_functions = needs_functions || (there && needs_the_functions(part.name));
    const int often = part.least + static_cast<int>(random.below(static_cast<uint64_t>(part.most - part.least + 1)));
    if (there && !without.contains(part.name)) plan.parts[part.name] = often;
  }
  if (plan.has("late-answers")) {
    // Somebody is there whose calls meet an answer that is on its way.
    plan.parts.try_emplace("lookers", 1);
    plan.parts["late-beats"] = 4;
    const auto also = plan.seed % 2 == 0 ? std::vector{"pausers", "hasty-pauses"} : std::vector{"hasty-cancels"};
    for (const char* part : also) plan.parts.try_emplace(part, 1);
  }
  // Between a task and what it replaces, there is time.
  if (plan.has("replacers")) plan.parts.try_emplace("often", 1);
  if (needs_functions) {
    plan.parts.erase("http-runner");
    if (!without.contains("functions")) plan.parts.try_emplace("functions", 1);
  }
  if (!plan.has("heavy-keys")) return;
  // Such a task comes when the store needs another segment, and gets none.
  for (const auto& [part, often] : {std::pair("small-segments", 1), {"disk-refuses", 30}, {"full-at-last", 1}}) {
    plan.parts[part] = std::max(plan.how_many(part), often);
  }
}

}  // namespace

Plan draw_plan(uint64_t seed, const std::set<std::string>& without) {
  Random random(seed ^ 0x9e3779b97f4a7c15ull);
  Plan plan;
  plan.seed = seed;
  plan.lives = 1 + static_cast<int>(random.below(random.below(4) == 0 ? 20 : 6));
  plan.longest_life = milliseconds(2'000 + static_cast<int64_t>(random.below(58'000)));
  for (const Part& part : kParts) {
    const bool there = random.below(100) < static_cast<uint64_t>(part.chance);
    const auto span = static_cast<uint64_t>(part.most - part.least + 1);
    const int often = part.least + static_cast<int>(random.below(span));
    if (there && !without.contains(part.name)) plan.parts[part.name] = often;
  }
  draw_later_parts(plan, without);
  if (seed % kDiskSeeds == 0) make_it_about_the_disk(plan, random);
  for (const std::string& part : without) plan.parts.erase(part);
  // The seed draws everything first, so that leaving a part out changes nothing else.
  if (without.contains("lives")) plan.lives = 1;
  return plan;
}

std::string to_string(const Plan& plan) {
  std::string text = "seed " + std::to_string(plan.seed) + ", " + std::to_string(plan.lives) + " lives of at most " +
                     std::to_string(plan.longest_life.count()) + " ms:";
  for (const auto& [name, often] : plan.parts) text += " " + name + "=" + std::to_string(often);
  return text;
}

}  // namespace freshet::sim
