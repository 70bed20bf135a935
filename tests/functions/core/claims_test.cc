// Claims as a part by itself: no store, no loop.
#include "functions/queue/core/claims.h"

#include <gtest/gtest.h>

#include "functions/queue/attributes.h"
#include "tests/functions/core/fixed.h"

namespace freshet {
namespace {

using fixed::kTable;

const BootTime kStart{};

struct TestedClaims {
  QueueSettings settings;
  Random random{7};
  Claims claims{kTable, settings, random, "node", "2"};
};

ItemRef held(const std::string& id, std::string_view lease, int64_t beat = 0, int64_t lease_ms = 1000) {
  Item item;
  item.set(attribute::kId, Value(id));
  item.set(attribute::kStatus, Value(state::kTaken));
  item.set(attribute::kLease, Value(lease));
  item.set(attribute::kLeaseBeat, Value::number(beat));
  item.set(attribute::kLeaseMs, Value::number(lease_ms));
  item.set(attribute::kAttempt, Value::number(1));
  return ItemRef::encode(item);
}

Settlement settlement(Settlement::Kind kind, const std::string& id, const std::string& lease) {
  Settlement out;
  out.kind = kind;
  out.id = id;
  out.lease = lease;
  return out;
}

TEST(Claims, EachClaimHasALeaseOfItsOwnThatNamesThisDaemon) {
  TestedClaims t;
  EXPECT_EQ(t.claims.new_token(), "node:2:1");
  EXPECT_EQ(t.claims.new_token(), "node:2:2");
  EXPECT_FALSE(t.claims.is_of_dead_daemon("node:2:1"));
  EXPECT_TRUE(t.claims.is_of_dead_daemon("node:1:9")) << "an earlier incarnation of this node";
  EXPECT_FALSE(t.claims.is_of_dead_daemon("other:1:9")) << "another node may be alive";
  EXPECT_FALSE(t.claims.is_of_dead_daemon(""));
}

// A queue that was closed and opened again.
TEST(Claims, WhatAnotherQueueOfThisProcessHasClaimedIsNotDead) {
  TestedClaims t;
  Claims again(kTable, t.settings, t.random, "node", "2.3");
  EXPECT_EQ(again.new_token(), "node:2.3:1");
  for (const Claims* claims : {&t.claims, &again}) {
    for (const char* alive : {"node:2:1", "node:2.2:1", "node:2.3:9"}) {
      EXPECT_FALSE(claims->is_of_dead_daemon(alive)) << alive;
    }
    for (const char* dead : {"node:1:1", "node:1.2:1", "node:20:1", "node:", "node:2"}) {
      EXPECT_TRUE(claims->is_of_dead_daemon(dead)) << dead;
    }
  }
}

TEST(Claims, WhatIsInFlightIsKnownUntilItIsAnswered) {
  TestedClaims t;
  EXPECT_FALSE(t.claims.is_in_flight(held("a", "l")));
  t.claims.sent("a");
  EXPECT_TRUE(t.claims.is_in_flight(held("a", "l")));
  EXPECT_FALSE(t.claims.is_in_flight(held("b", "l")));
  t.claims.answered("a");
  EXPECT_EQ(t.claims.in_flight(), 0u);
}

TEST(Claims, ALeaseLapsesOnceAndAgainAfterALookAround) {
  TestedClaims t;
  const auto task = held("a", "node:2:1");
  t.claims.started(task, Lease{"node:2:1", 0, milliseconds(1000), true, task}, kStart);
  EXPECT_TRUE(t.claims.lapsed(kStart + milliseconds(999), 10).empty());
  auto lapsed = t.claims.lapsed(kStart + milliseconds(1000), 10);
  ASSERT_EQ(lapsed.size(), 1u);
  EXPECT_EQ(lapsed[0].id, "a");
  EXPECT_EQ(lapsed[0].token, "node:2:1");
  EXPECT_TRUE(lapsed[0].outcome.unless_beaten) << "a heartbeat that came meanwhile saves it";
  EXPECT_EQ(lapsed[0].outcome.to, state::kDelayed) << "it has attempts left, after a backoff";
  EXPECT_TRUE(t.claims.lapsed(kStart + milliseconds(1000), 10).empty()) << "its write is under way";
  EXPECT_EQ(t.claims.lapsed(kStart + milliseconds(1000) + t.settings.look_around, 10).size(), 1u)
      << "nobody has said that it ended";
  t.claims.ended("a", "node:2:1");
  EXPECT_EQ(t.claims.leases().size(), 0u);
}

TEST(Claims, ALapseThatWasRefusedSaysWhetherTheHolderIsThere) {
  TestedClaims t;
  const auto task = held("a", "node:2:1");
  t.claims.started(task, Lease{"node:2:1", 0, milliseconds(1000), true, task}, kStart);
  const auto now = kStart + milliseconds(1500);
  EXPECT_TRUE(t.claims.lapse_went_on("a", "node:2:1", held("a", "node:2:1", 3), now));
  EXPECT_EQ(t.claims.leases().next_end(), now + milliseconds(1000)) << "the heartbeat is news: it is timed anew";
  EXPECT_TRUE(t.claims.leases().find("a")->mine);
  EXPECT_FALSE(t.claims.lapse_went_on("a", "node:2:1", held("a", "other:1:1"), now)) << "another has it";
  EXPECT_FALSE(t.claims.lapse_went_on("a", "node:2:1", ItemRef(), now)) << "it is not there any more";
}

// On a store that answers late: a mark was made before a heartbeat, and its answer comes after that of the heartbeat.
TEST(Claims, AnOlderImageOfTheTaskDoesNotReplaceANewerOne) {
  TestedClaims t;
  const auto first = held("a", "node:2:1");
  t.claims.started(first, Lease{"node:2:1", 0, milliseconds(1000), true, first}, kStart);
  t.claims.beaten(settlement(Settlement::Kind::kHeartbeat, "a", "node:2:1"), held("a", "node:2:1", 1), kStart);
  t.claims.saw_written(first);
  auto lapsed = t.claims.lapsed(kStart + milliseconds(1000), 10);
  ASSERT_EQ(lapsed.size(), 1u);
  EXPECT_EQ(int_of(lapsed[0].task, attribute::kLeaseBeat, 0), 1) << "the end of the lease is guarded by this beat";
}

TEST(Claims, ALapseThatWasRefusedKnowsTheTaskAsItIs) {
  TestedClaims t;
  const auto first = held("a", "node:2:1");
  t.claims.started(first, Lease{"node:2:1", 0, milliseconds(1000), true, first}, kStart);
  Item changed = first.decode();
  changed.set(attribute::kCancelRequested, Value::boolean(true));
  ASSERT_EQ(t.claims.lapsed(kStart + milliseconds(1000), 10).size(), 1u);
  EXPECT_TRUE(t.claims.lapse_went_on("a", "node:2:1", ItemRef::encode(changed), kStart + milliseconds(1000)));
  auto again = t.claims.lapsed(kStart + milliseconds(1000) + t.settings.look_around, 10);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_TRUE(has(again[0].task, attribute::kCancelRequested)) << "else the same write is refused for ever";
}

TEST(Claims, AHeartbeatThatIsOvertakenDoesNotBringALeaseBack) {
  TestedClaims t;
  const auto task = held("a", "l");
  const auto beat = settlement(Settlement::Kind::kHeartbeat, "a", "l");
  t.claims.beaten(beat, held("a", "l", 1), kStart);
  EXPECT_EQ(t.claims.leases().size(), 0u) << "its claim has ended";
  t.claims.started(task, Lease{"l", 0, milliseconds(1000), true, task}, kStart);
  t.claims.beaten(beat, held("a", "l", 2), kStart + milliseconds(500));
  EXPECT_EQ(t.claims.leases().next_end(), kStart + milliseconds(1500));
  t.claims.beaten(beat, held("a", "l", 1), kStart + milliseconds(900));
  EXPECT_EQ(t.claims.leases().next_end(), kStart + milliseconds(1500)) << "an older beat is no news";
}

TEST(Claims, OnlyTheHolderSettles) {
  const auto mine = settlement(Settlement::Kind::kComplete, "a", "l");
  EXPECT_TRUE(Claims::may_settle(mine, held("a", "l")));
  const auto other = Claims::may_settle(mine, held("a", "m"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kConflict);
  EXPECT_EQ(other.error().message, "task 'a' is held under another lease");
  Item ended = held("a", "l").decode();
  ended.set(attribute::kStatus, Value(state::kSuccess));
  EXPECT_EQ(Claims::may_settle(mine, ItemRef::encode(ended)).error().message,
            "task 'a' is not held under this lease: it is SUCCESS");
}

TEST(Claims, AWrongSettlementIsRefusedAndAnUnknownLeaseIsToBeRead) {
  TestedClaims t;
  EXPECT_EQ(t.claims.known_task(settlement(Settlement::Kind::kComplete, "", "l")).error().code, ErrorCode::kValidation);
  EXPECT_EQ(t.claims.known_task(settlement(Settlement::Kind::kComplete, "a", "")).error().code, ErrorCode::kValidation);
  const auto task = held("a", "l");
  t.claims.started(task, Lease{"l", 0, milliseconds(1000), true, task}, kStart);
  EXPECT_TRUE(*t.claims.known_task(settlement(Settlement::Kind::kComplete, "a", "l")));
  EXPECT_FALSE(*t.claims.known_task(settlement(Settlement::Kind::kComplete, "a", "m"))) << "another daemon's, maybe";
}

TEST(Claims, EachWayToEndHasItsState) {
  TestedClaims t;
  const auto task = held("a", "l");
  const auto to = [&](Settlement::Kind kind) { return t.claims.outcome_of(settlement(kind, "a", "l"), task).to; };
  EXPECT_EQ(to(Settlement::Kind::kComplete), state::kSuccess);
  EXPECT_EQ(to(Settlement::Kind::kHeartbeat), "");
  EXPECT_EQ(to(Settlement::Kind::kFail), state::kDelayed);
  EXPECT_EQ(to(Settlement::Kind::kRelease), state::kPending);
  auto last = settlement(Settlement::Kind::kFail, "a", "l");
  last.final = true;
  EXPECT_EQ(t.claims.outcome_of(last, task).to, state::kFailure);
  EXPECT_FALSE(Claims::needs_lane(settlement(Settlement::Kind::kComplete, "a", "l")));
  EXPECT_TRUE(Claims::needs_lane(settlement(Settlement::Kind::kRelease, "a", "l")));
}

TEST(Claims, ALeaseLastsAsLongAsItSaysOrTheQueueDoes) {
  TestedClaims t;
  EXPECT_EQ(t.claims.duration_of(held("a", "l", 0, 5000)), milliseconds(5000));
  EXPECT_EQ(t.claims.duration_of(held("a", "l", 0, -5)), milliseconds(1))
      << "no client can make it endless or negative";
  EXPECT_EQ(t.claims.duration_of(held("a", "")), milliseconds(0)) << "a lease that names nobody is none";
  Item plain;
  plain.set(attribute::kId, Value("a"));
  plain.set(attribute::kStatus, Value(state::kTaken));
  EXPECT_EQ(t.claims.duration_of(ItemRef::encode(plain)), t.settings.lease);
}

}  // namespace
}  // namespace freshet
