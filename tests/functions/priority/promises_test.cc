// Promises of docs/priority-queue.md that concern every call: ids are what they are, a completed record stays
// completed, the dead-letter queue ends a life, one record that cannot be written stops no queue.
#include "base/cursor.h"
#include "base/limits.h"
#include "tests/functions/priority/priority_world.h"

namespace freshet::priority {
namespace {

class PriorityPromisesTest : public PriorityFixture {
 protected:
  // Makes the item as large as an item can be, less `room` bytes.
  void fill(const std::string& id, size_t room) {
    Item all = item(id);
    all.erase("filler");
    const size_t rest = limits::kMaxItemBytes - billed_size(all) - std::string("filler").size() - room;
    ASSERT_TRUE(update_item(id, "SET filler = :f", Map{{":f", Value(std::string(rest, 'x'))}}));
  }
  PriorityResult complete(const std::string& id) { return world.wait(queue->update_status(on(id), "COMPLETED")); }
  PriorityResult get(const std::string& id) { return world.wait(queue->get(id)); }
};
INSTANTIATE_TEST_SUITE_P(Stores, PriorityPromisesTest,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

TEST_P(PriorityPromisesTest, AnIdIsNeverTrimmed) {
  open();
  ASSERT_TRUE(put("A1").ok());
  for (const auto& result : {world.wait(queue->erase(" A1 ")), world.wait(queue->erase("A1\n"))}) {
    EXPECT_TRUE(result.ok());
  }
  EXPECT_FALSE(item("A1").empty()) << "another id was deleted";
  for (const auto& result : {get(" A1"), enqueue("A1 "), remove("\tA1"), restore("A1\r\n")}) {
    EXPECT_EQ(result.code, Code::kIdNotFound);
  }
  queued({" B ", " "});
  for (const char* id : {" B ", " "}) {
    const auto peeked = peek();
    EXPECT_EQ(peeked.id, id);
    EXPECT_TRUE(remove(peeked.id, peeked.receipt).ok()) << "what was peeked can be settled";
    EXPECT_FALSE(item(id).contains("queued"));
  }
}

TEST_P(PriorityPromisesTest, ACompletedRecordIsNeverGivenOutAgain) {
  open();
  queued({"ready", "delayed", "in flight", "last"});
  // By an SDK, which leaves it at its place.
  ASSERT_TRUE(update_item("ready", "SET #sys.#status = :completed", Map{{":completed", Value("COMPLETED")}},
                          {{"#status", "status"}, {"#sys", "system_info"}}));
  ASSERT_TRUE(enqueue("delayed", {}, milliseconds(500)).ok());
  EXPECT_TRUE(complete("delayed").ok());
  const auto held = peek(milliseconds(1000));
  ASSERT_EQ(held.id, "in flight") << "and not the completed one before it";
  EXPECT_EQ(get("ready").place, RecordPlace::kOutside);
  EXPECT_TRUE(complete("in flight").ok());
  world.pass(milliseconds(600));
  EXPECT_TRUE(sweep().empty());
  EXPECT_EQ(get("delayed").place, RecordPlace::kOutside) << "at the end of its delay";
  EXPECT_EQ(get("in flight").place, RecordPlace::kInFlight) << "its consumer may still remove it";
  world.pass(milliseconds(600));
  EXPECT_EQ(peek().id, "last");
  for (const char* id : {"ready", "delayed", "in flight"}) {
    const auto now = get(id);
    EXPECT_EQ(now.place, RecordPlace::kOutside) << id;
    EXPECT_EQ(now.status, "COMPLETED") << id;
    EXPECT_EQ(now.failures, 0) << "a timeout of finished work is no failure";
    EXPECT_EQ(in_info(id, "queued"), Value::number(0));
    EXPECT_EQ(in_info(id, "queue_remove_timestamp"), in_info(id, "last_updated_timestamp"));
  }
  EXPECT_TRUE(remove("in flight", held.receipt).ok()) << "late, but nobody was given it since";
  EXPECT_EQ(stats().in_flight, 1u);
}

TEST_P(PriorityPromisesTest, AlsoWhereRecordsStayInPlace) {
  Settings settings = shipment_settings();
  settings.in_place = true;
  settings.max_failures = 1;
  open(settings);
  queued({"A", "B", "C"});
  ASSERT_EQ(peek(milliseconds(1000)).id, "A");
  EXPECT_TRUE(complete("A").ok());
  EXPECT_TRUE(complete("B").ok());
  world.pass(milliseconds(1100));
  EXPECT_EQ(peek().id, "C");
  EXPECT_EQ(peek().code, Code::kEmptyQueue);
  EXPECT_EQ(get("A").place, RecordPlace::kOutside);
  EXPECT_EQ(get("B").place, RecordPlace::kOutside);
  EXPECT_EQ(stats().dead, 0u);
}

TEST_P(PriorityPromisesTest, WhateverLeavesTheDeadLetterQueueBeginsANewLife) {
  Settings settings = shipment_settings();
  settings.max_failures = 2;
  open(settings);
  const auto die = [&](const std::string& id) {
    for (int i = 0; i < 2; ++i) {
      const auto peeked = peek();
      ASSERT_EQ(peeked.id, id);
      ASSERT_TRUE(restore(id, peeked.receipt).ok());
    }
    ASSERT_EQ(get(id).place, RecordPlace::kDead);
    EXPECT_EQ(get(id).failures, 2) << "it can be seen why";
  };
  const std::vector<std::pair<std::string, std::function<void()>>> ways = {
      {"restore", [&] { EXPECT_TRUE(restore("A").ok()); }},
      {"redrive", [&] { EXPECT_EQ(world.wait(queue->redrive({}))->moved, 1u); }},
      {"remove, restore",
       [&] {
         EXPECT_TRUE(remove("A").ok());
         EXPECT_EQ(get("A").failures, 0);
         EXPECT_EQ(get("A").peeks, 0);
         EXPECT_TRUE(restore("A").ok());
       }},
      {"enqueue",
       [&] {
         EXPECT_TRUE(world.wait(queue->update_status(on("A"), "READY_TO_SHIP")).ok());
         EXPECT_TRUE(enqueue("A").ok());
       }},
      {"put", [&] { queued({"A"}); }},
  };
  queued({"A"});
  for (const auto& [what, leave] : ways) {
    SCOPED_TRACE(what);
    die("A");
    leave();
    const auto peeked = peek();
    ASSERT_EQ(peeked.id, "A");
    EXPECT_EQ(peeked.peeks, 1);
    EXPECT_EQ(peeked.failures, 0);
    EXPECT_EQ(restore("A", peeked.receipt).place, RecordPlace::kReady) << "one failure sent it back";
    ASSERT_TRUE(put("A").ok());
    ASSERT_TRUE(enqueue("A").ok());
  }
}

TEST_P(PriorityPromisesTest, AStatusInFlightKeepsTheOldPlace) {
  Settings with_own = shipment_settings();
  with_own.states.others = {"PACKING"};
  open(with_own);
  queued({"A", "B"});
  const Value place = *item("A").find("last_updated_timestamp");
  ASSERT_EQ(peek(milliseconds(1000)).id, "A");
  EXPECT_TRUE(world.wait(queue->update_status(on("A"), "PACKING")).ok());
  EXPECT_EQ(*item("A").find("last_updated_timestamp"), place);
  world.pass(milliseconds(1100));
  EXPECT_EQ(peek().id, "A") << "at its old place";
}

// A misspelt status would keep the record out of the queue without a word.
TEST_P(PriorityPromisesTest, AStatusIsOneOfThoseThatExist) {
  open();
  const std::string why =
      "'NOPE' is no status of queue 'shipments': there are UNDER_CONSTRUCTION, READY_TO_SHIP, PROCESSING_SHIPMENT, "
      "COMPLETED, IN_DLQ (more with 'states.others' of its definition)";
  const auto refused = [&](const PriorityResult& result) {
    EXPECT_EQ(result.code, Code::kIllegalState);
    EXPECT_EQ(result.detail, why);
  };
  refused(put("A", "NOPE"));
  EXPECT_EQ(get("A").code, Code::kIdNotFound) << "nothing was written";
  ASSERT_TRUE(put("A").ok());
  const Item before = item("A");
  PutRecordInput again;
  again.id = "A";
  again.status = "NOPE";
  refused(world.wait(queue->upsert(again)));
  refused(world.wait(queue->update_status(on("A"), "NOPE")));
  EXPECT_EQ(item("A"), before);
  // A queue without states takes any, as it reads none.
  Settings without = shipment_settings();
  without.states.used = false;
  open(without);
  EXPECT_TRUE(put("B", "NOPE").ok());
  EXPECT_TRUE(world.wait(queue->update_status(on("B"), "OTHER")).ok());
}

TEST_P(PriorityPromisesTest, ARecordWithoutRoomIsNotTakenIn) {
  open();
  for (const char* way : {"enqueue", "restore"}) {
    SCOPED_TRACE(way);
    const auto enter = [&](const std::string& id) { return way == std::string("enqueue") ? enqueue(id) : restore(id); };
    ASSERT_TRUE(put("A").ok());
    fill("A", 300);
    const Item before = item("A");
    const auto refused = enter("A");
    EXPECT_EQ(refused.code, Code::kIllegalState);
    EXPECT_NE(refused.detail.find("record 'A' has no room for the attributes of a queue: with them it may have"),
              std::string::npos)
        << refused.detail;
    EXPECT_EQ(item("A"), before);
    // Where it is let in, everything that can happen to it fits.
    fill("A", 1000);
    ASSERT_TRUE(enter("A").ok());
    auto peeked = peek(milliseconds(1000));
    ASSERT_EQ(peeked.id, "A");
    world.pass(milliseconds(1100));
    EXPECT_TRUE(sweep().empty());
    peeked = peek();
    EXPECT_TRUE(peeked.passed.empty());
    EXPECT_TRUE(world.wait(queue->send_to_dlq(on("A", peeked.receipt))).ok());
    EXPECT_TRUE(remove("A").ok());
  }
}

// The bound is exact enough: with every attribute at its largest the item still fits.
TEST_P(PriorityPromisesTest, TheRoomLookedAtIsEnoughToTheByte) {
  Settings settings = shipment_settings();
  settings.table = "Ranked";
  settings.order = Order::kBoth;
  settings.max_failures = 1;
  open(settings);
  Item plain{{"id", Value("A")}, {"filler", Value("")}};
  put_item(plain, "Ranked");
  ASSERT_TRUE(world.wait(queue->update_status(on("A"), "READY_TO_SHIP")).ok());
  const auto fill_ranked = [&](size_t bytes) {
    UpdateItemInput input;
    input.table = "Ranked";
    input.key.set("id", Value("A"));
    input.update = "SET filler = :f";
    input.placeholders.values.set(":f", Value(std::string(bytes, 'x')));
    return world.wait(world.client().update_item(std::move(input))).has_value();
  };
  size_t least = 0;
  size_t most = limits::kMaxItemBytes;
  while (most - least > 1) {  // The largest filler that is let in.
    const size_t middle = (least + most) / 2;
    const bool in = fill_ranked(middle) && enqueue("A", -999'999'999).ok();
    (in ? least : most) = middle;
    if (!in) continue;
    ASSERT_TRUE(world.wait(queue->cancel(on("A"))).ok());
  }
  ASSERT_GT(least, limits::kMaxItemBytes - 2000);
  ASSERT_TRUE(fill_ranked(least));
  ASSERT_TRUE(enqueue("A", -999'999'999, milliseconds(500)).ok());
  world.pass(milliseconds(600));
  const auto peeked = peek(milliseconds(1000));
  ASSERT_EQ(peeked.id, "A") << peeked.detail;
  EXPECT_TRUE(world.wait(queue->extend(on("A", peeked.receipt), milliseconds(1000))).ok());
  world.pass(milliseconds(1100));
  EXPECT_TRUE(sweep().empty());
  EXPECT_EQ(get("A").place, RecordPlace::kDead);
  EXPECT_TRUE(restore("A").ok());
}

// An SDK made it larger while it waited.
TEST_P(PriorityPromisesTest, ARecordThatCannotBeWrittenIsPassedAndNamed) {
  for (const bool strict : {false, true}) {
    SCOPED_TRACE(strict ? "strict" : "");
    Settings settings = shipment_settings();
    settings.strict = strict;
    open(settings);
    queued({"large", "A", "B"});
    fill("large", 0);
    const Item before = item("large");
    for (const char* id : {"A", "B"}) {
      const auto peeked = peek();
      EXPECT_EQ(peeked.id, id) << peeked.detail;
      ASSERT_EQ(peeked.passed.size(), 1u);
      EXPECT_EQ(peeked.passed[0],
                "record 'large' cannot be written: Item size to update has exceeded the maximum allowed size");
      EXPECT_TRUE(remove(id, peeked.receipt).ok());
    }
    const auto empty = peek();
    EXPECT_EQ(empty.code, Code::kEmptyQueue);
    EXPECT_EQ(empty.passed.size(), 1u);
    EXPECT_EQ(item("large"), before);
    ASSERT_TRUE(update_item("large", "REMOVE filler", {}));
    EXPECT_EQ(peek().id, "large") << "as soon as it has room";
    ASSERT_TRUE(world.wait(queue->erase("large")).ok());
  }
}

TEST_P(PriorityPromisesTest, ATimeoutThatCannotBeWrittenStopsNoOther) {
  for (const bool strict : {false, true}) {
    SCOPED_TRACE(strict ? "strict" : "");
    Settings settings = shipment_settings();
    settings.strict = strict;
    // A long name of the state that it returns to: the timeout needs more room than it gives back.
    settings.states.ready = "READY_TO_SHIP" + std::string(200, '.');
    open(settings);
    const auto ready = [&](const std::string& id) {
      ASSERT_TRUE(put(id, settings.states.ready).ok());
      ASSERT_TRUE(enqueue(id).ok());
      world.pass(milliseconds(1));
    };
    std::vector<std::string> large;
    for (int i = 0; i < (strict ? 1 : 30); ++i) large.push_back("large" + std::to_string(i));
    for (const auto& id : large) {
      ready(id);
      ASSERT_EQ(peek(milliseconds(1000)).id, id);
      fill(id, 0);
    }
    world.pass(milliseconds(1100));
    ready("A");
    ready("B");
    const auto first = peek(milliseconds(1000));
    ASSERT_EQ(first.id, "A") << first.detail;
    ASSERT_FALSE(first.passed.empty());
    EXPECT_EQ(first.passed[0],
              "record 'large0' cannot be written: Item size to update has exceeded the maximum allowed size");
    world.pass(milliseconds(1100));
    const auto again = peek();
    EXPECT_EQ(again.id, "A") << "its timeout stands behind theirs: " << again.detail;
    EXPECT_EQ(again.failures, 1);
    EXPECT_FALSE(sweep().empty()) << "the timer names them";
    for (const auto& id : large) ASSERT_TRUE(world.wait(queue->erase(id)).ok());
    for (const char* id : {"A", "B"}) ASSERT_TRUE(world.wait(queue->erase(id)).ok());
  }
}

// "a|b|5" is the id of (a, "b|5"). Pages and redrives go by keys.
TEST_P(PriorityPromisesTest, AnItemThatNoIdNamesEndsNoListAndNamesNoOther) {
  Settings settings = shipment_settings();
  settings.table = "Pairs";
  open(settings, records_table(settings, {{"p", Type::kString}, KeyAttribute{"s", Type::kString}}));
  const auto dead = [](const std::string& p, const std::string& s, const std::string& kind) {
    return Item{{"p", Value(p)},
                {"s", Value(s)},
                {"kind", Value(kind)},
                {"DLQ", Value::number(1)},
                {"last_updated_timestamp", Value("1")},
                {"system_info", Value(Map{{"version", Value::number(1)}, {"status", Value("IN_DLQ")}})}};
  };
  put_item(dead("a|b", "5", "odd"), "Pairs");
  put_item(dead("a", "b|5", "other"), "Pairs");
  for (int i = 0; i < 20; ++i) put_item(dead(std::to_string(i), "|", "other"), "Pairs");
  std::set<std::string> seen;
  ListRecordsInput list;
  list.limit = 1;
  for (int pages = 0; pages < 30; ++pages) {
    const auto page = world.wait(queue->list(list));
    ASSERT_TRUE(page) << page.error().message;
    for (const auto& record : page->records) seen.insert(record.id);
    list.cursor = page->cursor;
    if (list.cursor.empty()) break;
  }
  EXPECT_TRUE(list.cursor.empty()) << "it goes round in circles";
  EXPECT_EQ(seen.size(), 21u) << "two of the items have one id";
  RedriveRecordsInput odd;
  odd.filter = "kind = :kind";
  odd.placeholders.values.set(":kind", Value("odd"));
  const auto out = world.wait(queue->redrive(odd));
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->moved, 0u) << "the other one was not meant";
  ASSERT_EQ(out->refused.size(), 1u);
  EXPECT_NE(out->refused[0].detail.find("no id names this item"), std::string::npos) << out->refused[0].detail;
  for (const char* cursor : {"a|b", "3:", "3", "9:a|b|5", "2:a|b|5", "x:a|b", "0:|s"}) {
    for (const std::string& given : {std::string(cursor), make_cursor("priority records", cursor)}) {
      list.cursor = given;
      EXPECT_FALSE(world.wait(queue->list(list))) << cursor;
    }
  }
}

TEST_P(PriorityPromisesTest, ARateNearZeroIsNotAtOnce) {
  open();
  queued({"A", "B", "C"});
  for (const char* id : {"A", "B", "C"}) ASSERT_TRUE(world.wait(queue->send_to_dlq(on(id))).ok());
  RedriveRecordsInput input;
  input.rate = 1e-300;
  ASSERT_TRUE(world.wait(queue->redrive(input)));
  world.pass(milliseconds(60'000));
  EXPECT_EQ(stats().redrive->moved, 1u);
  EXPECT_TRUE(stats().redrive->going_on);
}

// For a record that no queue wrote, in the partition of those in flight.
TEST_P(PriorityPromisesTest, AnItemThatIsNoRecordStopsNoStrictQueue) {
  Settings settings = shipment_settings();
  settings.strict = true;
  open(settings);
  put_item(Item{{"id", Value("odd")}, {"queued", Value::number(2)}, {"visible_at", Value::number(world.now_ms() * 2)}});
  queued({"A"});
  EXPECT_EQ(peek().id, "A");
  EXPECT_EQ(peek().code, Code::kEmptyQueue) << "that one is in flight";
}

}  // namespace
}  // namespace freshet::priority
