// The fixture that ships, in the order of its lines and in random interleavings. To accept changed output on purpose,
// run with FRESHET_ACCEPT=1 and read the difference.
#include "functions/ordered/replay.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/text_file.h"
#include "functions/ordered/definition.h"
#include "runtime/replay/replay.h"
#include "tests/sim/source_dir.h"

namespace freshet::ordered {
namespace {

const std::string kFixtures = source_dir() + "/streams/fixtures/ordered-ratings";

class OrderedReplay : public ::testing::Test {
 protected:
  OrderedReplay() {
    fixture = *read_fixture(*read_text_file(kFixtures + ".jsonl"), "ordered-ratings");
    settings = read_definitions(*read_text_file(kFixtures + ".json"))->front().settings;
  }
  Fixture fixture;
  Settings settings;
  ReplayOptions options;
};

TEST_F(OrderedReplay, TheShippedFixtureDoesWhatIsExpected) {
  const auto out = replay(fixture, settings, options);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_FALSE(out->difference) << *out->difference;
  const std::string path = kFixtures + ".expected.jsonl";
  if (std::getenv("FRESHET_ACCEPT")) std::ofstream(path, std::ios::binary) << out->lines;
  const auto expected = read_text_file(path);
  ASSERT_TRUE(expected) << expected.error().message;
  const auto difference = first_difference(*expected, out->lines);
  EXPECT_FALSE(difference) << difference->to_string();
  const auto again = replay(fixture, settings, options);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->lines, out->lines) << "not deterministic";
}

TEST_F(OrderedReplay, UpdatesAndTiesToo) {
  settings.update_attributes = {"Rating"};
  settings.ties = Ties::kContent;
  // As the stream of such a table tells of an update.
  Fixture updates = fixture;
  for (size_t i = 0; i < updates.records.size(); i += 3) {
    Item image = updates.records[i].after.decode();
    if (image.contains("Deleted")) continue;
    image.set("UpdateTimestamp", Value::number(image.int_or("Timestamp", 0) + 50));
    updates.records[i].after = ItemRef::encode(image);
  }
  options.interleavings = 200;
  const auto out = replay(updates, settings, options);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_FALSE(out->difference) << *out->difference;
}

TEST_F(OrderedReplay, WhereOldWritesAreCarriedOutTheEndsAreTheSame) {
  settings.old = Old::kAccept;
  settings.retention = seconds(7 * 86'400);  // As in the shipped definition: no line comes when tombstones have gone.
  const auto out = replay(fixture, settings, options);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_FALSE(out->difference) << *out->difference;
}

// An import keeps the tombstone of an old delete longer than one whose writes came at their time.
TEST_F(OrderedReplay, AnImportOfADeletedItemHasTheSameEnd) {
  settings.old = Old::kAccept;
  Fixture import = fixture;
  import.snapshot.clear();
  import.records.resize(2);
  const int64_t long_ago = epoch_ms(import.header.start - 3 * settings.retention);
  Item image{{"PK", Value("User#9")}, {"SK", Value("Movie#M")}, {"Timestamp", Value::number(long_ago)}};
  import.records[0].after = ItemRef::encode(image);
  image.set("Timestamp", Value::number(long_ago + 1));
  image.set("Deleted", Value::boolean(true));
  import.records[1].after = ItemRef::encode(image);
  for (auto& record : import.records) {
    record.kind = ChangeRecord::Kind::kModify;
    record.before = {};
    record.keys = Item{{"PK", Value("User#9")}, {"SK", Value("Movie#M")}};
    record.at = import.header.start + seconds(1);
  }
  const auto out = replay(import, settings, options);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_FALSE(out->difference) << *out->difference;
}

TEST_F(OrderedReplay, FaultsAreTold) {
  Fixture wrong = fixture;
  Item image = wrong.records[0].after.decode();
  image.set("Rating", Value::number(1));
  wrong.records.push_back(wrong.records[0]);
  wrong.records.back().after = ItemRef::encode(image);
  auto out = replay(wrong, settings, options);
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().message.find("equal timestamps"), std::string::npos) << out.error().message;
  image.set("Timestamp", Value("soon"));
  wrong.records.back().after = ItemRef::encode(image);
  out = replay(wrong, settings, options);
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().message.find("record 21: 'timestamp'"), std::string::npos) << out.error().message;
  // In nanoseconds; at no time at all; and what arrives a century later. The clock would go on for years.
  image.set("Timestamp", Value::number(1'767'258'000'000'000'000));
  wrong.records.back().after = ItemRef::encode(image);
  out = replay(wrong, settings, options);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message.find("record 21: its timestamp is more than two years from the fixture's start: "), 0u)
      << out.error().message;
  EXPECT_NE(out.error().message.find("it looks like nanoseconds"), std::string::npos) << out.error().message;
  image.set("Timestamp", Value::number(0));
  wrong.records.back().after = ItemRef::encode(image);
  EXPECT_FALSE(replay(wrong, settings, options));
  wrong.records.back() = fixture.records[0];
  wrong.records.back().at += std::chrono::hours(24 * 365 * 100);
  out = replay(wrong, settings, options);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message,
            "record 21: its ApproximateCreationDateTime is more than two years from the fixture's start");
  wrong.records.clear();
  EXPECT_FALSE(replay(wrong, settings, options));
}

}  // namespace
}  // namespace freshet::ordered
