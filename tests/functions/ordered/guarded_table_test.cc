// Ordered writes on a store that answers at once and on one that answers late.
#include "tests/functions/ordered/ordered_world.h"

namespace freshet::ordered {
namespace {

class GuardedTableTest : public OrderedFixture {};
INSTANTIATE_TEST_SUITE_P(Stores, GuardedTableTest,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

TEST_P(GuardedTableTest, OlderNeverOverwritesNewer) {
  open();
  EXPECT_TRUE(put(rating(3), at(-1000)).ok());
  EXPECT_TRUE(put(rating(5), at(-100)).ok());
  const auto late = put(rating(4), at(-500));
  EXPECT_EQ(late.code, Code::kOlder);
  EXPECT_EQ(late.timestamp, at(-500));
  EXPECT_NE(late.detail.find("Movie#A"), std::string::npos) << late.detail;
  ASSERT_TRUE(late.found);
  EXPECT_EQ(late.found.decode().int_or("Rating", 0), 5);
  EXPECT_EQ(stars(), 5);
  EXPECT_EQ(get().int_or("Timestamp", 0), at(-100)->get_if<Decimal>()->floor_int64());
}

TEST_P(GuardedTableTest, DeletesLeaveATombstoneOfTheDesign) {
  open();
  put(rating(3), at(-1000));
  EXPECT_TRUE(erase(at(-500)).ok());
  const Item tombstone = raw();
  EXPECT_EQ(names_of(tombstone), "Deleted PK SK TTL Timestamp");
  EXPECT_EQ(*tombstone.find("Deleted"), Value::boolean(true));
  const int64_t effective = start - 500;
  EXPECT_EQ(tombstone.int_or("TTL", 0), (effective + 999) / 1000 + 7 * 86'400);
  EXPECT_EQ(put(rating(2), at(-600)).code, Code::kOlder);
  EXPECT_EQ(names_of(get()), "");
  EXPECT_TRUE(put(rating(4), at(-400)).ok());
  EXPECT_EQ(names_of(raw()), "PK Rating SK Timestamp");
  EXPECT_EQ(erase(at(-450)).code, Code::kOlder);
  EXPECT_EQ(stars(), 4);
}

TEST_P(GuardedTableTest, TheTombstoneOfThePost) {
  world.clock.step_wall(milliseconds(1'721'757'900'000 + 86'400'000 - world.now_ms()));
  open();
  EXPECT_TRUE(erase(Value::number(1'721'757'900'000)).ok());
  EXPECT_EQ(raw().int_or("TTL", 0), 1'722'362'700);
}

TEST_P(GuardedTableTest, ADeleteOfWhatWasNeverThereKeepsOlderPutsOut) {
  open();
  EXPECT_TRUE(erase(at(-10)).ok());
  EXPECT_EQ(put(rating(1), at(-20)).code, Code::kOlder);
  EXPECT_EQ(names_of(get()), "");
}

TEST_P(GuardedTableTest, TombstonesExpireAndWhatIsOlderThenIsRefused) {
  Definition definition = ratings();
  definition.settings.retention = milliseconds(60'000);
  open(definition);
  put(rating(3), at(-1000));
  const auto deleted_at = at(0);
  EXPECT_TRUE(erase(deleted_at).ok());
  const auto before = at(-1);
  world.pass(milliseconds(58'000));
  EXPECT_EQ(put(rating(2), before).code, Code::kOlder);
  world.pass(milliseconds(3'100));
  EXPECT_EQ(names_of(raw()), "") << "the tombstone has expired";
  const auto refused = put(rating(2), before);
  EXPECT_EQ(refused.code, Code::kTooOld) << refused.detail;
  EXPECT_EQ(names_of(raw()), "");
  EXPECT_TRUE(put(rating(2), at(20'000)).ok());
}

// The rows of the post's example are years old.
TEST_P(GuardedTableTest, AnImportTakesOldTimestamps) {
  Definition definition = ratings();
  open(definition);
  const Value first = Value::number(1'721'757'100'000);
  const Value second = Value::number(1'721'757'900'000);
  world.clock.step_wall(milliseconds(1'764'000'000'000 - world.now_ms()));
  const auto refused = put(rating(5), first);
  EXPECT_EQ(refused.code, Code::kTooOld);
  EXPECT_NE(refused.detail.find(R"("old_timestamps": "accept")"), std::string::npos) << refused.detail;
  definition.settings.old = Old::kAccept;
  open(definition);
  EXPECT_TRUE(put(rating(5), first).ok());
  EXPECT_EQ(stars(), 5);
  EXPECT_TRUE(erase(second).ok());
  const int64_t ttl = raw().int_or("TTL", 0);  // A store that answers late takes some milliseconds of the second.
  EXPECT_TRUE(ttl == 1'764'000'000 + 7 * 86'400 || ttl == 1'764'000'001 + 7 * 86'400) << ttl << ": gone at once";
  EXPECT_EQ(put(rating(4), first).code, Code::kOlder) << "the tombstone stands";
  const auto in_seconds = put(rating(4), Value::number(1'764'000'000));
  EXPECT_EQ(in_seconds.code, Code::kTooOld) << "that is no import";
  EXPECT_EQ(put(rating(4), Value::number(1'721'757'100)).code, Code::kTooOld) << "nor is an old one in seconds";
  EXPECT_TRUE(put(rating(4), Value::number(1'763'999'999'000)).ok());
  EXPECT_TRUE(erase(Value::number(1'763'999'999'500)).ok());
  EXPECT_EQ(raw().int_or("TTL", 0), 1'764'000'000 + 7 * 86'400) << "what is not old keeps its own time";
}

TEST_P(GuardedTableTest, WhatLiesAheadOrIsInTheWrongUnitIsRefused) {
  open();
  put(rating(3), at(-1000));
  EXPECT_TRUE(put(rating(4), at(300'000)).ok());
  const auto ahead = put(rating(5), at(300'100));
  EXPECT_EQ(ahead.code, Code::kTooFarAhead) << ahead.detail;
  const auto in_seconds = put(rating(5), Value::number(world.now_ms() / 1000));
  EXPECT_EQ(in_seconds.code, Code::kTooOld);
  EXPECT_NE(in_seconds.detail.find("it looks like seconds"), std::string::npos) << in_seconds.detail;
  const auto in_micros = put(rating(5), Value::number(world.now_ms() * 1000));
  EXPECT_EQ(in_micros.code, Code::kTooFarAhead);
  EXPECT_NE(in_micros.detail.find("it looks like microseconds"), std::string::npos) << in_micros.detail;
  EXPECT_EQ(stars(), 4);
}

TEST_P(GuardedTableTest, EqualTimestampsLastArrivalStays) {
  open();
  const auto same = at(0);
  EXPECT_TRUE(put(rating(1), same).ok());
  EXPECT_TRUE(put(rating(2), same).ok());
  EXPECT_EQ(stars(), 2);
  EXPECT_TRUE(erase(same).ok());
  EXPECT_TRUE(put(rating(3), same).ok());
  EXPECT_EQ(stars(), 3);
}

TEST_P(GuardedTableTest, EqualTimestampsByContentEndTheSameInAnyOrder) {
  Definition definition = ratings();
  definition.settings.ties = Ties::kContent;
  open(definition);
  const auto same = at(0);
  std::vector<Item> ends;
  for (int64_t first : {1, 2}) {
    put(rating(first), same);
    put(rating(3 - first), same);
    put(rating(first), same);
    ends.push_back(raw());
    DeleteItemInput remove;
    remove.table = "Ratings";
    remove.key = key();
    ASSERT_TRUE(world.wait(world.client().delete_item(remove)));
  }
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_TRUE(erase(same).ok());
  EXPECT_EQ(put(rating(5), same).code, Code::kOlder) << "a delete stands behind every put of its time";
  EXPECT_EQ(names_of(raw()), "Deleted PK SK TTL Tie Timestamp");
  EXPECT_TRUE(put(rating(5), at(1)).ok());
}

TEST_P(GuardedTableTest, TimestampsFromTheRecordTheCallOrTheFirstAttempt) {
  Definition definition = ratings();
  definition.settings.timestamp_path = "event.times[1]";
  open(definition);
  Item item = rating(3);
  const int64_t when = world.now_ms() - 5000;
  item.set("event", Value(Map{{"times", Value(List{{Value("x"), Value::number(when)}})}}));
  const auto from_record = put(item);
  EXPECT_TRUE(from_record.ok()) << from_record.detail;
  EXPECT_EQ(raw().int_or("Timestamp", 0), when);
  const auto missing = put(rating(4));
  EXPECT_EQ(missing.code, Code::kInvalid);
  EXPECT_NE(missing.detail.find("'event.times[1]'"), std::string::npos) << missing.detail;
  EXPECT_EQ(erase().code, Code::kInvalid) << "a key has no such path";
  EXPECT_TRUE(put(rating(4), at(-4000)).ok()) << "what the call says counts first";

  Definition plain = ratings();
  plain.settings.name = "plain";
  open(plain);
  const auto stamped = put(rating(5));
  EXPECT_TRUE(stamped.ok());
  EXPECT_TRUE(raw().int_or("Timestamp", 0) >= when + 5000);
  EXPECT_EQ(raw().int_or("Timestamp", 0), stamped.timestamp->get_if<Decimal>()->floor_int64());
  // A clock that steps back does not make what is written here older than what was.
  world.clock.step_wall(milliseconds(-60'000));
  EXPECT_TRUE(put(rating(1)).ok());
  EXPECT_EQ(stars(), 1);
}

// It was an hour ahead for a moment: what was written then stays in the way, but nothing else.
TEST_P(GuardedTableTest, AClockThatWasFarAheadIsNotFollowed) {
  open();
  world.clock.step_wall(milliseconds(3'600'000));
  EXPECT_TRUE(put(rating(5)).ok());
  world.clock.step_wall(milliseconds(-3'600'000));
  const auto other = put(rating(1, "B"));
  EXPECT_TRUE(other.ok()) << other.detail;
  const auto same = put(rating(1));
  EXPECT_EQ(same.code, Code::kOlder) << same.detail;
  EXPECT_NE(same.detail.find("whose clock is ahead"), std::string::npos) << same.detail;
}

TEST_P(GuardedTableTest, TimesAsTextAndOtherUnits) {
  Definition definition = ratings();
  definition.settings.timestamp_path = "at";
  definition.settings.unit = Unit::kSeconds;
  open(definition);
  world.clock.step_wall(milliseconds(1'800'000'000'000 - world.now_ms()));
  Item item = rating(3);
  item.set("at", Value("2027-01-15T08:00:00.9Z"));
  const auto done = put(item);
  EXPECT_TRUE(done.ok()) << done.detail;
  EXPECT_EQ(raw().int_or("Timestamp", 0), 1'800'000'000);
  item.set("at", Value("yesterday"));
  EXPECT_EQ(put(item).code, Code::kInvalid);
  item.set("at", Value(*Decimal::parse("1800000000.5")));
  EXPECT_EQ(put(item).code, Code::kInvalid);
  item.set("at", Value::boolean(true));
  EXPECT_EQ(put(item).code, Code::kInvalid);
  EXPECT_EQ(stars(), 3);
}

TEST_P(GuardedTableTest, AnyRisingTokenWillDo) {
  Definition definition = ratings();
  definition.settings.unit = Unit::kToken;
  definition.settings.token_type = Type::kString;
  open(definition);
  EXPECT_TRUE(put(rating(1), Value("01J3-b")).ok());
  EXPECT_EQ(put(rating(2), Value("01J3-a")).code, Code::kOlder);
  EXPECT_TRUE(erase(Value("01J3-c")).ok());
  EXPECT_EQ(raw().int_or("TTL", 0), (world.now_ms() + 999) / 1000 + 7 * 86'400);
  EXPECT_EQ(put(rating(3)).code, Code::kInvalid);
  EXPECT_EQ(put(rating(3), Value::number(5)).code, Code::kInvalid);
  EXPECT_TRUE(put(rating(3), Value("01J3-d")).ok());
}

TEST_P(GuardedTableTest, NamesAreConfigurable) {
  Definition definition = ratings();
  Settings& settings = definition.settings;
  settings.table = "Other";
  settings.names.timestamp = "written_at";
  settings.names.deleted = "gone";
  settings.names.ttl = "expires";
  settings.retention = milliseconds(3'600'000);
  open(definition);
  erase(at(0));
  const auto seen = world.wait(table->get({key(), true}));
  ASSERT_TRUE(seen && *seen);
  EXPECT_EQ(names_of(seen->decode()), "PK SK expires gone written_at");
  EXPECT_EQ(world.wait(world.store->describe_table("Other"))->definition.ttl_attribute, "expires");
}

TEST_P(GuardedTableTest, AReadNamesTheMembersOfAKey) {
  open();
  Item half;
  half.set("PK", Value("User#1"));
  const auto one = world.wait(table->get({half}));
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code, ErrorCode::kValidation);
  EXPECT_EQ(one.error().message, "the key must be PK (S) and SK (S) and nothing else");
  const auto some = world.wait(table->batch_get({{key("A")}, {half}}));
  ASSERT_EQ(some.size(), 2u);
  ASSERT_FALSE(some[0] || some[1]);
  EXPECT_EQ(some[1].error().message, "key 2: the key must be PK (S) and SK (S) and nothing else");
}

TEST_P(GuardedTableTest, ReadsLeaveTombstonesOut) {
  open();
  for (const char* movie : {"A", "B", "C"}) put(rating(3, movie), at(-100));
  erase(at(0), key("B"));
  auto batch = world.wait(table->batch_get({{key("A")}, {key("B")}, {key("nowhere")}, {key("B"), true}}));
  ASSERT_EQ(batch.size(), 4u);
  EXPECT_TRUE(batch[0] && *batch[0]);
  EXPECT_TRUE(batch[1] && !*batch[1]);
  EXPECT_TRUE(batch[2] && !*batch[2]);
  EXPECT_TRUE(batch[3] && *batch[3]);
  OrderedQuery query;
  query.partition = Value("User#1");
  EXPECT_EQ(world.wait(table->query(query))->items.size(), 2u);
  query.tombstones = true;
  EXPECT_EQ(world.wait(table->query(query))->items.size(), 3u);
  OrderedQuery filtered;
  filtered.query.key_condition = "PK = :p";
  filtered.query.filter = "Rating = :three OR Rating = :four";
  filtered.query.placeholders.values =
      Map{{":p", Value("User#1")}, {":three", Value::number(3)}, {":four", Value::number(4)}};
  filtered.query.count_only = true;
  EXPECT_EQ(world.wait(table->query(filtered))->count, 2u);
  EXPECT_EQ(world.wait(table->scan({}))->items.size(), 2u);
  OrderedScan all;
  all.tombstones = true;
  EXPECT_EQ(world.wait(table->scan(all))->items.size(), 3u);
  // An attribute of that name that others wrote is not a tombstone's.
  Item foreign = rating(1, "D");
  foreign.set("Deleted", Value("no"));
  put_raw(foreign);
  EXPECT_EQ(world.wait(table->scan({}))->items.size(), 3u);
  EXPECT_EQ(stars("D"), 1);
}

// The filter is combined with one of the table's own, which the reader has not written.
TEST_P(GuardedTableTest, AFiltersErrorQuotesOnlyTheReadersOwnText) {
  open();
  put(rating(3), at(-100));
  erase(at(0));
  for (const char* filter : {"Rating >", "(Rating > :r", "Rating", "Rating = :r) OR (Rating <> :r"}) {
    OrderedScan scan;
    scan.scan.filter = filter;
    scan.scan.placeholders.values = Map{{":r", Value::number(9)}};
    OrderedQuery query;
    query.partition = Value("User#1");
    query.query.filter = filter;
    query.query.placeholders = scan.scan.placeholders;
    for (const auto& page : {world.wait(table->scan(scan)), world.wait(table->query(query))}) {
      ASSERT_FALSE(page) << filter;
      EXPECT_EQ(page.error().code, ErrorCode::kValidation);
      EXPECT_NE(page.error().message.find("Invalid FilterExpression: "), std::string::npos) << page.error().message;
      EXPECT_EQ(page.error().message.find(") AND"), std::string::npos) << page.error().message;
      EXPECT_EQ(page.error().message.find("freshet"), std::string::npos) << page.error().message;
    }
  }
}

TEST_P(GuardedTableTest, WrongCallsChangeNothingAndSayWhy) {
  open();
  put(rating(3), at(-100));
  const Item before = raw();
  Item with_deleted = rating(1);
  with_deleted.set("Deleted", Value::boolean(true));
  Item with_stamp = rating(1);
  with_stamp.set("Timestamp", Value::number(5));
  Item only_partition{{"PK", Value("User#1")}};
  Item wrong_key = key();
  wrong_key.set("SK", Value::number(1));
  const OrderedResult results[] = {put(with_deleted, at(0)),     put(with_stamp, at(0)),
                                   put(only_partition, at(0)),   put(wrong_key, at(0)),
                                   erase(at(0), only_partition), erase(at(0), rating(1)),
                                   erase(at(0), wrong_key),      put(rating(1), Value("soon")),
                                   put(rating(1), Value(Map{})), update(Map{{"Rating", Value::number(1)}}, at(0))};
  for (const auto& result : results) {
    EXPECT_EQ(result.code, Code::kInvalid) << result.detail;
    EXPECT_FALSE(result.detail.empty());
  }
  EXPECT_NE(results[0].detail.find("'Deleted'"), std::string::npos) << results[0].detail;
  EXPECT_NE(results[7].detail.find("'timestamp' of item {\"PK\":\"User#1\",\"SK\":\"Movie#A\"} is 'soon'"),
            std::string::npos)
      << results[7].detail;
  EXPECT_EQ(raw(), before);
}

TEST_P(GuardedTableTest, ItemsNotWrittenByUs) {
  open();
  put_raw(rating(2));  // No timestamp: it gives way, as the post's condition says.
  EXPECT_TRUE(put(rating(3), at(-100)).ok());
  Item odd = rating(4);
  odd.set("Timestamp", Value("yesterday"));
  put_raw(odd);
  const auto refused = put(rating(5), at(0));
  EXPECT_EQ(refused.code, Code::kForeignItem);
  EXPECT_NE(refused.detail.find("'Timestamp' is of type S"), std::string::npos) << refused.detail;
  EXPECT_EQ(erase(at(0)).code, Code::kForeignItem);
  EXPECT_EQ(raw(), odd);
  Item ahead = rating(4);
  ahead.set("Timestamp", Value::number(world.now_ms() + 86'400'000));
  put_raw(ahead);
  const auto locked = put(rating(5), at(0));
  EXPECT_EQ(locked.code, Code::kOlder);
  EXPECT_NE(locked.detail.find("whose clock is ahead"), std::string::npos) << locked.detail;
}

TEST_P(GuardedTableTest, StoreErrorsArePassedOn) {
  open();
  ASSERT_TRUE(world.wait(world.client().delete_table("Ratings")));
  const auto result = put(rating(1), at(0));
  EXPECT_EQ(result.code, Code::kStoreError);
  EXPECT_EQ(result.error, ErrorCode::kResourceNotFound);
  EXPECT_FALSE(world.wait(table->get({key()})));
}

class UpdateTest : public OrderedFixture {
 protected:
  void begin(Ties ties = Ties::kArrival) {
    Definition definition = ratings();
    definition.settings.update_attributes = {"Note", "Tags"};
    definition.settings.ties = ties;
    open(definition);
  }
  OrderedResult note(const std::string& text, std::optional<Value> timestamp) {
    return update(Map{{"Note", Value(text)}}, std::move(timestamp), {"Tags"});
  }
  std::string note() { return std::string(get().string_or("Note", "-")); }
};
INSTANTIATE_TEST_SUITE_P(Stores, UpdateTest,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

TEST_P(UpdateTest, OnlyTheDeclaredAttributesAllOfThem) {
  begin();
  put(rating(3), at(-1000));
  EXPECT_EQ(update(Map{{"Rating", Value::number(1)}}, at(0)).code, Code::kInvalid);
  const auto half = update(Map{{"Note", Value("x")}}, at(0));
  EXPECT_EQ(half.code, Code::kInvalid);
  EXPECT_NE(half.detail.find("'Tags'"), std::string::npos) << half.detail;
  EXPECT_EQ(update(Map{{"Note", Value("x")}, {"Tags", Value("y")}}, at(0), {"Tags"}).code, Code::kInvalid);
  EXPECT_EQ(update(Map{}, at(0), {"Note", "Tags", "Rating"}).code, Code::kInvalid);
  EXPECT_TRUE(update(Map{{"Note", Value("x")}, {"Tags", Value("y")}}, at(0)).ok());
  EXPECT_EQ(names_of(raw()), "Note PK Rating SK Tags Timestamp UpdateTimestamp");
}

TEST_P(UpdateTest, OlderUpdatesAreRefusedAndOtherAttributesStay) {
  begin();
  put(rating(3), at(-1000));
  EXPECT_TRUE(note("second", at(-500)).ok());
  EXPECT_EQ(note("first", at(-800)).code, Code::kOlder);
  EXPECT_EQ(note("before the put", at(-1500)).code, Code::kOlder);
  EXPECT_EQ(note(), "second");
  EXPECT_EQ(stars(), 3);
}

TEST_P(UpdateTest, APutOlderThanTheUpdateLeavesItIn) {
  begin();
  EXPECT_TRUE(note("early", at(-500)).ok());  // Makes the item, as UpdateItem does.
  EXPECT_EQ(note(), "early");
  Item item = rating(4);
  item.set("Note", Value("of the put"));
  item.set("Tags", Value("of the put"));
  EXPECT_TRUE(put(item, at(-1000)).ok());
  EXPECT_EQ(note(), "early");
  EXPECT_EQ(stars(), 4);
  EXPECT_FALSE(get().contains("Tags")) << "the update removed them";
  EXPECT_EQ(put(rating(1), at(-1100)).code, Code::kOlder);
  item.erase("Tags");
  EXPECT_TRUE(put(item, at(-400)).ok());
  EXPECT_EQ(note(), "of the put");
  EXPECT_FALSE(raw().contains("UpdateTimestamp"));
}

TEST_P(UpdateTest, DeletesAndUpdatesInAnyOrder) {
  begin();
  put(rating(3), at(-1000));
  erase(at(-500));
  EXPECT_EQ(note("old", at(-600)).code, Code::kOlder);
  EXPECT_TRUE(note("anew", at(-400)).ok());
  EXPECT_EQ(names_of(raw()), "Note PK SK Timestamp UpdateTimestamp");
  const Item one_way = raw();
  EXPECT_EQ(put(rating(2), at(-700)).code, Code::kOlder) << "the delete is remembered";

  Item other = key("other");  // The same writes in another order.
  auto late_update = world.wait(table->update({other, Map{{"Note", Value("anew")}}, {"Tags"}, at(-400)}));
  EXPECT_TRUE(late_update.ok());
  EXPECT_TRUE(erase(at(-500), other).ok());
  EXPECT_EQ(put(rating(3, "other"), at(-1000)).code, Code::kOlder);
  Item same = raw(other);
  same.set("SK", *one_way.find("SK"));
  same.set("Timestamp", *one_way.find("Timestamp"));
  EXPECT_EQ(names_of(same), names_of(one_way));
  EXPECT_TRUE(erase(at(-300), other).ok());
  EXPECT_EQ(names_of(raw(other)), "Deleted PK SK TTL Timestamp");
}

TEST_P(UpdateTest, EqualTimestampsByContent) {
  begin(Ties::kContent);
  const auto same = at(-100);
  note("a", same);
  note("b", same);
  const std::string winner = note();
  note(winner == "a" ? "b" : "a", same);
  EXPECT_EQ(note(), winner);
  EXPECT_TRUE(put(rating(3), same).ok());
  EXPECT_EQ(note(), winner) << "an update stands behind a put of its time";
  EXPECT_EQ(stars(), 3);
  EXPECT_TRUE(erase(same).ok());
  EXPECT_EQ(names_of(get()), "");
  EXPECT_EQ(note("c", same).code, Code::kOlder);
}

class OpenTest : public OrderedFixture {
 protected:
  void make(TableDefinition definition) {
    auto made = world.wait(world.client().create_table(std::move(definition)));
    ASSERT_TRUE(made) << made.error().message;
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, OpenTest,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

TEST_P(OpenTest, TablesThatAreThere) {
  TableDefinition plain{"Ratings", ratings().keys, {}, {}, {}, false, {}, false, {}};
  make(plain);
  EXPECT_EQ(why_not(ratings()), "");
  EXPECT_EQ(world.wait(world.store->describe_table("Ratings"))->definition.ttl_attribute, "TTL");
  Definition other_ttl = ratings();
  other_ttl.settings.names.ttl = "expires";
  EXPECT_NE(why_not(other_ttl).find("'TTL'"), std::string::npos) << why_not(other_ttl);
  Definition on_a_key = ratings();
  on_a_key.settings.names.timestamp = "SK";
  EXPECT_NE(why_not(on_a_key).find("is a key"), std::string::npos);
}

TEST_P(OpenTest, IndexesThatWouldShowTombstones) {
  TableDefinition definition{"Ratings", ratings().keys, {}, {}, {}, false, {}, false, {}};
  const KeySchema by_movie{{"SK", Type::kString}, KeyAttribute{"PK", Type::kString}};
  definition.indexes.push_back({"by-movie", by_movie, false, Projection::kKeysOnly, {}});
  make(definition);
  EXPECT_NE(why_not(ratings()).find("'by-movie' would show tombstones"), std::string::npos) << why_not(ratings());
  definition.name = "WithDeleted";
  definition.indexes[0].projection = Projection::kInclude;
  definition.indexes[0].included = {"Deleted"};
  make(definition);
  Definition with_deleted = ratings();
  with_deleted.settings.table = "WithDeleted";
  EXPECT_EQ(why_not(with_deleted), "");
}

}  // namespace
}  // namespace freshet::ordered
