// The shed log by itself, beside a plain list of what was added: lines that share an item, and rings of other sizes.
#include "functions/queue/shed_log.h"
#include "functions/queue_states.h"

#include <algorithm>

#include "tests/functions/world.h"

namespace freshet {
namespace {

struct Said {
  uint64_t number;
  std::string task;
  std::string reason;
  int64_t age;
  bool operator==(const Said&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Said& said) {
  return out << said.number << ' ' << said.task << ' ' << said.reason << ' ' << said.age;
}

class ShedLogTest : public ::testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<ShedLog> open(const std::string& queue, uint32_t capacity) {
    auto opened = world.wait(ShedLog::open(*world.tables, queue, capacity));
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  void add(ShedLog& log, const std::vector<Said>& lines) {
    std::vector<ShedLine> adding;
    for (const auto& said : lines) {
      auto& line = adding.emplace_back();
      line.task = said.task;
      line.policy = line.reason = said.reason;
      line.by = "timer";
      line.state = "PENDING";
      line.age = milliseconds(said.age);
      line.at = world.clock.wall();
    }
    ASSERT_TRUE(world.wait(log.add(std::move(adding))));
  }
  // The lines of a read's answer: each is complete, even if it shares an item.
  static std::vector<Said> said(const Result<std::vector<ItemRef>>& lines) {
    EXPECT_TRUE(lines);
    std::vector<Said> out;
    for (const auto& stored : *lines) {
      const Item item = stored.decode();
      EXPECT_EQ(item.string_or("what"), "shed");
      EXPECT_EQ(item.string_or("by"), "timer");
      EXPECT_FALSE(item.find("taskIds") || item.find("agesMs"));
      out.push_back({static_cast<uint64_t>(item.int_or("number", -1)), std::string(item.string_or("taskId")),
                     std::string(item.string_or("reason")), item.int_or("ageMs", -1)});
    }
    return out;
  }

  QueueWorld world{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Stores, ShedLogTest, ::testing::Bool(),
                         [](const auto& store) { return store.param ? "late" : "embedded"; });

TEST_P(ShedLogTest, SaysWhatWasAdded) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::string queue = "queue" + std::to_string(seed);
    auto capacity = static_cast<uint32_t>(1 + random.below(60));
    auto log = open(queue, capacity);
    std::vector<Said> all;  // The oldest first.
    size_t first = 0;       // Those before are in a ring of another size.
    for (int step = 0; step < 40; ++step) {
      std::vector<Said> lines;
      const auto count = 1 + random.below(random.below(4) == 0 ? 150 : 6);
      for (uint64_t i = 0; i < count; ++i) {
        lines.push_back({all.size(), "t" + std::to_string(random.below(20)), random.below(12) == 0 ? "ttl" : "deadline",
                         static_cast<int64_t>(random.below(1000))});
        all.push_back(lines.back());
      }
      add(*log, lines);
      if (random.below(8) == 0) {
        const bool resized = random.below(2) == 0;
        if (resized) capacity = capacity % 60 + 1;
        if (resized) first = all.size();
        log = open(queue, capacity);
      }
      const size_t kept = std::min<size_t>(all.size() - first, capacity);
      std::vector<Said> newest(all.rbegin(), all.rbegin() + static_cast<std::ptrdiff_t>(kept));
      ASSERT_EQ(said(world.wait(log->newest(10'000))), newest) << "step " << step;
      const std::string task = "t" + std::to_string(random.below(20));
      std::vector<Said> about;
      std::copy_if(newest.begin(), newest.end(), std::back_inserter(about),
                   [&](const Said& line) { return line.task == task; });
      ASSERT_EQ(said(world.wait(log->about(task))), about) << "step " << step;
      const auto few = 1 + random.below(capacity);
      newest.resize(std::min<size_t>(newest.size(), few));
      ASSERT_EQ(said(world.wait(log->newest(static_cast<uint32_t>(few)))), newest) << "step " << step;
    }
  }
}

// A thousand lines with the longest ids: more than an item may have.
TEST_P(ShedLogTest, LongIdsFit) {
  auto log = open("QueueTable", 10'000);
  std::vector<Said> lines;
  for (uint64_t i = 0; i < 1000; ++i) {
    lines.push_back({i, std::to_string(i) + std::string(2000, 'x'), "deadline", 1});
  }
  add(*log, lines);
  std::reverse(lines.begin(), lines.end());
  EXPECT_EQ(said(world.wait(log->newest(1000))), lines);
}

// As a flood of sheds must not cost a write each.
TEST_P(ShedLogTest, LinesThatAreAlikeShareAnItem) {
  auto log = open("QueueTable", 10'000);
  std::vector<Said> lines;
  for (uint64_t i = 0; i < 256; ++i) lines.push_back({i, "t" + std::to_string(i), "deadline", 1});
  add(*log, lines);
  ScanInput scan;
  scan.table = kQueueStates;
  EXPECT_EQ(world.wait(world.tables->scan(scan))->count, 2u) << "the lines, and what the log knows of itself";
}

// A line that counts keeps its place as long as the ring has it.
TEST_P(ShedLogTest, ALineIsWrittenOverWhileTheRingHasIt) {
  auto log = open("QueueTable", 3);
  const auto write = [&](std::optional<uint64_t> before, uint64_t count) {
    ShedLine line;
    line.task = "first";
    line.what = "bounced";
    line.count = count;
    line.tasks = {"first", "other"};
    const uint64_t place = log->place(before);
    EXPECT_TRUE(world.wait(log->put(line, place)));
    return place;
  };
  const uint64_t place = write({}, 1);
  add(*log, {{1, "a", "ttl", 1}, {2, "b", "ttl", 1}});
  EXPECT_EQ(write(place, 7), place);
  const auto newest = world.wait(log->newest(100));
  ASSERT_EQ(newest->size(), 3u);
  EXPECT_EQ(newest->at(2).decode().int_or("count", 0), 7);
  EXPECT_EQ(world.wait(log->about("other"))->size(), 1u);
  add(*log, {{3, "c", "ttl", 1}});
  EXPECT_NE(write(place, 8), place) << "it has been overwritten";
  EXPECT_EQ(world.wait(log->newest(100))->size(), 3u);
  EXPECT_EQ(world.wait(log->about("other"))->size(), 1u);
  EXPECT_EQ(log->counts().at("ttl"), 3u) << "what is no shed is not counted";
}

// A slow store may write what was asked first last. A restart must not give the numbers of lines again.
TEST(ShedLogOrderTest, OverlappingAddsLeaveTheNewestHead) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    QueueWorld world(true, seed);
    auto log = *world.wait(ShedLog::open(*world.tables, "QueueTable", 100));
    std::vector<Async<Result<void>>> adds;
    for (uint64_t i = 0; i < 5; ++i) {
      std::vector<ShedLine> lines(1);
      lines[0].task = std::to_string(i);
      lines[0].reason = "ttl";
      log->set_position(i + 1);
      adds.push_back(log->add(std::move(lines)));
    }
    for (auto& added : adds) ASSERT_TRUE(world.wait(std::move(added)));
    auto again = *world.wait(ShedLog::open(*world.tables, "QueueTable", 100));
    EXPECT_EQ(again->counts().at("ttl"), 5u);
    EXPECT_EQ(again->position(), 5u);
    EXPECT_EQ(world.wait(again->newest(100))->size(), 5u);
  }
}

}  // namespace
}  // namespace freshet
