#include <gtest/gtest.h>

#include "tests/tables/partiql/support.h"

namespace freshet {
namespace {

using partiql_test::parsed;

std::string where(const std::string& condition, std::vector<Value> parameters = {}) {
  const std::string text = parsed("SELECT * FROM t WHERE " + condition, std::move(parameters));
  constexpr std::string_view kStart = "SELECT t WHERE ";
  return text.starts_with(kStart) ? text.substr(kStart.size()) : text;
}

std::string set(const std::string& value) {
  const std::string text = parsed("UPDATE t SET a = " + value + " WHERE p = 'x'");
  constexpr std::string_view kStart = "UPDATE t ";
  const size_t end = text.find(" WHERE");
  return text.starts_with(kStart) ? text.substr(kStart.size(), end - kStart.size()) : text;
}

std::string malformed(const std::string& what) {
  return "! Statement wasn't well formed, can't be processed: " + what;
}

TEST(PartiqlParserTest, ReadsSelects) {
  EXPECT_EQ(parsed("SELECT * FROM Music"), "SELECT Music");
  EXPECT_EQ(parsed("select a, b.c[1], \"d e\".f FROM \"My-Table\".\"an index\";"), "SELECT a c[1] f My-Table.an index");
  EXPECT_EQ(parsed("SELECT * FROM t WHERE p='x' ORDER BY p DESC, s ASC, u"),
            "SELECT t WHERE p=\"x\" BY p DESC BY s BY u");
  EXPECT_EQ(parsed("SELECT/**/a['b c']-- to the end\nFROM t /* ' */ WHERE a.b /* . */ = 'it''s'"),
            "SELECT b c t WHERE a.b=\"it's\"");
  EXPECT_EQ(parsed("EXISTS(SELECT * FROM t WHERE p = 'x' AND a IS MISSING)"),
            "EXISTS t WHERE p=\"x\" AND attribute_not_exists(a)");
}

TEST(PartiqlParserTest, ReadsConditions) {
  EXPECT_EQ(where("a=1 AND b<>2 OR NOT c!=3 AND d<4"), "a=1 AND b<>2 OR NOT c<>3 AND d<4");
  EXPECT_EQ(where("(a=1 OR ((b<=2))) AND (c>=3 AND d>4)"), "(a=1 OR b<=2) AND c>=3 AND d>4");
  EXPECT_EQ(where("NOT (a=1 AND b=2) OR NOT NOT c=1"), "NOT (a=1 AND b=2) OR NOT NOT c=1");
  EXPECT_EQ(where("a BETWEEN 1 AND 2 AND b NOT BETWEEN 'x' AND 'y'"),
            "a BETWEEN 1 AND 2 AND NOT b BETWEEN \"x\" AND \"y\"");
  EXPECT_EQ(where("a IN [1,'b',?] AND b NOT IN (1, 2)", {Value("c")}), "a IN (1,\"b\",\"c\") AND NOT b IN (1,2)");
  EXPECT_EQ(where("a IS MISSING AND b IS NOT MISSING AND c IS NULL AND d IS NOT NULL AND e IS STRING"),
            "attribute_not_exists(a) AND attribute_exists(b) AND attribute_type(c,\"NULL\") AND "
            "NOT attribute_type(d,\"NULL\") AND attribute_type(e,\"S\")");
  EXPECT_EQ(where("BEGINS_WITH(\"a\", 'x') AND contains(b, 1) AND attribute_type(c,'N') AND 3 < size(d)"),
            "begins_with(a,\"x\") AND contains(b,1) AND attribute_type(c,\"N\") AND 3<size(d)");
  EXPECT_EQ(where("attribute_exists(a) = true AND (b = 1) = FALSE AND false <> attribute_not_exists(c)"),
            "attribute_exists(a) AND NOT b=1 AND attribute_not_exists(c)");
}

TEST(PartiqlParserTest, ReadsLiterals) {
  EXPECT_EQ(set("'x'"), "SET a=\"x\"");
  EXPECT_EQ(set("-12.50"), "SET a=-12.5");
  EXPECT_EQ(set("1E3"), "SET a=1000");
  EXPECT_EQ(set("- - .5e1"), "SET a=5");
  EXPECT_EQ(set("-/* c */-1"), "SET a=1");
  EXPECT_EQ(set("{'k': [1, TRUE, null, {'n': 'v'}], '': <<'b','a'>>}"),
            "SET a={\"\":[\"a\",\"b\"],\"k\":[1,true,null,{\"n\":\"v\"}]}");
  EXPECT_EQ(set("[]"), "SET a=[]");
  EXPECT_EQ(parsed("INSERT INTO t VALUE {'p': ?, 'n': <<2, 1.0>>, 'm': {}}", {Value("x")}),
            R"(INSERT t {"m":{"M":{}},"n":{"NS":["1","2"]},"p":{"S":"x"}})");
  const std::string deep = std::string(31, '[') + "1" + std::string(31, ']');
  EXPECT_EQ(set(deep), "SET a=" + deep);
}

TEST(PartiqlParserTest, ReadsWrites) {
  EXPECT_EQ(
      parsed("UPDATE t SET a=1, b.c[2] = b.c[1] REMOVE d SET e = e - 1 REMOVE f[0] WHERE p='x' RETURNING ALL NEW *"),
      "UPDATE t SET a=1,b.c[2]=b.c[1],e=e-1 REMOVE d,f[0] WHERE p=\"x\" RETURNING 3");
  EXPECT_EQ(set("list_append(a, [1])"), "SET a=list_append(a,[1])");
  EXPECT_EQ(set("set_add(a, <<1>>)"), "ADD a [1]");
  EXPECT_EQ(set("SET_DELETE(a, <<'x'>>), b = 1"), "SET b=1 DELETE a [\"x\"]");
  EXPECT_EQ(set("(1) + (b)"), "SET a=1+b");
  EXPECT_EQ(parsed("FROM t WHERE p='x' SET a=1 REMOVE b RETURNING MODIFIED OLD *"),
            "UPDATE t SET a=1 REMOVE b WHERE p=\"x\" RETURNING 2");
  EXPECT_EQ(parsed("DELETE FROM t WHERE p='x' RETURNING ALL OLD *"), "DELETE t WHERE p=\"x\" RETURNING 1");
}

TEST(PartiqlParserTest, SaysWhereSyntaxIsWrong) {
  EXPECT_EQ(parsed("SLECT * FROM t"), malformed("Expected data manipulation at 1:1:5"));
  EXPECT_EQ(parsed(""), malformed("Expected data manipulation at 1:1:0"));
  EXPECT_EQ(parsed("UPDATE my-table SET a=1"), malformed("Expected data manipulation at 1:10:1"));
  EXPECT_EQ(parsed("SELECT * FROM t\nWHERE a = 1 foo"), malformed("Unexpected token after expression at 2:13:3"));
  EXPECT_EQ(parsed("SELECT * FROM t WHERE \xC3\xA4 = 1"), malformed("Unexpected character at 1:23:1"));
  EXPECT_EQ(parsed("SELECT * FROM t WHERE a = '\xC3\xA4' foo"),
            malformed("Unexpected token after expression at 1:31:3"));
  EXPECT_EQ(parsed("SELECT * FROM t WHERE a = 1 # note"), malformed("Unexpected character at 1:29:1"));
  EXPECT_EQ(parsed("SELECT * FROM t WHERE a = 1 /* note"), malformed("Text or comment without an end at 1:29:7"));
  EXPECT_EQ(parsed("SELECT * FROM t WHERE a = '"), malformed("Text or comment without an end at 1:27:1"));
  EXPECT_EQ(parsed("SELECT * FROM t WHERE a = 'note"), malformed("Text or comment without an end at 1:27:5"));
  EXPECT_EQ(parsed("SELECT * FROM t; SELECT * FROM t"), malformed("Unexpected token after expression at 1:18:6"));
  EXPECT_EQ(parsed("SELECT * FROM t ORDER BY p WHERE p = 'x'"),
            malformed("Unexpected token after expression at 1:28:5"));
  EXPECT_EQ(parsed("DELETE FROM WHERE p='a'"), malformed("Expected identifier for simple path at 1:13:5"));
  EXPECT_EQ(parsed("SELECT * FROM"), malformed("Unexpected term at 1:14:0"));
  EXPECT_EQ(parsed("INSERT INTO t (a) VALUES (1)"), malformed("Unexpected token after expression at 1:15:1"));
  EXPECT_EQ(parsed("INSERT INTO t VALUES (1)"), malformed("Unexpected keyword at 1:15:6"));
  EXPECT_EQ(parsed("INSERT INTO t VALUE {'p': 1} foo"), malformed("Unexpected token after expression at 1:30:3"));
  EXPECT_EQ(parsed("INSERT INTO t VALUE {p: 1}"),
            malformed("Expected an attribute name between single quotes at 1:22:1"));
  EXPECT_EQ(where(""), malformed("Unexpected term at 1:23:0"));
  EXPECT_EQ(where("NOT"), malformed("Unexpected term at 1:26:0"));
  EXPECT_EQ(where("a = 1 AND"), malformed("Missing right-hand side expression of infix operator at 1:32:0"));
  EXPECT_EQ(where("a ="), malformed("Missing right-hand side expression of infix operator at 1:26:0"));
  EXPECT_EQ(where("ORDER BY p"), malformed("Unexpected keyword at 1:23:5"));
  EXPECT_EQ(where("IS NULL"), malformed("Unexpected operator at 1:23:2"));
  EXPECT_EQ(where("a IS FOO"), malformed("Expected type name at 1:28:3"));
  EXPECT_EQ(where("a = 1)"), malformed("Unexpected token after expression at 1:28:1"));
  EXPECT_EQ(where("(a = 1"), malformed("Expected a closing parenthesis at 1:29:0"));
  EXPECT_EQ(where("m.inner = 1"), malformed("Invalid path dot component at 1:25:5"));
  EXPECT_EQ(where("order = 1"), malformed("Unexpected keyword at 1:23:5"));
  EXPECT_EQ(where("a = -b"), malformed("Unexpected term at 1:28:1"));
  EXPECT_EQ(where("a > -?", {Value("x")}), malformed("Unexpected term at 1:28:1"));
  EXPECT_EQ(where("a = 1e2147483648"), malformed("at 1:27:12"));
  EXPECT_EQ(where("a = 1.5e-2147483647"), malformed("at 1:27:15"));
}

TEST(PartiqlParserTest, RefusesWhatIsWellFormed) {
  EXPECT_EQ(parsed("SELECT * FROM t AS x"), "! Aliasing is not supported");
  EXPECT_EQ(parsed("SELECT a AS x FROM t"), "! Aliasing is not supported");
  EXPECT_EQ(parsed("DELETE FROM t x WHERE p='y'"), "! Aliasing is not supported");
  EXPECT_EQ(parsed("SELECT * FROM t LIMIT 5"), "! Unsupported clause: LIMIT at 1:23:1");
  EXPECT_EQ(parsed("SELECT COUNT(*) FROM t"), "! Unexpected path component at 1:8:5");
  EXPECT_EQ(parsed("SELECT *, a FROM t"),
            "! Other attributes should not be present in the projection when '*' is used.");
  EXPECT_EQ(parsed("SELECT a.b, c, b FROM t"), "! Duplicate identifiers in select clause: b");
  EXPECT_EQ(
      parsed("SELECT a, a.b.c FROM t"),
      "! Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path "
      "two: [a, b, c]");
  EXPECT_EQ(
      parsed("SELECT a.b, a[0] FROM t"),
      "! Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [a, b], "
      "path two: [a, [0]]");
  EXPECT_EQ(parsed("SELECT * FROM a.b.c"), "! A path may contain at most 2 components in the FROM clause");
  EXPECT_EQ(parsed("SELECT * FROM \"\""), "! Path component cannot be an empty string");
  EXPECT_EQ(parsed("SELECT l[-1] FROM t"), "! List index is not within the allowable range; index: [-1] at 1:11:1");
  EXPECT_EQ(parsed("SELECT l[2147483648] FROM t"),
            "! List index is not within the allowable range; index: [2147483648] at 1:10:10");
  EXPECT_EQ(parsed("UPDATE t.i SET a=1 WHERE p='x'"), "! This operation is not supported on an index");
  EXPECT_EQ(parsed("INSERT INTO t.i VALUE {'p':'x'}"), "! FROM clause may only contain a single table name");
  EXPECT_EQ(parsed("DELETE FROM t WHERE p='x' RETURNING MODIFIED OLD *"),
            "! Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING ALL OLD * is allowed in DELETE "
            "statements.");
  EXPECT_EQ(where("EXISTS(ss)"), "! Unrecognized function: exists at 1:23:6");
  EXPECT_EQ(
      where("attribute_exists()"),
      "! Incorrect number of operands for operator or function; operator or function: attribute_exists, number of "
      "operands: 0");
  EXPECT_EQ(where("a LIKE 'x'"), "! Unsupported operator: LIKE at 1:25:4");
  EXPECT_EQ(where("a"), "! Unsupported expression in the WHERE clause: a condition is expected at 1:23:1");
  EXPECT_EQ(where("a = ?"), "! Number of parameters in request and statement don't match.");
  EXPECT_EQ(where("a = 1", {Value("x")}), "! Number of parameters in request and statement don't match.");
}

TEST(PartiqlParserTest, RefusesBadLiterals) {
  constexpr const char* kOverflow =
      "! Number overflow. Attempting to store a number with magnitude larger than supported range under ";
  EXPECT_EQ(where("a = 1e126"), kOverflow + std::string("root"));
  EXPECT_EQ(parsed("INSERT INTO t VALUE {'m': {'x': 1e126}}"), kOverflow + std::string("root.x"));
  EXPECT_EQ(parsed("INSERT INTO t VALUE {'l': [1, 1e126]}"), kOverflow + std::string("root[1]"));
  EXPECT_EQ(set("<<>>"), "! Empty bags are not supported");
  EXPECT_EQ(set("<<1, 'a'>>"),
            "! Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags");
  EXPECT_EQ(set("<<'x', 'x'>>"),
            "! One or more parameter values were invalid: Input collection [x, x] contains duplicates.");
  EXPECT_EQ(set("<<2, 2.0>>"),
            "! One or more parameter values were invalid: Input collection [2, 2.0] contains duplicates! under root");
  EXPECT_EQ(set("[?]"), "! Unsupported data type: Parameter under key root[0] at 1:19:1");
  EXPECT_EQ(parsed("INSERT INTO t VALUE {'p':'x', 'ss': set_add(<<'a'>>, <<'b'>>)}"),
            "! Unsupported data type: set_add under key root at 1:37:7");
  EXPECT_EQ(
      set(std::string(32, '[') + "1" + std::string(32, ']')),
      "! Nesting Levels have exceeded supported limits under root[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]"
      "[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]");
}

TEST(PartiqlParserTest, RefusesMisusedSetFunctions) {
  EXPECT_EQ(set("set_add(b, <<'x'>>)"), "! The first argument to SET_ADD must equal the assignment value at 1:18:7");
  EXPECT_EQ(set("set_delete(a, ['x'])"), "! The second argument to SET_DELETE must be a value with type SET at 1:29:1");
  EXPECT_EQ(set("set_add(a)"), "! SET_ADD must have exactly two arguments at 1:18:7");
  EXPECT_EQ(set("if_not(a, 1)"), "! Unrecognized function: if_not at 1:18:6");
}

// However deep, the stack is not: 8,192 bytes are what a request may have, but the parser does not rely on it.
TEST(PartiqlParserTest, BoundsNesting) {
  for (const std::string opening : {"(", "NOT ", "size(", "[", "{'a':", "<<", "- "}) {
    std::string text = "SELECT * FROM t WHERE a = 1 AND ";
    if (opening != "(" && opening != "NOT ") text += "b = ";
    for (int i = 0; i < 200'000; ++i) text += opening;
    const std::string error = parsed(text);
    EXPECT_EQ(error[0], '!') << opening;
    EXPECT_LT(error.size(), 300u) << opening;
  }
  std::string chain = "attribute_exists(a)";
  for (int i = 0; i < 200'001; ++i) chain += " = false";
  EXPECT_EQ(where(chain), "NOT attribute_exists(a)");
  const std::string fits = std::string(150, '(') + "a=1" + std::string(150, ')');
  EXPECT_EQ(where(fits), "a=1");
  EXPECT_EQ(where(std::string(250, '(') + "a=1" + std::string(250, ')')),
            malformed("Nested deeper than 200 levels at 1:224:1"));
}

}  // namespace
}  // namespace freshet
