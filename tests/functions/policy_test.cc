#include <gtest/gtest.h>

#include "base/limits.h"
#include "functions/queue/arrows.h"
#include "functions/queue/attributes.h"
#include "functions/queue/core/lease_book.h"
#include "functions/queue/policy/backoff.h"
#include "functions/queue/policy/expiry.h"
#include "functions/queue/policy/key_limits.h"
#include "functions/queue/policy/outcome.h"
#include "functions/queue/policy/service_time.h"
#include "tables/value/json.h"
#include "tables/value/text.h"

namespace freshet {
namespace {

constexpr milliseconds operator""_ms(unsigned long long n) {
  return milliseconds(n);
}

WallTime wall(int64_t ms) {
  return WallTime(milliseconds(ms));
}

ItemRef task(std::initializer_list<Map::Entry> more) {
  Item item(more);
  item.set(attribute::kId, Value("t"));
  item.set(attribute::kStatus, Value(state::kTaken));
  return ItemRef::encode(item);
}

TEST(Backoff, GrowsToItsCap) {
  BackoffSettings settings{100_ms, 1000_ms, 2, 0};
  EXPECT_EQ(backoff_delay(settings, 1, 0.5), 100_ms);
  EXPECT_EQ(backoff_delay(settings, 2, 0.5), 200_ms);
  EXPECT_EQ(backoff_delay(settings, 4, 0.5), 800_ms);
  EXPECT_EQ(backoff_delay(settings, 5, 0.5), 1000_ms);
  EXPECT_EQ(backoff_delay(settings, 1'000'000, 0.5), 1000_ms);
  EXPECT_EQ(backoff_delay(settings, 0, 0.5), 100_ms);
}

TEST(Backoff, JitterTakesAwayAShare) {
  BackoffSettings settings{100_ms, 1000_ms, 2, 0.5};
  EXPECT_EQ(backoff_delay(settings, 1, 0), 100_ms);
  EXPECT_EQ(backoff_delay(settings, 1, 0.999), 50_ms);
  EXPECT_EQ(backoff_delay(settings, 5, 0.5), 750_ms);
  EXPECT_EQ(backoff_delay({0_ms, 1000_ms, 2, 0.5}, 3, 0.2), 0_ms);
}

TEST(Expiry, IsToldBySecondsAndDeadline) {
  auto by_ttl = task({{"ttl", Value::number(100)}});
  EXPECT_EQ(expired(by_ttl, wall(99'999), false), "");
  EXPECT_EQ(expired(by_ttl, wall(100'000), false), "ttl");
  auto by_deadline = task({{"deadline", Value::number(99'500)}, {"ttl", Value::number(100)}});
  EXPECT_EQ(expired(by_deadline, wall(99'499), false), "");
  EXPECT_EQ(expired(by_deadline, wall(99'500), false), "deadline");
  EXPECT_EQ(expired(task({}), wall(int64_t{1} << 50), false), "");
  EXPECT_EQ(expired(task({{"ttl", Value("soon")}, {"deadline", Value::number(0)}}), wall(5), false), "");
}

TEST(Expiry, AMarginIsKeptBeforeTheDeadline) {
  auto by_deadline = task({{"deadline", Value::number(99'500)}, {"ttl", Value::number(100)}});
  EXPECT_EQ(expired(by_deadline, wall(98'499), false, 1000_ms), "");
  EXPECT_EQ(expired(by_deadline, wall(98'500), false, 1000_ms), "deadline-margin");
  EXPECT_EQ(expired(by_deadline, wall(99'500), false, 1000_ms), "deadline");
  EXPECT_EQ(expired(task({{"ttl", Value::number(100)}}), wall(99'999), false, 1000_ms), "") << "a ttl has no margin";
}

// More nanoseconds than there are.
TEST(Expiry, ADeadlineThatIsCenturiesAheadIsNotNear) {
  constexpr int64_t kLastOf9999 = 253'402'300'799'999;
  for (const int64_t deadline : {kLastOf9999, kLastOf9999 / 10, int64_t{1} << 62}) {
    EXPECT_EQ(expired(task({{"deadline", Value::number(deadline)}}), wall(1'800'000'000'000), false, 1000_ms), "")
        << deadline;
  }
}

TEST(ServiceTimes, AreTheNinetiethOfAHundredOnceThereAreTen) {
  ServiceTimes times;
  BootTime now{};
  for (int i = 1; i <= 9; ++i) times.add(milliseconds(i), now);
  EXPECT_EQ(times.p90(now), 0_ms);
  times.add(milliseconds(10), now);
  EXPECT_EQ(times.p90(now), 9_ms);
  for (int i = 11; i <= 100; ++i) times.add(milliseconds(i), now);
  EXPECT_EQ(times.p90(now), 90_ms);
  times.add(nanoseconds(-5), now);
  EXPECT_EQ(times.p90(now), 90_ms);
}

// Once in n + 1 the next one takes longer than all n that were seen.
TEST(ServiceTimes, TheirRanksDoNotFlatterThemselves) {
  ServiceTimes times;
  BootTime now{};
  for (int i = 1; i <= 9; ++i) times.add(milliseconds(10 * i), now);
  EXPECT_EQ(times.chance_within(1_ms, now), 1) << "too little is known";
  for (int i = 10; i <= 99; ++i) times.add(milliseconds(10 * i), now);
  EXPECT_DOUBLE_EQ(times.chance_within(980_ms, now), 0.98);
  EXPECT_DOUBLE_EQ(times.chance_within(985_ms, now), 0.985);
  EXPECT_DOUBLE_EQ(times.chance_within(990_ms, now), 0.99);
  EXPECT_DOUBLE_EQ(times.chance_within(995_ms, now), 0.995);
  EXPECT_DOUBLE_EQ(times.chance_within(2000_ms, now), 1);
  EXPECT_DOUBLE_EQ(times.chance_within(5_ms, now), 0.005);
  EXPECT_DOUBLE_EQ(times.chance_within(-5_ms, now), 0);
  EXPECT_LT(times.chance_within(989_ms, now), 0.99);
  times.add(990_ms, now);
  EXPECT_DOUBLE_EQ(times.chance_within(990_ms, now), 1) << "the longest was there before, so there is none longer";
}

TEST(ServiceTimes, FollowWhatChangesAndForgetWhatIsOld) {
  ServiceTimes times;
  BootTime now{};
  for (size_t i = 0; i < ServiceTimes::kWindow; ++i) times.add(1000_ms, now);
  EXPECT_EQ(times.p90(now), 1000_ms);
  now += 30'000_ms;
  for (size_t i = 0; i < ServiceTimes::kWindow; ++i) times.add(nanoseconds(1'500'000), now);
  EXPECT_EQ(times.p90(now), nanoseconds(1'500'000));
  now += ServiceTimes::kKept;
  EXPECT_EQ(times.p90(now), nanoseconds(1'500'000));
  now += 1_ms;
  EXPECT_EQ(times.p90(now), 0_ms);
}

TEST(Expiry, MillisecondsInTtlNeverExpireUnlessTold) {
  auto sample = task({{"ttl", Value::number(1'700'000'000'000)}});
  EXPECT_EQ(expired(sample, wall(1'800'000'000'000), false), "");
  EXPECT_EQ(expired(sample, wall(1'800'000'000'000), true), "ttl");
  EXPECT_EQ(expired(sample, wall(1'600'000'000'000), true), "");
}

TEST(Outcome, FailureUsesTheAttemptAndBacksOff) {
  QueueSettings settings;
  settings.max_attempts = 3;
  settings.backoff = {100_ms, 1000_ms, 2, 0};
  auto second = after_failure(task({{"attempt", Value::number(2)}}), settings, false, {}, 0);
  EXPECT_EQ(second.to, state::kDelayed);
  EXPECT_EQ(second.delay, 200_ms);
  EXPECT_FALSE(second.give_back);
  EXPECT_EQ(after_failure(task({{"attempt", Value::number(3)}}), settings, false, {}, 0).to, state::kDead);
  EXPECT_EQ(after_failure(task({{"attempt", Value::number(2)}}), settings, true, {}, 0).to, state::kFailure);
  EXPECT_EQ(after_failure(task({{"attempt", Value::number(2)}}), settings, false, 0_ms, 0).to, state::kPending);
  auto own = task({{"attempt", Value::number(3)}, {"maxAttempts", Value::number(4)}});
  EXPECT_EQ(after_failure(own, settings, false, {}, 0).to, state::kDelayed);
  settings.retry_failures = false;
  EXPECT_EQ(after_failure(task({{"attempt", Value::number(1)}}), settings, false, {}, 0).to, state::kFailure);
  EXPECT_EQ(after_restart(task({{"attempt", Value::number(1)}}), settings).to, state::kPending);
  EXPECT_EQ(after_restart(task({{"attempt", Value::number(3)}}), settings).to, state::kDead);
}

TEST(Outcome, ReleaseGivesTheAttemptBack) {
  auto at_once = after_release(task({{"attempt", Value::number(1)}}), {});
  EXPECT_EQ(at_once.to, state::kPending);
  EXPECT_TRUE(at_once.give_back);
  EXPECT_FALSE(at_once.failed);
  auto later = after_release(task({}), 700_ms);
  EXPECT_EQ(later.to, state::kDelayed);
  EXPECT_EQ(later.delay, 700_ms);
}

TEST(Outcome, ACancelledTaskDoesNotComeBack) {
  auto cancelled = task({{"attempt", Value::number(1)}, {"cancelRequested", Value::boolean(true)}});
  EXPECT_EQ(after_release(cancelled, {}).to, state::kCancelled);
  EXPECT_EQ(after_failure(cancelled, {}, false, {}, 0).to, state::kCancelled);
  EXPECT_EQ(after_failure(cancelled, {}, true, {}, 0).to, state::kCancelled);
  QueueSettings final_failures;
  final_failures.retry_failures = false;
  EXPECT_EQ(after_failure(cancelled, final_failures, false, {}, 0).to, state::kCancelled);
}

// A limit that looks whether its key may start again must not find the call that has just ended.
TEST(LeaseBook, ACallEndsBeforeAnybodyIsToldThatThereIsRoom) {
  LeaseBook book;
  Item item{{"taskId", Value("a")}, {"group", Value("g")}};
  std::weak_ptr<KeyCall> call;
  std::vector<bool> was_over;
  const auto lease = [&](const std::string& token) {
    Lease out;
    out.token = token;
    out.mine = true;
    out.task = ItemRef::encode(item);
    out.key_call = std::make_shared<KeyCall>(1.0, 0);
    call = out.key_call;
    return out;
  };
  book.start("a", lease("t1"), BootTime(seconds(1)));
  std::weak_ptr<KeyCall> first = call;
  book.tell_groups([&](std::string_view, uint64_t in_work) {
    if (in_work == 0) was_over.push_back(call.expired());
  });
  item.set("group", Value("h"));
  book.start("a", lease("t2"), BootTime(seconds(2)));
  EXPECT_TRUE(first.expired());
  was_over.clear();
  book.forget("a", "t2");
  EXPECT_EQ(was_over, std::vector<bool>{true});
}

TEST(LeaseBook, TimesFromFirstSightOfTokenAndBeat) {
  LeaseBook book;
  BootTime start{};
  Lease lease{"n:i:1", 0, 1000_ms, false, task({})};
  book.observe("t", lease, start);
  book.observe("t", lease, start + 900_ms);
  EXPECT_EQ(book.next_end(), start + 1000_ms) << "the same beat changes nothing";
  lease.beat = 1;
  book.observe("t", lease, start + 900_ms);
  EXPECT_TRUE(book.ended(start + 1899_ms, 10).empty());
  EXPECT_EQ(book.ended(start + 1900_ms, 10), std::vector<std::string>{"t"});
  book.postpone("t", start + 5000_ms);
  EXPECT_TRUE(book.ended(start + 1900_ms, 10).empty());
  book.forget("t", "another token");
  EXPECT_EQ(book.size(), 1u);
  book.forget("t", lease.token);
  EXPECT_EQ(book.next_end(), BootTime::max());
  EXPECT_EQ(book.size(), 0u);
}

// A heartbeat is in the store before its answer is here, and a late store shows older ones.
TEST(LeaseBook, ALeaseOfItsOwnStaysItsOwnWhateverBeatIsRead) {
  LeaseBook book;
  BootTime start{};
  book.start("t", Lease{"l", 3, 1000_ms, true, {}}, start);
  book.observe("t", Lease{"l", 4, 1000_ms, false, {}}, start + 500_ms);
  EXPECT_EQ(book.mine(), 1u);
  EXPECT_EQ(book.next_end(), start + 1500_ms);
  book.observe("t", Lease{"l", 3, 1000_ms, false, {}}, start + 900_ms);
  EXPECT_EQ(book.next_end(), start + 1500_ms) << "an older beat says nothing new";
  book.observe("t", Lease{"m", 0, 1000_ms, false, {}}, start + 900_ms);
  EXPECT_EQ(book.mine(), 0u) << "another's claim";
}

TEST(LeaseBook, NamesTheFirstToEndFirstAndCountsItsOwn) {
  LeaseBook book;
  BootTime start{};
  for (int i = 0; i < 5; ++i) {
    book.start("t" + std::to_string(i), Lease{"l", 0, milliseconds(100 * (5 - i)), i % 2 == 0, {}}, start);
  }
  EXPECT_EQ(book.mine(), 3u);
  EXPECT_EQ(book.ended(start + 1000_ms, 2), (std::vector<std::string>{"t4", "t3"}));
  book.start("t4", Lease{"m", 0, 2000_ms, false, {}}, start);
  EXPECT_EQ(book.mine(), 2u);
  EXPECT_EQ(book.ended(start + 300_ms, 9), (std::vector<std::string>{"t3", "t2"}));
}

// An error that was cut inside a character made the log unreadable at the next start.
TEST(Arrows, ErrorsAreCutAtACharacter) {
  std::string error = "x";
  for (int i = 0; i < 3000; ++i) error += "\u00e9";
  Outcome outcome;
  outcome.to = state::kDelayed;
  outcome.failed = true;
  const auto input = end_claim("T", task({}), outcome, "failed", error, {}, wall(1));
  size_t texts = 0;
  for (const auto& [name, value] : input.edits) {
    const auto* text = value ? value->get_if<std::string>() : nullptr;
    if (!text || text->size() < 1000) continue;
    ++texts;
    EXPECT_TRUE(is_utf8(*text));
    EXPECT_LE(text->size(), 4096u);
  }
  EXPECT_EQ(texts, 1u);
}

TEST(Arrows, ARedriveRenewsAPassedTtlInItsOwnUnit) {
  TableDefinition table;
  table.name = "T";
  const int64_t now_ms = 1'800'000'000'000;
  const auto renewed = [&](int64_t ttl) -> std::string {
    const ItemRef dead = task({{"ttl", Value::number(ttl)}});
    const auto input = redrive(table, dead, {}, 1500_ms, wall(now_ms));
    for (const auto& [name, value] : input.edits) {
      if (name != attribute::kTtl) continue;
      std::string out;
      append_plain_json(out, *value);
      return out;
    }
    return "kept";
  };
  EXPECT_EQ(renewed(1'799'999'999), "1800000002");
  EXPECT_EQ(renewed(1'800'000'001), "kept");
  EXPECT_EQ(renewed(now_ms - 1), "kept") << "it never passes";
  table.ttl_in_milliseconds = true;
  EXPECT_EQ(renewed(now_ms - 1), "1800000001500");
  EXPECT_EQ(renewed(now_ms + 1), "kept");
  EXPECT_EQ(renewed(1'799'999'999), "1800000002");
}

TEST(Arrows, ASuccessIsRecordedWithoutAResultThatDoesNotFit) {
  const ItemRef large = task({{"payload", Value(std::string(limits::kMaxItemBytes - 1000, 'p'))}});
  const auto input = complete("T", large, Value(std::string(2000, 'r')), wall(1));
  bool said = false;
  for (const auto& [name, value] : input.edits) {
    const auto* text = value ? value->get_if<std::string>() : nullptr;
    EXPECT_FALSE(text && text->size() == 2000);
    said = said || (text && text->find("does not fit") != std::string::npos);
  }
  EXPECT_TRUE(said);
}

}  // namespace
}  // namespace freshet
