// The flight recorder's memory: events come back as they went in, within bounds of bytes and age.
#include "runtime/recorder/recording_book.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/sim/held_memory.h"

namespace freshet {
namespace {

using Position = QueueRecording::Position;

BootTime at_ms(int64_t ms) {
  return BootTime(milliseconds(ms));
}

RecordedMove move_of(uint64_t task, TaskStage from, TaskStage to) {
  RecordedMove out;
  out.task = task;
  out.from = from;
  out.to = to;
  return out;
}

std::vector<uint64_t> tasks_in(const QueueRecording& queue, Position from = {}, size_t most = SIZE_MAX) {
  std::vector<uint64_t> out;
  queue.read(from, most, [&](const RecordedEvent& event) {
    out.push_back(event.move.task);
    return true;
  });
  return out;
}

TEST(RecordingBook, AStepOfTheClockTakesNoRoomForAQueueWithoutEvents) {
  RecordingBook book(1u << 20);
  QueueRecording& quiet = book.of("quiet");
  QueueRecording& busy = book.of("busy");
  book.tick(WallTime(milliseconds(1'000'000)), at_ms(0));
  busy.add(move_of(1, TaskStage::kNone, TaskStage::kPending), at_ms(1));
  book.tick(WallTime(milliseconds(2'000'000)), at_ms(1'000));
  EXPECT_EQ(quiet.chunks(), 0u);
  EXPECT_EQ(busy.chunks(), 1u);
}

TEST(RecordingBook, AnArrivalComesBackAsItWentIn) {
  RecordingBook book(1u << 20);
  QueueRecording& queue = book.of("emails");
  RecordedMove came = move_of(7'000'000'000, TaskStage::kNone, TaskStage::kDelayed);
  RecordedTask about;
  about.due_in = milliseconds(-5);
  about.due_by_ttl = true;
  about.delay = milliseconds(90'000);
  about.age = milliseconds(12);
  about.group = "tenant";
  about.key = "order-1";
  about.replaces = true;
  about.priority = -100;
  about.max_attempts = 3;
  about.cost = 2.5;
  came.about = about;
  queue.add(came, at_ms(1'000));

  RecordedEvent seen;
  queue.read({}, 10, [&](const RecordedEvent& event) {
    seen = event;
    return true;
  });
  EXPECT_EQ(seen.kind, RecordedEvent::Kind::kMove);
  EXPECT_EQ(seen.at, at_ms(1'000));
  EXPECT_EQ(seen.move.task, 7'000'000'000u);
  EXPECT_EQ(seen.move.from, TaskStage::kNone);
  EXPECT_EQ(seen.move.to, TaskStage::kDelayed);
  ASSERT_TRUE(seen.move.about);
  EXPECT_EQ(seen.move.about->due_in, milliseconds(-5));
  EXPECT_TRUE(seen.move.about->due_by_ttl);
  EXPECT_EQ(seen.move.about->delay, milliseconds(90'000));
  EXPECT_EQ(seen.move.about->age, milliseconds(12));
  EXPECT_EQ(seen.move.about->group, "tenant");
  EXPECT_EQ(seen.move.about->key, "order-1");
  EXPECT_TRUE(seen.move.about->replaces);
  EXPECT_EQ(seen.move.about->priority, -100);
  EXPECT_EQ(seen.move.about->max_attempts, 3);
  EXPECT_EQ(seen.move.about->cost, 2.5);
  EXPECT_FALSE(seen.move.cost);
}

TEST(RecordingBook, PlainMovesComeBack) {
  RecordingBook book(1u << 20);
  QueueRecording& queue = book.of("emails");
  queue.add_arrival(TaskStage::kPending, 7, std::nullopt, false, 10);
  queue.add_arrival(TaskStage::kPending, 8, 123'456'789, true, 10);
  queue.add_arrival(TaskStage::kPending, 9, -5, false, 11);
  queue.add_plain(TaskStage::kPending, TaskStage::kTaken, kMovePulled, 8, 12);
  queue.add_plain(TaskStage::kTaken, TaskStage::kSuccess, 0, 8, 1'000'000);
  std::vector<RecordedEvent> seen;
  queue.read({}, 10, [&](const RecordedEvent& event) {
    seen.push_back(event);
    return true;
  });
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[0].move.task, 7u);
  EXPECT_EQ(seen[0].move.from, TaskStage::kNone);
  ASSERT_TRUE(seen[0].move.about && seen[1].move.about && seen[2].move.about);
  EXPECT_FALSE(seen[0].move.about->due_in);
  EXPECT_EQ(seen[1].move.about->due_in, milliseconds(123'456'789));
  EXPECT_TRUE(seen[1].move.about->due_by_ttl);
  EXPECT_EQ(seen[2].move.about->due_in, milliseconds(-5));
  EXPECT_FALSE(seen[2].move.about->due_by_ttl);
  EXPECT_TRUE(seen[3].move.pulled);
  EXPECT_EQ(seen[3].at, at_ms(12));
  EXPECT_EQ(seen[4].move.to, TaskStage::kSuccess);
  EXPECT_EQ(seen[4].at, at_ms(1'000'000));
}

TEST(RecordingBook, EachFlagOfAMoveComesBackAlone) {
  RecordingBook book(1u << 20);
  QueueRecording& queue = book.of("emails");
  std::vector<RecordedMove> moves(5, move_of(1, TaskStage::kTaken, TaskStage::kPending));
  moves[0].pulled = true;
  moves[1].given_back = true;
  moves[2].by_ttl = true;
  moves[3].replaced = true;
  moves[4].cost = 0.25;
  for (const auto because : {ShedBecause::kTtl, ShedBecause::kDeadline, ShedBecause::kMargin}) {
    moves.push_back(move_of(1, TaskStage::kPending, TaskStage::kShed));
    moves.back().because = because;
  }
  for (const auto& move : moves) queue.add(move, at_ms(5));
  size_t i = 0;
  queue.read({}, 100, [&](const RecordedEvent& event) {
    const RecordedMove& wanted = moves.at(i++);
    EXPECT_EQ(event.move.pulled, wanted.pulled);
    EXPECT_EQ(event.move.given_back, wanted.given_back);
    EXPECT_EQ(event.move.by_ttl, wanted.by_ttl);
    EXPECT_EQ(event.move.replaced, wanted.replaced);
    EXPECT_EQ(event.move.cost, wanted.cost);
    EXPECT_EQ(event.move.because, wanted.because);
    EXPECT_FALSE(event.move.about);
    return true;
  });
  EXPECT_EQ(i, moves.size());
}

TEST(RecordingBook, LimitsCountsAndStepsOfTheClockComeBack) {
  RecordingBook book(1u << 20);
  QueueRecording& queue = book.of("emails");
  queue.add(RecordedLimits{19.5, 8}, at_ms(10));
  queue.add(RecordedCount{QueueFlow::kDownstreamRefusals, 300}, at_ms(20));
  queue.add_clock_step(milliseconds(-7'000), at_ms(30));
  std::vector<RecordedEvent> seen;
  queue.read({}, 10, [&](const RecordedEvent& event) {
    seen.push_back(event);
    return true;
  });
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].kind, RecordedEvent::Kind::kLimits);
  EXPECT_EQ(seen[0].limits.rate_limit, 19.5);
  EXPECT_EQ(seen[0].limits.concurrency, 8u);
  EXPECT_EQ(seen[1].kind, RecordedEvent::Kind::kCount);
  EXPECT_EQ(seen[1].count.flow, QueueFlow::kDownstreamRefusals);
  EXPECT_EQ(seen[1].count.count, 300u);
  EXPECT_EQ(seen[2].kind, RecordedEvent::Kind::kClockStep);
  EXPECT_EQ(seen[2].step, milliseconds(-7'000));
  EXPECT_EQ(seen[2].at, at_ms(30));
}

TEST(RecordingBook, ManyEventsAreReadInPiecesAcrossChunks) {
  RecordingBook book(16u << 20);
  QueueRecording& queue = book.of("emails");
  std::mt19937_64 random(1);
  std::vector<uint64_t> tasks;
  std::vector<BootTime> times;
  int64_t now = 500;
  for (int i = 0; i < 100'000; ++i) {
    tasks.push_back(random() % 3 == 0 ? random() : tasks.size());
    now += static_cast<int64_t>(random() % 100);
    times.push_back(at_ms(now));
    queue.add(move_of(tasks.back(), TaskStage::kPending, TaskStage::kTaken), times.back());
  }
  EXPECT_GT(queue.chunks(), 5u);
  std::vector<uint64_t> seen;
  Position position;
  while (position != queue.end()) {
    position = queue.read(position, 997, [&](const RecordedEvent& event) {
      EXPECT_EQ(event.at, times.at(seen.size()));
      seen.push_back(event.move.task);
      return true;
    });
  }
  EXPECT_EQ(seen, tasks);
  EXPECT_FALSE(queue.forgotten_until());
}

TEST(RecordingBook, TheEndIsWhereTheNextEventWillBe) {
  RecordingBook book(1u << 20);
  QueueRecording& queue = book.of("emails");
  const Position before = queue.end();
  queue.add(move_of(1, TaskStage::kNone, TaskStage::kPending), at_ms(1));
  const Position middle = queue.read({}, SIZE_MAX, [](const RecordedEvent&) { return true; });
  EXPECT_EQ(middle, queue.end());
  queue.add(move_of(2, TaskStage::kNone, TaskStage::kPending), at_ms(2));
  EXPECT_EQ(tasks_in(queue, before), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(tasks_in(queue, middle), (std::vector<uint64_t>{2}));
}

TEST(RecordingBook, AReaderThatStopsReadsOnWithTheSameEvent) {
  RecordingBook book(1u << 20);
  QueueRecording& queue = book.of("emails");
  for (uint64_t task = 1; task <= 3; ++task) {
    queue.add(move_of(task, TaskStage::kNone, TaskStage::kPending), at_ms(1));
  }
  const Position position = queue.read({}, 10, [](const RecordedEvent& event) { return event.move.task < 2; });
  EXPECT_EQ(tasks_in(queue, position), (std::vector<uint64_t>{2, 3}));
}

TEST(RecordingBook, AnEventThatSeemsEarlierHasTheTimeOfTheOneBefore) {
  RecordingBook book(1u << 20);
  QueueRecording& queue = book.of("emails");
  queue.add(move_of(1, TaskStage::kNone, TaskStage::kPending), at_ms(100));
  queue.add(move_of(2, TaskStage::kNone, TaskStage::kPending), at_ms(90));
  std::vector<BootTime> times;
  queue.read({}, 10, [&](const RecordedEvent& event) {
    times.push_back(event.at);
    return true;
  });
  EXPECT_EQ(times, (std::vector<BootTime>{at_ms(100), at_ms(100)}));
}

TEST(RecordingBook, TheLongestNamesFit) {
  RecordingBook book(2 * QueueRecording::kChunkBytes);
  QueueRecording& queue = book.of("emails");
  const std::string group(300, 'g');
  const std::string key(256, 'k');
  for (uint64_t task = 1; task < 500; ++task) {
    RecordedMove move = move_of(task << 50, TaskStage::kNone, TaskStage::kDelayed);
    RecordedTask about;
    about.group = group;
    about.key = key;
    about.due_in = about.delay = about.age = milliseconds(int64_t{1} << 60);
    about.cost = 1e300;
    about.max_attempts = 1'000;
    about.priority = 100;
    move.about = about;
    move.cost = 1e-300;
    queue.add(move, at_ms(static_cast<int64_t>(task) << 20));
  }
  size_t seen = 0;
  queue.read({}, SIZE_MAX, [&](const RecordedEvent& event) {
    EXPECT_EQ(event.move.about->group, std::string(kMostNameBytes, 'g'));
    EXPECT_EQ(event.move.about->key, key);
    EXPECT_EQ(event.move.cost, 1e-300);
    ++seen;
    return true;
  });
  EXPECT_GT(seen, 100u);
}

TEST(RecordingBook, BytesAreBoundedAndTheOldestEventsGoFirst) {
  RecordingBook book(4 * QueueRecording::kChunkBytes);
  QueueRecording& queue = book.of("emails");
  for (uint64_t task = 1; task <= 200'000; ++task) {
    queue.add(move_of(task, TaskStage::kPending, TaskStage::kTaken), at_ms(static_cast<int64_t>(task)));
    ASSERT_LE(book.bytes(), 4 * QueueRecording::kChunkBytes);
  }
  const auto kept = tasks_in(queue);
  EXPECT_GT(kept.size(), 30'000u);
  EXPECT_EQ(kept.back(), 200'000u);
  for (size_t i = 1; i < kept.size(); ++i) ASSERT_EQ(kept[i], kept[i - 1] + 1);
  EXPECT_EQ(queue.forgotten_until(), at_ms(static_cast<int64_t>(kept.front()) - 1));
  EXPECT_TRUE(queue.is_gone({1, 17}));
  EXPECT_FALSE(queue.is_gone({}));
  EXPECT_FALSE(queue.is_gone(queue.position_at(at_ms(0))));
}

TEST(RecordingBook, AnEventAllocatesNothingButItsChunk) {
  RecordingBook book(4 * QueueRecording::kChunkBytes);
  QueueRecording& queue = book.of("emails");
  const std::string key(40, 'k');
  RecordedMove move = move_of(1, TaskStage::kNone, TaskStage::kPending);
  RecordedTask about;
  about.key = key;
  move.about = about;
  queue.add(move, at_ms(1));
  const int64_t before = held_memory();
  for (int i = 0; i < 50; ++i) queue.add(move, at_ms(i));
  EXPECT_EQ(held_memory(), before);
  EXPECT_EQ(book.bytes(), QueueRecording::kLeastChunk);
}

TEST(RecordingBook, ALoudQueueDoesNotCostAQuietOneItsHistory) {
  RecordingBook book(4 * QueueRecording::kChunkBytes);
  QueueRecording& quiet = book.of("quiet");
  quiet.add(move_of(1, TaskStage::kNone, TaskStage::kPending), at_ms(1));
  QueueRecording& loud = book.of("loud");
  for (uint64_t task = 1; task <= 100'000; ++task) {
    loud.add(move_of(task, TaskStage::kPending, TaskStage::kTaken), at_ms(2));
  }
  EXPECT_EQ(tasks_in(quiet), (std::vector<uint64_t>{1}));
  EXPECT_TRUE(loud.forgotten_until());
}

QueueRecording& numbered_queue(RecordingBook& book, int number) {
  return book.of("queue" + std::to_string(number));
}

TEST(RecordingBook, AThousandQueuesWithFewEventsFitIntoAFewMebibytes) {
  RecordingBook book(4u << 20);
  for (uint64_t round = 0; round < 100; ++round) {
    for (int i = 0; i < 1'000; ++i) {
      numbered_queue(book, i).add(move_of(round, TaskStage::kPending, TaskStage::kTaken), at_ms(i));
    }
  }
  for (int i = 0; i < 1'000; ++i) ASSERT_EQ(tasks_in(numbered_queue(book, i)).size(), 100u);
  EXPECT_LE(book.bytes(), 4u << 20);
}

TEST(RecordingBook, AmongQueuesWithAsManyBytesTheOneThatWasQuietForLongestLosesItsChunk) {
  RecordingBook book(QueueRecording::kChunkBytes);
  const int most = QueueRecording::kChunkBytes / QueueRecording::kLeastChunk;
  const RecordedMove move = move_of(1, TaskStage::kNone, TaskStage::kPending);
  for (int i = 0; i < most; ++i) numbered_queue(book, i).add(move, at_ms(i));
  numbered_queue(book, 0).add(move, at_ms(100));  // Its chunk began first, but goes on.
  numbered_queue(book, most).add(move, at_ms(200));
  numbered_queue(book, most + 1).add(move, at_ms(300));
  for (int i = 0; i < most + 2; ++i) {
    EXPECT_EQ(numbered_queue(book, i).forgotten_until().has_value(), i == 1 || i == 2) << i;
  }
  EXPECT_EQ(tasks_in(numbered_queue(book, 0)).size(), 2u);
  EXPECT_EQ(book.bytes(), QueueRecording::kChunkBytes);
}

// Each event needs the room of another queue's chunk: it must not look at each queue for that.
TEST(RecordingBook, MoreQueuesThanChunksTakeTurnsAndStayWithinTheBound) {
  RecordingBook book(QueueRecording::kChunkBytes);
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    numbered_queue(book, static_cast<int>(random() % 2'000))
        .add(move_of(static_cast<uint64_t>(i), TaskStage::kPending, TaskStage::kTaken), at_ms(i));
    ASSERT_LE(book.bytes(), QueueRecording::kChunkBytes);
  }
  int there = 0;
  for (int i = 0; i < 2'000; ++i) {
    for (const uint64_t task : tasks_in(numbered_queue(book, i))) {
      EXPECT_GT(task, 99'900u) << "the oldest go first";
      ++there;
    }
  }
  EXPECT_GE(there, 15);
}

TEST(RecordingBook, AReaderBeginsWithTheChunkOfTheTimeItWants) {
  RecordingBook book(16u << 20);
  QueueRecording& queue = book.of("emails");
  EXPECT_EQ(queue.position_at(at_ms(5)), queue.end());
  for (uint64_t task = 1; task <= 100'000; ++task) {
    queue.add(move_of(task, TaskStage::kPending, TaskStage::kTaken), at_ms(static_cast<int64_t>(task)));
  }
  EXPECT_EQ(queue.position_at(at_ms(0)), (Position{1, 0}));
  EXPECT_EQ(queue.position_at(at_ms(100'001)), queue.end());
  for (const int64_t time : {2, 700, 5'000, 50'000, 99'999, 100'000}) {
    const auto first = tasks_in(queue, queue.position_at(at_ms(time)), 1).at(0);
    EXPECT_LE(first, static_cast<uint64_t>(time));
    EXPECT_GT(first + QueueRecording::kChunkBytes / 4, static_cast<uint64_t>(time)) << "not from the oldest event on";
  }
}

TEST(RecordingBook, AQueueThatBeginsAnewHasNothingOfWhatWasBefore) {
  RecordingBook book(1u << 20);
  QueueRecording& queue = book.of("emails");
  EXPECT_FALSE(queue.began());
  queue.add(move_of(1, TaskStage::kNone, TaskStage::kPending), at_ms(10));
  const Position before = queue.read({}, 0, [](const RecordedEvent&) { return true; });
  const Position end = queue.end();
  queue.begin_anew(at_ms(20));
  EXPECT_TRUE(queue.is_gone(before));
  EXPECT_TRUE(queue.is_gone(end)) << "it is another queue";
  EXPECT_EQ(queue.began(), at_ms(20));
  EXPECT_FALSE(queue.forgotten_until());
  EXPECT_EQ(book.bytes(), 0u);
  queue.add(move_of(2, TaskStage::kNone, TaskStage::kPending), at_ms(30));
  EXPECT_EQ(tasks_in(queue), (std::vector<uint64_t>{2}));
}

TEST(RecordingBook, TheEndOfAnEmptyQueueIsGoneWhenItBeginsAnew) {
  RecordingBook book(1u << 20);
  QueueRecording& queue = book.of("emails");
  const Position end = queue.end();
  queue.begin_anew(at_ms(20));
  EXPECT_TRUE(queue.is_gone(end)) << "it is another queue";
  EXPECT_FALSE(queue.is_gone(queue.end()));
}

TEST(RecordingBook, TheEndIsNotGoneWhenNothingCameBehindItUntilAllWasForgotten) {
  RecordingBook book(1u << 20, milliseconds(1'000));
  QueueRecording& queue = book.of("emails");
  const auto add = [&](uint64_t task, int64_t at) {
    queue.add(move_of(task, TaskStage::kNone, TaskStage::kPending), at_ms(at));
  };
  add(1, 10);
  const Position first = queue.position_at(at_ms(0));
  const Position end = queue.end();
  book.tick(WallTime(milliseconds(2'000)), at_ms(2'000));
  ASSERT_EQ(queue.chunks(), 0u);
  EXPECT_TRUE(queue.is_gone(first));
  EXPECT_FALSE(queue.is_gone(end));
  add(2, 2'500);
  EXPECT_FALSE(queue.is_gone(end));
  EXPECT_EQ(tasks_in(queue, end, 10), (std::vector<uint64_t>{2})) << "it goes on there";
  const Position second = queue.position_at(at_ms(0));
  add(3, 2'600);
  book.tick(WallTime(milliseconds(4'000)), at_ms(4'000));
  EXPECT_TRUE(queue.is_gone(end)) << "what came behind it is forgotten, too";
  EXPECT_TRUE(queue.is_gone(second));
}

TEST(RecordingBook, WhatIsOlderThanTheBoundOfAgeIsForgotten) {
  RecordingBook book(1u << 20, milliseconds(1'000));
  QueueRecording& queue = book.of("emails");
  queue.add(move_of(1, TaskStage::kNone, TaskStage::kPending), at_ms(100));
  queue.add(move_of(2, TaskStage::kNone, TaskStage::kPending), at_ms(200));
  book.tick({}, at_ms(1'200));
  EXPECT_EQ(tasks_in(queue).size(), 2u);
  book.tick({}, at_ms(1'201));
  EXPECT_EQ(tasks_in(queue).size(), 0u);
  EXPECT_EQ(book.bytes(), 0u);
  EXPECT_EQ(queue.forgotten_until(), at_ms(200));
  queue.add(move_of(3, TaskStage::kNone, TaskStage::kPending), at_ms(1'300));
  EXPECT_EQ(tasks_in(queue), (std::vector<uint64_t>{3}));
}

// A daemon starts with a clock that is an hour fast, and NTP mends it two seconds later.
TEST(RecordingBook, ATimeThatAClockShowedBeforeItWasSetBackIsInThePast) {
  RecordingBook book(1u << 20);
  book.tick(WallTime(milliseconds(5'000'000)), at_ms(500));
  book.tick(WallTime(milliseconds(1'402'000)), at_ms(2'500));
  EXPECT_EQ(book.boot_of(WallTime(milliseconds(5'000'000)), at_ms(2'600)), at_ms(500)) << "not an hour from now";
  EXPECT_EQ(book.boot_of(WallTime(milliseconds(1'402'050)), at_ms(2'600)), at_ms(2'550));
  EXPECT_EQ(book.boot_of(WallTime(milliseconds(1'500'000)), at_ms(2'600)), at_ms(100'500)) << "nobody saw that yet";
}

TEST(RecordingBook, WallTimesAreThoseOfTheClockAsItGoesNow) {
  RecordingBook book(1u << 20);
  QueueRecording& queue = book.of("emails");
  book.tick(WallTime(milliseconds(1'000'000)), at_ms(500));
  EXPECT_EQ(book.wall_of(at_ms(700)), WallTime(milliseconds(1'000'200)));
  book.tick(WallTime(milliseconds(1'001'050)), at_ms(1'500));  // It drifts.
  EXPECT_EQ(queue.end(), queue.read({}, 0, [](const RecordedEvent&) { return true; }));
  queue.add(move_of(1, TaskStage::kNone, TaskStage::kPending), at_ms(1'600));
  const Position after = queue.end();
  book.tick(WallTime(milliseconds(1'062'000)), at_ms(2'500));  // It was set forward by a minute.
  EXPECT_EQ(book.wall_of(at_ms(700)), WallTime(milliseconds(1'060'200)));
  EXPECT_EQ(book.boot_of(WallTime(milliseconds(1'000'200)), at_ms(3'000)), at_ms(700)) << "as it was shown then";
  EXPECT_EQ(book.boot_of(WallTime(milliseconds(1'062'100)), at_ms(3'000)), at_ms(2'600));
  std::vector<milliseconds> steps;
  queue.read(after, 10, [&](const RecordedEvent& event) {
    EXPECT_EQ(event.kind, RecordedEvent::Kind::kClockStep);
    steps.push_back(event.step);
    return true;
  });
  EXPECT_EQ(steps, (std::vector<milliseconds>{milliseconds(60'000)}));
}

}  // namespace
}  // namespace freshet
