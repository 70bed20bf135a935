#include <gtest/gtest.h>

#include "tests/tables/partiql/support.h"

namespace freshet {
namespace {

using partiql_test::planned;
using partiql_test::written;

constexpr const char* kTooMany = "! Too many decomposed read operations for a given query.";

std::string translated_where(const std::string& condition) {
  return planned("SELECT * FROM t WHERE " + condition);
}

std::string numbers(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i == 0 ? "" : ",") + std::to_string(i);
  return out;
}

std::string strings(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i == 0 ? "'v" : ",'v") + std::to_string(i) + "'";
  return out;
}

TEST(PartiqlPlanTest, ReadsByKeyWhereItCan) {
  EXPECT_EQ(planned("SELECT * FROM t"), "scan");
  EXPECT_EQ(translated_where("a = 1"), "scan | a=1");
  EXPECT_EQ(translated_where("p > 'a'"), "scan | p>\"a\"");
  EXPECT_EQ(translated_where("p = 'a' OR b = 1"), "scan | p=\"a\" OR b=1");
  EXPECT_EQ(translated_where("p = q"), "scan | p=q");
  EXPECT_EQ(translated_where("p = 'a'"), "p=\"a\"");
  EXPECT_EQ(translated_where("'a' = p AND 5 >= s"), "p=\"a\" AND s<=5");
  EXPECT_EQ(translated_where("b = 1 AND p = 'a' AND (c = 2 OR d = 3)"), "p=\"a\" | b=1 AND (c=2 OR d=3)");
  EXPECT_EQ(translated_where("(p = 'a' AND s = 1) AND b = 2"), "p=\"a\" AND s=1 | b=2");
  EXPECT_EQ(translated_where("p = 'a' AND s BETWEEN 1 AND 2"), "p=\"a\" AND s BETWEEN 1 AND 2");
  EXPECT_EQ(translated_where("p = 'a' AND s > 1 AND s <= 5"), "p=\"a\" AND s BETWEEN 1 AND 5 | s>1");
  EXPECT_EQ(translated_where("p = 'a' AND s > 5 AND s < 1"), "p=\"a\" AND s>5 | s<1");
  EXPECT_EQ(translated_where("p = 'a' AND s > 0 AND s = 1"), "p=\"a\" AND s=1 | s>0");
  EXPECT_EQ(translated_where("p = 'a' AND s <> 1"), "p=\"a\" | s<>1");
  EXPECT_EQ(translated_where("p = 'a' AND NOT s = 1"), "p=\"a\" | NOT s=1");
  EXPECT_EQ(translated_where("p = 'a' AND p = 'a' AND s = 1"), "p=\"a\" AND s=1");
  EXPECT_EQ(translated_where("p = 'a' AND p = 'b'"), "p=\"a\" | p=\"b\"");
}

TEST(PartiqlPlanTest, TakesAlternativesApart) {
  EXPECT_EQ(translated_where("p IN ['b', 'a'] AND c = 1"), "p=\"a\" | c=1; p=\"b\" | c=1");
  EXPECT_EQ(translated_where("p = 'b' OR p = 'a'"), "p=\"a\"; p=\"b\"");
  EXPECT_EQ(translated_where("(p = 'b' AND s = 1) OR (p = 'a' AND c = 2)"), "p=\"a\" | c=2; p=\"b\" AND s=1");
  EXPECT_EQ(translated_where("p = 'a' AND s IN [2, 1]"), "p=\"a\" AND s=1; p=\"a\" AND s=2");
  EXPECT_EQ(translated_where("p = 'a' AND (s = 2 OR s = 1 AND c = 1)"), "p=\"a\" AND s=1 | c=1; p=\"a\" AND s=2");
  EXPECT_EQ(translated_where("p = 'a' AND (s < 1 OR s > 1 OR s = 1)"),
            "p=\"a\" AND s<1; p=\"a\" AND s=1; p=\"a\" AND s>1");
  EXPECT_EQ(translated_where("p = 'a' AND NOT s = 1 OR p = 'a' AND s = 2"),
            "p=\"a\" | p=\"a\" AND NOT s=1 OR p=\"a\" AND s=2");
  EXPECT_EQ(translated_where("p = 'a' OR p = 'a' AND s <> 1"), "p=\"a\" | p=\"a\" OR p=\"a\" AND s<>1");
}

// The service refuses these.
TEST(PartiqlPlanTest, ReadsOverlappingAlternativesOfAPartitionAsOne) {
  EXPECT_EQ(translated_where("p='a' AND (s > 0 OR s < 5)"), "p=\"a\" | p=\"a\" AND (s>0 OR s<5)");
  EXPECT_EQ(translated_where("p='a' AND (s = 1 OR c = 2)"), "p=\"a\" | p=\"a\" AND (s=1 OR c=2)");
  EXPECT_EQ(translated_where("p='a' OR p='a'"), "p=\"a\" | p=\"a\" OR p=\"a\"");
  EXPECT_EQ(translated_where("p='a' AND c=1 OR p='a' AND c=2"), "p=\"a\" | p=\"a\" AND c=1 OR p=\"a\" AND c=2");
  EXPECT_EQ(translated_where("p='b' AND s=1 OR p='a' AND c<>1 OR p='a' AND s=2"),
            "p=\"a\" | p=\"b\" AND s=1 OR p=\"a\" AND c<>1 OR p=\"a\" AND s=2; p=\"b\" AND s=1");
  EXPECT_EQ(translated_where("p='a' AND (s='x' OR s < 5)"),
            "! Key attribute's data type should match its data type in table's schema: Key s");
}

TEST(PartiqlPlanTest, ReadsAValueThatIsNamedTwiceOnce) {
  EXPECT_EQ(translated_where("p IN ['a','b','a']"), "p=\"a\"; p=\"b\"");
  EXPECT_EQ(translated_where("p = 'a' AND s IN [5, 5.0, 50e-1]"), "p=\"a\" AND s=5");
  EXPECT_EQ(translated_where("p = 'a' AND s IN [" + numbers(50) + ", 7.0]").substr(0, 1), "p");
}

TEST(PartiqlPlanTest, RefusesTooMany) {
  EXPECT_EQ(translated_where("p IN [" + strings(51) + "]"), kTooMany);
  EXPECT_EQ(translated_where("p = 'a' AND s IN [" + numbers(51) + "]"), kTooMany);
  EXPECT_EQ(translated_where("p IN [" + strings(26) + "] AND s IN [1, 2]"), kTooMany);
  EXPECT_EQ(translated_where("p IN [" + strings(51) + "] OR c = 1").substr(0, 4), "scan");
  EXPECT_EQ(translated_where("p = 'a' AND c IN [" + numbers(101) + "]"),
            "! The IN operator is provided with too many operands; number of operands: 101");
  EXPECT_EQ(translated_where("p = 1"),
            "! Key attribute's data type should match its data type in table's schema: Key p");
  EXPECT_EQ(translated_where("p = 'a' AND s IN [1, 'x']"),
            "! Key attribute's data type should match its data type in table's schema: Key s");
  EXPECT_EQ(translated_where("p > 1"), "scan | p>1");
}

TEST(PartiqlPlanTest, ReadsInOrder) {
  const std::string two = "SELECT * FROM t WHERE p IN ['a','b'] AND s IN [1,2]";
  EXPECT_EQ(planned(two), "p=\"a\" AND s=1; p=\"a\" AND s=2; p=\"b\" AND s=1; p=\"b\" AND s=2");
  EXPECT_EQ(planned(two + " ORDER BY p DESC, s"), "p=\"b\" AND s=1; p=\"b\" AND s=2; p=\"a\" AND s=1; p=\"a\" AND s=2");
  EXPECT_EQ(planned(two + " ORDER BY p"), "p=\"a\" AND s=2; p=\"a\" AND s=1; p=\"b\" AND s=2; p=\"b\" AND s=1 falling");
  EXPECT_EQ(planned(two + " ORDER BY p DESC, s DESC"),
            "p=\"b\" AND s=2; p=\"b\" AND s=1; p=\"a\" AND s=2; p=\"a\" AND s=1 falling");
  EXPECT_EQ(planned("SELECT * FROM t WHERE p = 'a' ORDER BY s DESC"), "p=\"a\" falling");
  EXPECT_EQ(planned("SELECT * FROM t ORDER BY s"),
            "! Must have WHERE clause in the statement when using ORDER BY clause.");
  EXPECT_EQ(planned("SELECT * FROM t WHERE p = 'a' ORDER BY c"),
            "! Attribute c in ORDER BY clause must be part of the primary key");
  EXPECT_EQ(planned("SELECT * FROM t WHERE p > 'a' ORDER BY s"),
            "! Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.");
  EXPECT_EQ(planned("SELECT * FROM t WHERE p IN ['a','b'] ORDER BY s"),
            "! Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.");
}

TEST(PartiqlPlanTest, KnowsWhatIndexesHold) {
  EXPECT_EQ(planned("SELECT * FROM t.g WHERE q = 'x' AND more = 1"), "q=\"x\" | more=1");
  EXPECT_EQ(planned("SELECT * FROM t.l WHERE p = 'x' AND r > 'y'"), "p=\"x\" AND r>\"y\"");
  EXPECT_EQ(planned("SELECT * FROM t.g WHERE p = 'x' AND other = 1"), "scan | p=\"x\" AND other=1");
  constexpr const char* kStart = "! One or more parameter values were invalid: ";
  EXPECT_EQ(planned("SELECT p FROM t.g WHERE q = 'x' AND (b = 1 OR a = 2)"),
            kStart + std::string("Secondary index g does not project one or more filter attributes: [b, a]"));
  EXPECT_EQ(planned("SELECT p FROM t.l WHERE p = 'x' AND b = 1"),
            kStart + std::string("Secondary index l does not project one or more filter attributes: [b]"));
  EXPECT_EQ(planned("SELECT b, p, a.x FROM t.g"),
            kStart + std::string("Global secondary index g does not project [b, a]"));
  EXPECT_EQ(planned("SELECT b FROM t.l WHERE p = 'x'"), "p=\"x\"");
  EXPECT_EQ(planned("SELECT * FROM t.none"), "! The table does not have the specified index");
  EXPECT_EQ(planned("SELECT * FROM t.g", true),
            "! Strongly consistent read is not supported on Global Secondary Indexes");
}

TEST(PartiqlWriteTest, NamesOneItem) {
  constexpr const char* kKey = R"({"p":{"S":"a"},"s":{"N":"1"}})";
  EXPECT_EQ(written("INSERT INTO t VALUE {'p':'a','s':1}"), std::string("put ") + kKey + " IF attribute_not_exists(p)");
  EXPECT_EQ(written("UPDATE t SET a=1 WHERE p='a' AND s=1"),
            std::string("update ") + kKey + " SET a=1 IF attribute_exists(p)");
  EXPECT_EQ(written("UPDATE t SET a=1 WHERE (s=1 AND p='a') AND (b=1 OR c=2) AND p='a'"),
            std::string("update ") + kKey + " SET a=1 IF attribute_exists(p) AND (b=1 OR c=2)");
  EXPECT_EQ(written("DELETE FROM t WHERE p='a' AND s=1"), std::string("delete ") + kKey + " IF ");
  EXPECT_EQ(written("DELETE FROM t WHERE p='a' AND s=1 AND (b=1 OR c=2) AND d=3"),
            std::string("delete ") + kKey + " IF attribute_not_exists(p) OR (b=1 OR c=2) AND d=3");
  EXPECT_EQ(written("DELETE FROM t WHERE p='a' AND s=1 AND (b=1 OR c=2)"),
            std::string("delete ") + kKey + " IF attribute_not_exists(p) OR b=1 OR c=2");
  constexpr const char* kIncomplete = "! Where clause does not contain a mandatory equality on all key attributes";
  for (const char* condition :
       {"", " WHERE p='a'", " WHERE p='a' AND s>1", " WHERE p='a' AND s IN [1]", " WHERE p='a' AND (s=1 OR s=2)"}) {
    EXPECT_EQ(written("DELETE FROM t" + std::string(condition)), kIncomplete) << condition;
  }
  EXPECT_EQ(written("DELETE FROM t WHERE p='a' AND s=1 AND s=2"),
            "! Multiple conditions on same key s. Only single item Update/Insert/Delete are supported");
}

TEST(PartiqlWriteTest, LeavesKeysOfTransactionsToTheStore) {
  EXPECT_EQ(written("UPDATE t SET a=1 WHERE p='a'", true), R"(update {"p":{"S":"a"}} SET a=1 IF attribute_exists(p))");
  EXPECT_EQ(written("UPDATE t SET a=1 WHERE p='a' AND s=1 AND s=2", true),
            R"(update {"p":{"S":"a"}} SET a=1 IF attribute_exists(p) AND s=2)");
  EXPECT_EQ(written("EXISTS(SELECT * FROM t WHERE p='a' AND s=1 AND b IS MISSING)", true),
            R"(check {"p":{"S":"a"},"s":{"N":"1"}} IF attribute_exists(p) AND attribute_not_exists(b))");
  for (const char* condition : {"p='a' AND s=1", "p='a' AND b=1", "p IN ['a'] AND s=1 AND b=1"}) {
    EXPECT_EQ(written("EXISTS(SELECT * FROM t WHERE " + std::string(condition) + ")", true),
              "! EXISTS() must contain a single item read with additional condition")
        << condition;
  }
  EXPECT_EQ(written("EXISTS(SELECT * FROM t WHERE p='a' AND s=1 AND b=1)"),
            "! EXISTS can only be used in ExecuteTransaction write requests.");
}

// Names and values never become syntax.
TEST(PartiqlWriterTest, WritesPlaceholdersOnly) {
  const auto statement = partiql::parse_statement(
      "SELECT * FROM t WHERE \"a = :0 OR #1\" = 'x) OR (a = a' AND \"a = :0 OR #1\".\"]\"[0] <> 'x) OR (a = a'", {});
  ASSERT_TRUE(statement) << statement.error().message;
  partiql::ExpressionWriter writer(*statement);
  EXPECT_EQ(writer.condition(*statement->where), "#0=:0 AND #0.#1[0]<>:1");
  const Placeholders placeholders = writer.take();
  EXPECT_EQ(placeholders.names[0].second, "a = :0 OR #1");
  EXPECT_EQ(*placeholders.values.find(":0"), Value("x) OR (a = a"));
}

TEST(PartiqlColumnsTest, NamesColumnsByTheLastNameOfTheirPaths) {
  const auto statement = partiql::parse_statement("SELECT p, m.k[0], l[1].x, none.a FROM t", {});
  ASSERT_TRUE(statement) << statement.error().message;
  EXPECT_TRUE(partiql::has_paths(*statement));
  const Item item{{"p", Value("a")},
                  {"m", Value(Map{{"k", Value(List{{Value("c")}})}})},
                  {"l", Value(List{{Value("0"), Value(Map{{"x", Value("d")}})}})}};
  EXPECT_EQ(partiql_test::shown(partiql::columns_of(*statement, ItemRef::encode(item))),
            R"({"k[0]":{"S":"c"},"p":{"S":"a"},"x":{"S":"d"}})");
}

}  // namespace
}  // namespace freshet
