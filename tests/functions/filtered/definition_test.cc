// Definitions of filtered queues.
#include "functions/filtered/definition.h"

#include <gtest/gtest.h>

namespace freshet::filtered {
namespace {

std::string why(std::string_view json) {
  const auto read = read_definitions(json);
  return read ? "" : read.error().message;
}

TEST(FilteredDefinition, EverySetting) {
  const auto read = read_definitions(R"({"name": "n", "table": "T", "members_table": "M", "queues_table": "Q",
    "attributes": [{"name": "Language", "values": ["a", "b"]},
                   {"name": "Skill", "set": true, "values": ["c", "d"], "max_values": 1}],
    "copied": ["x"], "keys": "bitmask", "newest_first": true,
    "names": {"partition": "1", "sort": "2", "id": "3", "status": "4", "version": "5", "depth": "6", "queued_at": "7",
              "assignment": "8", "request": "9", "request_version": "10", "request_depth": "11"},
    "layout": {"members": "m", "member_prefix": "m#", "queues": "q", "queue_prefix": "q#", "requests": "r",
               "request_prefix": "r#", "waiting_prefix": "w#"},
    "states": {"available": "i", "queued": "j", "assigned": "k"},
    "retry": {"attempts": 3, "base_ms": 4, "max_ms": 5}, "matching_ms": 6})");
  ASSERT_TRUE(read) << read.error().message;
  const Settings& s = read->front();
  EXPECT_EQ(s.name + s.table + s.members_table + s.queues_table, "nTMQ");
  ASSERT_EQ(s.attributes.size(), 2u);
  EXPECT_EQ(s.attributes[0].name, "Language");
  EXPECT_FALSE(s.attributes[0].set);
  EXPECT_TRUE(s.attributes[1].set);
  EXPECT_EQ(s.attributes[1].values, (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(s.attributes[1].max_values, 1u);
  EXPECT_EQ(s.copied, std::vector<std::string>{"x"});
  EXPECT_EQ(s.keys, Keys::kBitmask);
  EXPECT_TRUE(s.newest_first);
  const Names& n = s.names;
  EXPECT_EQ(n.partition + n.sort + n.id + n.status + n.version + n.depth + n.queued_at + n.assignment + n.request +
                n.request_version + n.request_depth,
            "1234567891011");
  const Layout& l = s.layout;
  EXPECT_EQ(l.members + l.member_prefix + l.queues + l.queue_prefix + l.requests + l.request_prefix + l.waiting_prefix,
            "mm#qq#rr#w#");
  EXPECT_EQ(s.states.available + s.states.queued + s.states.assigned, "ijk");
  EXPECT_EQ(s.retry.attempts, 3);
  EXPECT_EQ(s.retry.backoff.base, milliseconds(4));
  EXPECT_EQ(s.retry.backoff.max, milliseconds(5));
  EXPECT_EQ(s.matching, milliseconds(6));
}

TEST(FilteredDefinition, AnUnknownWordIsNamedWithAllThatThereAre) {
  EXPECT_EQ(why(R"({"colour": 1})"),
            "'colour' is not known; there are name, table, members_table, queues_table, attributes, copied, keys, "
            "newest_first, names, layout, states, retry, matching_ms");
  EXPECT_EQ(why(R"({"attributes": [{"colour": 1}]})"),
            "'attributes[0].colour' is not known; there are name, set, values, max_values");
  EXPECT_EQ(why(R"({"retry": {"colour": 1}})"), "'retry.colour' is not known; there are attempts, base_ms, max_ms");
}

}  // namespace
}  // namespace freshet::filtered
