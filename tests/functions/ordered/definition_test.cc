// Definitions of ordered writes.
#include "functions/ordered/definition.h"

#include <gtest/gtest.h>

#include "base/text_file.h"
#include "tests/sim/source_dir.h"

namespace freshet::ordered {
namespace {

std::string why(std::string_view json) {
  const auto read = read_definitions(json);
  return read ? "" : read.error().message;
}

TEST(OrderedDefinition, TheShippedExamples) {
  const std::string root = source_dir();
  const auto text = read_text_file(root + "/config/ordered-writes.json");
  ASSERT_TRUE(text);
  const auto read = read_definitions(*text);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(read->front().settings.names.timestamp, "Timestamp");
  EXPECT_EQ(read->front().settings.retention, milliseconds(7LL * 86'400'000));
  EXPECT_EQ(read->back().settings.update_attributes, std::vector<std::string>{"label"});
  const auto fixture = read_text_file(root + "/streams/fixtures/ordered-ratings.json");
  ASSERT_TRUE(fixture);
  EXPECT_EQ(why(*fixture), "");
}

TEST(OrderedDefinition, EverySetting) {
  const auto read = read_definitions(R"({"name": "n", "table": "Table", "partition_key": {"name": "p", "type": "N"},
    "sort_key": {"name": "s", "type": "B"}, "attributes": {"timestamp": "t", "deleted": "d", "ttl": "e",
    "update_timestamp": "u", "tie": "i", "update_tie": "j"}, "unit": "token", "token_type": "S", "timestamp_path": "a.b",
    "max_skew_ms": 5, "tombstone_retention_ms": 6000, "update_attributes": ["x", "y"], "ties": "content",
    "old_timestamps": "accept"})");
  ASSERT_TRUE(read) << read.error().message;
  const Settings& s = read->front().settings;
  EXPECT_EQ(s.names.timestamp + s.names.deleted + s.names.ttl + s.names.update_timestamp + s.names.tie +
                s.names.update_tie + s.timestamp_path,
            "tdeuija.b");
  EXPECT_EQ(s.unit, Unit::kToken);
  EXPECT_EQ(s.token_type, Type::kString);
  EXPECT_EQ(s.max_skew, milliseconds(5));
  EXPECT_EQ(s.retention, milliseconds(6000));
  EXPECT_EQ(s.ties, Ties::kContent);
  EXPECT_EQ(s.old, Old::kAccept);
  EXPECT_EQ(s.update_attributes.size(), 2u);
  EXPECT_EQ(read->front().keys.sort->type, Type::kBinary);
}

TEST(OrderedDefinition, WrongOnesSayWhat) {
  EXPECT_NE(why("{").find("JSON"), std::string::npos) << why("{");
  EXPECT_NE(why("[]").find("object"), std::string::npos) << why("[]");
  EXPECT_NE(why(R"({"ordered_writes": []})").find("at least one"), std::string::npos);
  EXPECT_EQ(why(R"({"ordered_writes": [{"table": "Table"}], "unit": "seconds"})"),
            "'unit' is not known; there is ordered_writes");
  EXPECT_NE(why(R"({"name": "n"})").find("'table'"), std::string::npos);
  const auto with = [](const std::string& member) { return why(R"({"table": "Table", )" + member + "}"); };
  EXPECT_EQ(with(R"("colour": 1)"),
            "'colour' is not known; there are name, table, partition_key, sort_key, attributes, unit, token_type, "
            "timestamp_path, max_skew_ms, tombstone_retention_ms, update_attributes, ties, old_timestamps");
  EXPECT_NE(with(R"("unit": "days")").find("seconds, milliseconds"), std::string::npos);
  EXPECT_NE(with(R"("ties": "coin")").find("arrival or content"), std::string::npos);
  EXPECT_NE(with(R"("token_type": "S")").find("unit token"), std::string::npos);
  EXPECT_NE(with(R"("max_skew_ms": -1)").find("'max_skew_ms'"), std::string::npos);
  EXPECT_NE(with(R"("tombstone_retention_ms": 10)").find("from 1000"), std::string::npos);
  EXPECT_NE(with(R"("update_attributes": ["Timestamp"])").find("stands for two"), std::string::npos);
  EXPECT_NE(with(R"("update_attributes": "Note")").find("array"), std::string::npos);
  EXPECT_NE(with(R"("attributes": {"ttl": "Deleted"})").find("stands for two"), std::string::npos);
  EXPECT_NE(with(R"("attributes": {"ttl": ""})").find("must not be empty"), std::string::npos);
  EXPECT_NE(with(R"("partition_key": {"name": "p", "type": "X"})").find("S, N or B"), std::string::npos);
  EXPECT_NE(why(R"({"table": "freshet.x"})").find("Freshet's own"), std::string::npos);
}

}  // namespace
}  // namespace freshet::ordered
