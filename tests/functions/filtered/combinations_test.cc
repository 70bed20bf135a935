// Which queues a definition has, and who belongs into which; and the definitions that are refused, with why.
#include "functions/filtered/policy/combinations.h"
#include "base/text_file.h"
#include "functions/filtered/definition.h"
#include "tests/functions/filtered/filtered_world.h"
#include "tests/sim/source_dir.h"

namespace freshet::filtered {
namespace {

std::string keys(const Combinations& combinations, const QueueSet& queues) {
  std::string out;
  for (const size_t queue : queues) out += (out.empty() ? "" : " ") + combinations.key(queue);
  return out;
}

std::string refusal(const std::string& json) {
  const auto read = read_definitions(json);
  return read ? "none" : read.error().message;
}

// A definition with one set-valued attribute of that many values.
std::string wide(int values, const std::string& more = "", const std::string& beside = "") {
  std::string list;
  for (int i = 0; i < values; ++i) list += (list.empty() ? "\"v" : ", \"v") + std::to_string(i) + "\"";
  return R"({"name": "W", "table": "T", "attributes": [{"name": "A", "set": true, "values": [)" + list + "]" + more +
         "}" + beside + "]}";
}

TEST(CombinationsTest, NothingIsIgnoredBesideTheQueues) {
  EXPECT_EQ(refusal(R"({"queues": [)" + wide(2) + R"(], "keys": "bitmask"})"), "'keys' is not known; there is queues");
}

TEST(CombinationsTest, AMemberIsInOneQueueForEachOfItsCombinations) {
  const auto made = Combinations::make(call_centre());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->size(), 9u);
  const auto item = ItemRef::encode(
      Item{{"Gender", Value("M")}, {"Languages", Value(StringSet{{"English", "Spanish"}})}, {"x", Value("y")}});
  EXPECT_EQ(keys(*made, *made->of_item(item, "it")), "Q#English#M Q#Spanish#M");
  EXPECT_EQ(made->waiting_key(*made->find("Q#Spanish#M")), "R#Spanish#M");
  EXPECT_EQ(made->values_of(*made->find("Q#Spanish#T")), (std::vector<std::string>{"Spanish", "T"}));
  EXPECT_FALSE(made->find("Q#Spanish#X"));
}

TEST(CombinationsTest, ARequestNamesValuesOrAnyInOrderOfPreference) {
  const auto made = Combinations::make(call_centre());
  const auto of = [&](const Match& match) {
    const auto alternatives = made->of_match(match);
    if (!alternatives) return alternatives.error().message;
    std::string out;
    for (const auto& one : *alternatives) out += (out.empty() ? "" : " | ") + keys(*made, one);
    return out;
  };
  EXPECT_EQ(of({{"", {{"Languages", {"Spanish"}}, {"Gender", {"F"}}}},
                {"", {{"Languages", {"English"}}, {"Gender", {"F"}}}}}),
            "Q#Spanish#F | Q#English#F");
  EXPECT_EQ(of({{"", {{"Languages", {"Spanish", "French"}}, {"Gender", {"M"}}}}}), "Q#Spanish#M Q#French#M");
  EXPECT_EQ(of({{"", {{"Gender", {"T"}}}}}), "Q#English#T Q#French#T Q#Spanish#T");
  EXPECT_EQ(of({{"Q#French#M", {}}}), "Q#French#M");
  EXPECT_EQ(made->of_match({})->front().size(), 9u) << "any";
  EXPECT_EQ(of({{"Q#German#M", {}}}), "there is no queue 'Q#German#M'; stats lists them");
  EXPECT_EQ(of({{"", {{"Language", {"Spanish"}}}}}),
            "'Language' is no attribute of this queue; there are Languages, Gender");
  EXPECT_EQ(of({{"", {{"Gender", {"X"}}}}}), "'X' is no value of 'Gender'; there are F, M, T");
  EXPECT_EQ(of({{"", {{"Gender", {}}}}}), "'Gender' has no value: leave it out if any will do");
  EXPECT_EQ(of(Match(101)), "a request has at most 100 alternatives");
}

// However often a request names a queue, it is looked at once; and what it names it may not name without bound.
TEST(CombinationsTest, ARequestCannotAskForMoreWorkThanItsQueues) {
  const auto settings = read_definitions(wide(3000, R"(, "max_values": 3)"));
  ASSERT_TRUE(settings) << settings.error().message;
  const auto made = Combinations::make(settings->front());
  ASSERT_TRUE(made);
  const auto refused = [&](const Match& match) {
    const auto alternatives = made->of_match(match);
    return alternatives ? "accepted" : alternatives.error().message;
  };
  EXPECT_EQ(refused({{"", {{"A", std::vector<std::string>(50, "v1")}}}}), "'A' has 50 values; 49 is the most");
  EXPECT_EQ(refused({{"", {{"A", {"v1"}}, {"A", {"v2"}}}}}), "'A' stands twice in one alternative");
  EXPECT_EQ(refused({{std::string(1'000'000, 'q'), {}}}),
            "there is no queue '" + std::string(100, 'q') + "...'; stats lists them");
  EXPECT_EQ(refused({{"", {{std::string(1'000'000, 'n'), {"v1"}}}}}),
            "'" + std::string(100, 'n') + "...' is no attribute of this queue; there is A");
  EXPECT_EQ(refused({{"", {{"A", {"none"}}}}}),
            "'none' is no value of 'A'; there are v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, "
            "v15, v16, v17, v18, v19, ... (3000 in all)");
  std::vector<std::string> some;
  for (int i = 0; i < 49; ++i) some.push_back("v" + std::to_string(i));
  const auto once = made->of_match(Match(100, {"", {{"A", some}}}));
  ASSERT_TRUE(once) << once.error().message;
  EXPECT_EQ(*once, Alternatives(1, once->front()));
  EXPECT_EQ(*made->of_match({{"Q#v2", {}}, {"", {{"A", {"v1", "v2"}}}}}), (Alternatives{{2}, {1}}));
}

TEST(CombinationsTest, MasksHaveABitForEachValue) {
  Settings settings = call_centre();
  settings.keys = Keys::kBitmask;
  const auto made = Combinations::make(settings);
  ASSERT_TRUE(made) << made.error().message;
  // English 1, French 2, Spanish 4, F 8, M 16, T 32.
  EXPECT_EQ(keys(*made, made->of_match({{"", {{"Languages", {"Spanish"}}, {"Gender", {"F"}}}}})->front()), "Q#12");
  EXPECT_EQ(made->waiting_key(*made->find("Q#33")), "R#33");
}

TEST(CombinationsTest, WhatATransactionCannotHoldIsRefusedWithTheArithmetic) {
  EXPECT_EQ(refusal(wide(49)), "none");
  EXPECT_EQ(refusal(wide(50)),
            "queue 'W': a member may be in 50 = 50 queues (A), so taking it out of them needs 2 x 50 + 1 = 101 actions "
            "(and 1 for the request); a transaction has at most 100, which is 49 queues: use fewer values, or "
            "'max_values'");
  EXPECT_EQ(refusal(wide(50, R"(, "max_values": 49)")), "none");
  const std::string two = R"(, {"name": "B", "set": true, "values": ["x", "y", "z"], "max_values": 2})";
  EXPECT_EQ(refusal(wide(24, "", two)), "none");
  EXPECT_NE(
      refusal(wide(25, "", two)).find("in 25 x 2 = 50 queues (A x B), so taking it out of them needs 2 x 50 + 1 = 101"),
      std::string::npos);
  EXPECT_NE(refusal(wide(49, "", R"(, {"name": "B", "values": ["1", "2"]})")).find("none"), std::string::npos);
  std::string many = wide(49, "", "");
  EXPECT_NE(refusal(wide(5000, R"(, "max_values": 3)", two)).find("5000 x 3 = 15000 queues; there may be 10000"),
            std::string::npos);
}

TEST(CombinationsTest, ARequestThatAcceptsTooManyIsRefusedWithTheArithmetic) {
  const auto settings = read_definitions(wide(60, R"(, "max_values": 3)"));
  ASSERT_TRUE(settings) << settings.error().message;
  const auto made = Combinations::make(settings->front());
  EXPECT_EQ(made->of_match({}).error().message,
            "an alternative accepts 60 = 60 queues; 49 is the most: name more values");
  Match match;
  for (int i = 0; i < 50; ++i) match.push_back({"Q#v" + std::to_string(i), {}});
  EXPECT_EQ(
      made->of_match(match).error().message,
      "the request accepts 50 queues, so waiting in them needs 2 x 50 + 1 = 101 actions (and 1 for the member); a "
      "transaction has at most 100, which is 49 queues");
  match.pop_back();
  EXPECT_TRUE(made->of_match(match));
}

TEST(CombinationsTest, KeysMustTellQueuesApart) {
  const std::string confusing =
      R"({"table": "T", "attributes": [{"name": "A", "values": ["a#b", "a"]}, {"name": "B", "values": ["c", "b#c"]}])";
  EXPECT_EQ(refusal(confusing + "}"),
            "queue 'T': two combinations have the key 'Q#a#b#c': values with '#' in them can be confused; change them, "
            "or use bitmask keys");
  EXPECT_EQ(refusal(confusing + R"(, "keys": "bitmask"})"), "none");
  EXPECT_EQ(refusal(R"({"table": "T", "layout": {"members": "Q#a"}, "attributes": [{"name": "A", "values": ["a"]}]})"),
            "queue 'T': the key 'Q#a' of a queue is also that of a partition of 'layout'");
  EXPECT_EQ(
      refusal(R"({"table": "T", "attributes": [{"name": "A", "values": [")" + std::string(1100, 'x') + R"("]}]})"),
      "queue 'T': the key 'Q#" + std::string(58, 'x') + "...' is longer than 1024 bytes");
}

TEST(CombinationsTest, WrongDefinitionsNameTheMember) {
  const std::string a = R"("attributes": [{"name": "A", "values": ["a"]}])";
  EXPECT_EQ(refusal("{" + a + "}"), "'name' of the queue must not be empty");
  EXPECT_EQ(refusal(R"({"name": "N", )" + a + "}"), "queue 'N': 'table' must not be empty");
  EXPECT_EQ(refusal(R"({"table": "freshet.x", )" + a + "}"),
            "queue 'freshet.x': table 'freshet.x': names that start with 'freshet.' are Freshet's own");
  EXPECT_EQ(refusal(R"({"table": "T"})"), "queue 'T': 'attributes' must name at least one");
  EXPECT_EQ(refusal(R"({"table": "T", "attributes": [{"name": "A", "values": []}]})"),
            "queue 'T': 'attributes': 'A' has no values: list those that members may have");
  EXPECT_EQ(refusal(R"({"table": "T", "attributes": [{"name": "A", "values": ["x", "x"]}]})"),
            "queue 'T': 'attributes': 'A' has the value 'x' twice");
  EXPECT_EQ(refusal(R"({"table": "T", "attributes": [{"name": "A", "values": [1]}]})"),
            "'attributes[0].values[0]' must be a text in quotes, not a number");
  EXPECT_EQ(refusal(R"({"table": "T", "attributes": [{"name": "AgentStatus", "values": ["a"]}]})"),
            "queue 'T': 'names.status' and 'attributes[0].name' are both 'AgentStatus': they must differ");
  EXPECT_EQ(refusal(R"({"table": "T", "attributes": [{"name": "A", "values": ["a"], "max_values": 2}]})"),
            "queue 'T': 'attributes': 'A' has 1 values, so 'max_values' cannot be 2");
  EXPECT_EQ(refusal(R"({"table": "T", "keys": "hash", )" + a + "}"), "'keys' must be text or bitmask");
  EXPECT_EQ(refusal(R"({"table": "T", "retry": {"attempts": 0}, )" + a + "}"),
            "'retry.attempts' must be from 1 to 1000");
  EXPECT_EQ(refusal(R"({"table": "T", "states": {"queued": "available"}, )" + a + "}"),
            "queue 'T': 'states.available' and 'states.queued' are both 'available': they must differ");
  EXPECT_EQ(refusal(R"({"table": "T", "colour": 1, )" + a + "}").substr(0, 21), "'colour' is not known");
  EXPECT_EQ(refusal(R"({"queues": []})"), "'queues' must be an array with at least one element");
  EXPECT_EQ(refusal("[]").substr(0, 17), "the body must be ");
}

TEST(CombinationsTest, TheShippedDefinitionIsTheCallCentre) {
  const auto text = read_text_file(source_dir() + "/config/filtered-queue.json");
  ASSERT_TRUE(text);
  const auto read = read_definitions(*text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(Combinations::make(read->front())->size(), 9u);
  EXPECT_EQ(read->front().table, "AgentQueueFIFO");
  EXPECT_EQ(read->front().layout.members, "Agents");
}

}  // namespace
}  // namespace freshet::filtered
