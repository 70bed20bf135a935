// Refused expressions, with the exact texts.
#include <gtest/gtest.h>

#include "tables/expression/reserved_words.h"
#include "tests/tables/expression/support.h"

namespace freshet {
namespace {

using namespace expression_test;

struct Refusal {
  const char* expression;
  const char* message;
};

Names some_names() {
  return {{"#a", "a"}, {"#b", "b"}};
}

// The same values for all: a request's own are checked elsewhere.
Map some_values() {
  return {{":s", "text"},        {":s2", "u"},      {":n", n(1)},     {":n2", n(2)}, {":b", b("\x01")},
          {":t", yes()},         {":null", Null{}}, {":l", list({})}, {":m", Map{}}, {":ss", strings({"a"})},
          {":ns", numbers({1})}, {":N", "N"}};
}

// Only the first error counts, so unused placeholders do not matter here.
std::string refused(ExpressionKind kind, std::string_view text) {
  ExpressionCache cache;
  Placeholders placeholders{some_names(), some_values()};
  Expressions expressions(cache, placeholders);
  if (kind == ExpressionKind::kUpdate) {
    auto bound = expressions.update(text);
    return bound ? "accepted" : text_of(bound.error());
  }
  if (kind == ExpressionKind::kProjection) {
    auto bound = expressions.projection(text);
    return bound ? "accepted" : text_of(bound.error());
  }
  auto bound = kind == ExpressionKind::kFilter ? expressions.filter(text) : expressions.condition(text);
  return bound ? "accepted" : text_of(bound.error());
}

void check(ExpressionKind kind, std::initializer_list<Refusal> refusals) {
  const std::string prefix = "Invalid " + std::string(expression_name(kind)) + ": ";
  for (const auto& refusal : refusals) {
    EXPECT_EQ(refused(kind, refusal.expression), prefix + refusal.message) << refusal.expression;
  }
}

void check_all(ExpressionKind kind, const std::string& message_start, std::initializer_list<const char*> texts) {
  const std::string start = "Invalid " + std::string(expression_name(kind)) + ": " + message_start;
  for (const auto* text : texts) {
    EXPECT_EQ(refused(kind, text).substr(0, start.size()), start) << text << "\n" << refused(kind, text);
  }
}

TEST(ExpressionErrors, SyntaxNamesTheTokenAndItsNeighbours) {
  check(ExpressionKind::kCondition, {{"a = = b", R"(Syntax error; token: "=", near: "= = b")"},
                                     {"a == :s", R"(Syntax error; token: "=", near: "== :s")"},
                                     {"foo", R"(Syntax error; token: "<EOF>", near: "foo")"},
                                     {"a = ", R"(Syntax error; token: "<EOF>", near: "=")"},
                                     {"attribute_not_exists(", R"(Syntax error; token: "<EOF>", near: "(")"},
                                     {"a = b)", "Syntax error; token: \")\", near: \"b)\""},
                                     {"= b", R"(Syntax error; token: "=", near: "= b")"},
                                     {"a BETWEEN b AND (c < d)", R"(Syntax error; token: "<", near: "c < d")"},
                                     {"a IN ((a = b))", R"(Syntax error; token: "=", near: "a = b")"},
                                     {"size((a = b)) = c", R"(Syntax error; token: "=", near: "a = b")"},
                                     {"a = (NOT b)", R"(Syntax error; token: "NOT", near: "(NOT b")"},
                                     {"a > 4", R"(Syntax error; token: "4", near: "> 4")"},
                                     {"a  >   4 AND b", R"(Syntax error; token: "4", near: ">   4 AND")"},
                                     {"\xC3\xBC > a", "Syntax error; token: \"\xC3\xBC\", near: \"\xC3\xBC >\""}});
  check(ExpressionKind::kUpdate, {{"INVALID SYNTAX HERE", R"(Syntax error; token: "INVALID", near: "INVALID SYNTAX")"},
                                  {"ADD hits : incr", R"(Syntax error; token: ":", near: "hits : incr")"},
                                  {"SET a = :s,", R"(Syntax error; token: "<EOF>", near: ",")"},
                                  {"SET _123 = :s", R"(Syntax error; token: "_", near: "SET _123")"},
                                  {"SET hi-there = :s", R"(Syntax error; token: "-", near: "hi-there")"}});
}

TEST(ExpressionErrors, SyntaxOfConditions) {
  check_all(ExpressionKind::kFilter, "Syntax error; ",
            {"things are not gonna be ok",
             "attribute_exists(Pictures-RearView)",
             "attribute_exists(\"Pictures.RearView\")",
             "attribute_exists(Pictures..RearView)",
             "attribute_exists(Pi#ctures.RearView)",
             "attribute_exists(asdf[a])",
             "a.:a < b.:b",
             "a in b, c",
             "a > between",
             "a in b",
             "a in (b,c,)",
             "a in ()",
             "(a)between(b.(c.d))and(c)",
             "(a)between(b.c.d)and((c)",
             "#$.b > a",
             "a > :s.stuff",
             "b[:s] > a",
             "b[#a] > a",
             "(a)between(b.c[4.5].#a)and(:s)",
             "size(a).b > a",
             "(size(a)).b > a",
             "size(a)[0] > a",
             "(size(a))[0] > a",
             "a",
             "(a)",
             ":s",
             "NOT",
             "NOT a",
             "a = b AND",
             "a = b OR OR a = b",
             "attribute_exists()",
             "a = NOT b",
             "a = b c = d",
             "a[-1] = b",
             "[0] = a",
             ".a = b",
             "a. = b",
             "a[0 = b",
             "a = (b",
             "a BETWEEN b",
             "a BETWEEN b AND",
             "a BETWEEN b OR c",
             "a = (b = c)",
             "(a = b) = c",
             "a ! b",
             "a != b",
             "a = 'x'",
             "a = \"x\"",
             "#",
             ":",
             "1",
             "_a = b",
             "a < > b"});
}

TEST(ExpressionErrors, SyntaxOfUpdates) {
  check_all(ExpressionKind::kUpdate, "Syntax error; ",
            {"whatever",
             "set a",
             "add a",
             "delete a",
             "set a=set",
             "remove a = b",
             "add a = b",
             "delete a = b",
             "delete a b",
             "delete a if_not_exist(b)",
             "add abort b",
             "add a if_not_exist(b)",
             "remove a b",
             "set a b",
             "set :a = b",
             "add :a b",
             "delete :a b",
             "remove :a",
             "set a = b / c",
             "set a = b * c",
             "set a[1] = \"eight\"",
             "set a[1] = 1",
             "SET a = if_not_exist(a, 100)",
             "SET if_not_exist(a, b) = a",
             "set (a = (b + c))",
             "set a = (b.c).d + e",
             "set a = (b.c)[0] + e",
             "set a = b + c + d",
             "set a = b, remove c",
             "set a = b + if_not_exists(c, d + e)",
             "set a = (b + c) + d",
             "set",
             "remove",
             "set a = b,, c = d",
             "set a = b set",
             "SET a = (:s"});
  for (const auto* text : {"SET a[1] = b", "set a = (b + c)", "set a = (b) + (c)", "SET a = if_not_exists(a, b) + b",
                           "SET a = if_not_exists(a, if_not_exists(b, c))", "ReMoVe a,b[0] aDd c :n",
                           "SET a=list_append(if_not_exists(a,:l),:l)REMOVE b"}) {
    EXPECT_EQ(refused(ExpressionKind::kUpdate, text), "accepted") << text;
  }
}

TEST(ExpressionErrors, EmptyAndTooLong) {
  for (auto kind : {ExpressionKind::kCondition, ExpressionKind::kFilter, ExpressionKind::kKeyCondition}) {
    const auto prefix = "Invalid " + std::string(expression_name(kind)) + ": ";
    EXPECT_EQ(compile_condition("", kind).error().message, prefix + "The expression can not be empty;");
    EXPECT_EQ(compile_condition(" \t\n", kind).error().message, prefix + "The expression can not be empty;");
  }
  EXPECT_EQ(compile_update("").error().message, "Invalid UpdateExpression: The expression can not be empty;");
  EXPECT_EQ(compile_projection("").error().message, "Invalid ProjectionExpression: The expression can not be empty;");
  EXPECT_TRUE(compile_projection(std::string(4096, 'a')));
  EXPECT_EQ(compile_projection(std::string(4097, 'a')).error().message,
            "Invalid ProjectionExpression: Expression size has exceeded the maximum allowed size; expression size: "
            "4097");
}

TEST(ExpressionErrors, AtMost300Operators) {
  auto chained = [](int operators, const std::string& unit, const std::string& glue) {
    std::string text = unit;
    for (int i = 0; i < operators; ++i) text += glue + unit;
    return text;
  };
  // 150 comparisons and 149 ANDs; one more NOT makes 300.
  const auto most = "NOT " + chained(149, "a<b", " AND ");
  EXPECT_TRUE(compile_condition(most, ExpressionKind::kFilter));
  EXPECT_EQ(compile_condition("NOT " + most, ExpressionKind::kFilter).error().message,
            "Invalid FilterExpression: The expression contains too many operators; operator count: 301");
  std::string nots;
  for (int i = 0; i < 299; ++i) nots += "NOT ";
  EXPECT_TRUE(compile_condition(nots + "a<b", ExpressionKind::kFilter));
  EXPECT_FALSE(compile_condition("NOT NOT " + nots + "a<b", ExpressionKind::kFilter));
  // '=' of SET is none: 400 assignments are fine.
  std::string set = "SET a0=b";
  for (int i = 1; i < 400; ++i) set += ",a" + std::to_string(i) + "=b";
  EXPECT_TRUE(compile_update(set));
  EXPECT_FALSE(compile_update(set + chained(301, ",c=d", "+e")));
}

TEST(ExpressionErrors, DeepParenthesesEndCleanly) {
  const std::string open(4000, '(');
  EXPECT_FALSE(compile_condition(open, ExpressionKind::kFilter));
  EXPECT_EQ(compile_condition(std::string(2000, '(') + "a=b" + std::string(2000, ')'), ExpressionKind::kFilter)
                .error()
                .message,
            "Invalid FilterExpression: The expression has redundant parentheses;");
  EXPECT_FALSE(compile_update("SET a=" + open));
  EXPECT_FALSE(compile_update("SET a=if_not_exists" + open));
  std::string nested = "SET a=";
  for (int i = 0; i < 290; ++i) nested += "list_append(";
  EXPECT_FALSE(compile_update(nested));
  nested = "NOT(";
  for (int i = 0; i < 280; ++i) nested += "NOT(";
  EXPECT_TRUE(compile_condition(nested + "a=b" + std::string(281, ')'), ExpressionKind::kFilter));
}

TEST(ExpressionErrors, RedundantParentheses) {
  check_all(ExpressionKind::kFilter, "The expression has redundant parentheses;",
            {"a=a and a > ((views))", "(a)between(((b.c)).d)and(c)", "a > whatever((:things), ((a)))",
             "a=a AND ((a=a AND a=a)) AND a=a", "a=a OR ((a=a OR a=a)) OR a=a", "a=a AND ((a=a AND (a=a AND a=a)))",
             "a=a OR ((a=a OR (a=a OR a=a)))", "((attribute_not_exists(pk)))", "((a = b))"});
  check_all(ExpressionKind::kUpdate, "The expression has redundant parentheses;",
            {"SET a = ((b))", "SET a = ((b + c))", "SET a = ((b)) + c", "SET a = if_not_exists(a, ((b)))"});
  for (const auto* text : {"(a = b)", "(a)=(b)", "((a = b) OR (b = a))", "(a)between((b.c).d)and(c)",
                           "attribute_exists((a))", "(attribute_exists((a)))", "NOT (NOT (a = b))"}) {
    EXPECT_EQ(refused(ExpressionKind::kFilter, text), "accepted") << text;
  }
}

TEST(ExpressionErrors, Functions) {
  check(ExpressionKind::kFilter,
        {{"a=a and whatever((:things)) > a", "Invalid function name; function: whatever"},
         {"attRIbute_exIsts((views), #a)", "Invalid function name; function: attRIbute_exIsts"},
         {"if_not_exists(a, a) = :n", "The function is not allowed in a condition expression; function: if_not_exists"},
         {"list_append(a, a) = :n", "The function is not allowed in a condition expression; function: list_append"}});
  check(ExpressionKind::kUpdate,
        {{"SET a = LIST_APPEND(:l, :l)", "Invalid function name; function: LIST_APPEND"},
         {"set #c = if_not_exist(:c) set c = d", "Invalid function name; function: if_not_exist"},
         {"SET a = size(b)", "The function is not allowed in an update expression; function: size"},
         {"SET a = attribute_exists(b)",
          "The function is not allowed in an update expression; function: attribute_exists"}});
  const std::string misused = "The function is not allowed to be used this way in an expression; function: ";
  for (const auto& [text, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"a=a and attribute_exists((views), (#a)) > b", "attribute_exists"},
           {"attribute_not_exists(things) > b", "attribute_not_exists"},
           {"attribute_type(things, :a) > b", "attribute_type"},
           {"begins_with(things, a) > b", "begins_with"},
           {"contains(:things, c) > b", "contains"},
           {"size(contains(a, b)) > a", "contains"},
           {"size(things)", "size"},
           {"NOT size(things)", "size"},
           {"a between b and attribute_exists(things)", "attribute_exists"},
           {"a in (b, attribute_exists(things))", "attribute_exists"}}) {
    EXPECT_EQ(refused(ExpressionKind::kFilter, text), "Invalid FilterExpression: " + misused + name) << text;
  }
  EXPECT_EQ(refused(ExpressionKind::kUpdate, "SET a = list_append(list_append(:l, :l), :l)"),
            "Invalid UpdateExpression: " + misused + "list_append");
}

TEST(ExpressionErrors, OperandCounts) {
  const std::string start =
      "Invalid FilterExpression: Incorrect number of operands for operator or function; operator or function: ";
  for (const auto& [text, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"attribute_exists(things, a) and a=a", "attribute_exists, number of operands: 2"},
           {"attribute_not_exists(things, b)", "attribute_not_exists, number of operands: 2"},
           {"attribute_type(things)", "attribute_type, number of operands: 1"},
           {"begins_with(things)", "begins_with, number of operands: 1"},
           {"begins_with(things, size(a), b)", "begins_with, number of operands: 3"},
           {"contains(things)", "contains, number of operands: 1"},
           {"size(things, a) > b", "size, number of operands: 2"}}) {
    EXPECT_EQ(refused(ExpressionKind::kFilter, text), start + what) << text;
  }
  check(ExpressionKind::kUpdate,
        {{"set a = if_not_exists(c)",
          "Incorrect number of operands for operator or function; operator or function: if_not_exists, number of "
          "operands: 1"},
         {"set a = list_append(c, d, e)",
          "Incorrect number of operands for operator or function; operator or function: list_append, number of "
          "operands: 3"}});
  std::string in = "a IN (b0";
  for (int i = 1; i < 100; ++i) in += ",b" + std::to_string(i);
  EXPECT_EQ(refused(ExpressionKind::kCondition, in + ")"), "accepted");
  EXPECT_EQ(refused(ExpressionKind::kCondition, in + ",c)"),
            "Invalid ConditionExpression: The IN operator is provided with too many operands; number of operands: 101");
}

TEST(ExpressionErrors, OperandTypesOfConditions) {
  const std::string start =
      "Invalid FilterExpression: Incorrect operand type for operator or function; operator or function: ";
  for (const auto& [text, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"attribute_type(a, size(b)) and a=a and a=:n", "attribute_type, operand type: N"},
           {"attribute_type(a, :n)", "attribute_type, operand type: N"},
           {"attribute_type(a, :ss)", "attribute_type, operand type: SS"},
           {"attribute_type(a, b)", "attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}"},
           {"begins_with(a, size(b)) and a=:n", "begins_with, operand type: N"},
           {"begins_with(a, :n)", "begins_with, operand type: N"},
           {"begins_with(:null, a)", "begins_with, operand type: NULL"},
           {"begins_with(a, :m)", "begins_with, operand type: M"},
           {"size(size(a)) > :n", "size, operand type: N"},
           {"attribute_not_exists(size(:n))", "size, operand type: N"},
           {"size(:t) > a", "size, operand type: BOOL"},
           {"a < :l", "<, operand type: L"},
           {":t >= a", ">=, operand type: BOOL"},
           {"a BETWEEN :t AND :t", "BETWEEN, operand type: BOOL"}}) {
    EXPECT_EQ(refused(ExpressionKind::kFilter, text), start + what) << text;
  }
  check(ExpressionKind::kFilter,
        {{"attribute_exists(:s) and a=a",
          "Operator or function requires a document path; operator or function: attribute_exists"},
         {"attribute_not_exists(size(:s))",
          "Operator or function requires a document path; operator or function: attribute_not_exists"},
         {"attribute_type(a, :s)",
          "Invalid attribute type name found; type: text, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"},
         {"a BETWEEN :n2 AND :n",
          "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: "
          "AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"},
         {"a BETWEEN :n AND :s",
          "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: "
          "AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:text}"},
         {"a BETWEEN :s AND :b",
          "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: "
          "AttributeValue: {S:text}, upper bound operand: AttributeValue: {B:AQ==}"}});
}

TEST(ExpressionErrors, OperandTypesOfUpdates) {
  const std::string start =
      "Invalid UpdateExpression: Incorrect operand type for operator or function; operator or function: ";
  for (const auto& [text, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"set a = list_append(:s, a)", "list_append, operand type: S"},
           {"set a = list_append(a, :n)", "list_append, operand type: N"},
           {"set a = a + :s", "+, operand type: S"},
           {"set a = :s + :b", "+, operand type: S"},
           {"set a = :b + a", "+, operand type: B"},
           {"set a = a - :ns", "-, operand type: NS"},
           {"set a = a - :l", "-, operand type: L"},
           {"set a = list_append(:l, :l) + :n", "+, operand type: L"}}) {
    EXPECT_EQ(refused(ExpressionKind::kUpdate, text), start + what) << text;
  }
  check(ExpressionKind::kUpdate,
        {{"set b = list_append(:s, a), c = if_not_exists(a) add a.b :s",
          "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, typeSet: "
          "ALLOWED_FOR_ADD_OPERAND"},
         {"add a :t",
          "Incorrect operand type for operator or function; operator: ADD, operand type: BOOLEAN, typeSet: "
          "ALLOWED_FOR_ADD_OPERAND"},
         {"delete a :n",
          "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, typeSet: "
          "ALLOWED_FOR_DELETE_OPERAND"},
         {"delete a :m",
          "Incorrect operand type for operator or function; operator: DELETE, operand type: MAP, typeSet: "
          "ALLOWED_FOR_DELETE_OPERAND"},
         {"set a = if_not_exists(:s, c)",
          "Operator or function requires a document path; operator or function: if_not_exists"},
         {"set a = if_not_exists(if_not_exists(a, b), c)",
          "Operator or function requires a document path; operator or function: if_not_exists"},
         {"set b = if_not_exists(a.#b, a.#b)",
          "The first operand must be distinct from the remaining operands for this operator or function; operator: "
          "if_not_exists, first operand: [a, b]"}});
}

TEST(ExpressionErrors, FirstOperandIsDistinct) {
  const std::string start =
      "The first operand must be distinct from the remaining operands for this operator or function; operator: ";
  for (const auto& [text, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"a = a AND #a = b AND :views > a", "=, first operand: [a]"},
           {"#a <> a", "<>, first operand: [a]"},
           {"a > #a", ">, first operand: [a]"},
           {"((a=a) OR (a=a))", "=, first operand: [a]"},
           {"contains(ab.bc[1].a, ab.bc[1].#a)", "contains, first operand: [ab, bc, [1], a]"},
           {"attribute_type(ab.bc[1].#a, ab.bc[1].a)", "attribute_type, first operand: [ab, bc, [1], a]"},
           {"begins_with(ab.bc[1].a, ab.bc[1].#a)", "begins_with, first operand: [ab, bc, [1], a]"}}) {
    EXPECT_EQ(refused(ExpressionKind::kFilter, text), "Invalid FilterExpression: " + start + what) << text;
  }
  for (const auto* text : {":n > :n", "a[0] = a[1]", "size(a) = size(a)", "#a = #b", "a.b = a"}) {
    EXPECT_EQ(refused(ExpressionKind::kFilter, text), "accepted") << text;
  }
}

TEST(ExpressionErrors, ReservedWords) {
  check(ExpressionKind::kFilter,
        {{"attribute_exists(views, #z)", "Attribute name is a reserved keyword; reserved keyword: views"},
         {":a < abOrT", "Attribute name is a reserved keyword; reserved keyword: abOrT"},
         {"a.ttl = :s", "Attribute name is a reserved keyword; reserved keyword: ttl"}});
  check(ExpressionKind::kUpdate,
        {{" set #c = :c set abOrt = true ", "Attribute name is a reserved keyword; reserved keyword: abOrt"},
         {" remove Absolute ", "Attribute name is a reserved keyword; reserved keyword: Absolute"}});
  check(ExpressionKind::kProjection,
        {{"a.abORt", "Attribute name is a reserved keyword; reserved keyword: abORt"},
         {"#a,ABSoLUTE", "Attribute name is a reserved keyword; reserved keyword: ABSoLUTE"}});
  for (const auto* word : {"ABORT", "zone", "Status", "TTL", "name", "size", "timestamp", "_"}) {
    EXPECT_EQ(expression::is_reserved_word(word), std::string_view(word) != "_") << word;
  }
  for (const auto* word : {"taskStatus", "taskId", "taskCreated", "pk", "sk", "id", "", "zones", "statuses"}) {
    EXPECT_FALSE(expression::is_reserved_word(word)) << word;
  }
  EXPECT_FALSE(expression::is_reserved_word(std::string(5000, 'a')));
}

TEST(ExpressionErrors, UndefinedPlaceholdersInOrder) {
  const std::string name = "An expression attribute name used in the document path is not defined; attribute name: ";
  const std::string value = "An expression attribute value used in expression is not defined; attribute value: ";
  for (const auto& [text, message] : std::initializer_list<std::pair<const char*, std::string>>{
           {"attribute_exists(#Pictures.RearView, :zz) and a=a", name + "#Pictures"},
           {"begins_with(Pictures.#RearView)", name + "#RearView"},
           {"(#P between :lo and :hi) and (#PC in (:cat1, :cat2))", name + "#P"},
           {"#4g > a", name + "#4g"},
           {"#_ > a", name + "#_"},
           {"begins_with(:hello, #aa, #bb)", value + ":hello"},
           {":aa < :bb", value + ":aa"},
           {":_ > a", value + ":_"}}) {
    EXPECT_EQ(refused(ExpressionKind::kFilter, text), "Invalid FilterExpression: " + message) << text;
  }
  check(ExpressionKind::kUpdate,
        {{"SET #zz = if_not_exists(:zz)",
          "An expression attribute name used in the document path is not defined; attribute "
          "name: #zz"},
         {"SET #a = if_not_exists(:v)",
          "An expression attribute value used in expression is not defined; attribute value: "
          ":v"},
         {"set a = #zz set c = :d", "The \"SET\" section can only be used once in an update expression;"},
         {"add #d :e set a = b add e :f", "The \"ADD\" section can only be used once in an update expression;"}});
}

TEST(ExpressionErrors, OverlapsAndConflicts) {
  auto overlap = [](const std::string& one, const std::string& two) {
    return "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: " + one +
           ", path two: " + two;
  };
  auto conflict = [](const std::string& one, const std::string& two) {
    return "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: " + one +
           ", path two: " + two;
  };
  for (const auto& [text, message] : std::initializer_list<std::pair<const char*, std::string>>{
           {"SET a = :s, a.b = :s", overlap("[a]", "[a, b]")},
           {"SET a = :s REMOVE a", overlap("[a]", "[a]")},
           {"SET #a = :s, a = :s", overlap("[a]", "[a]")},
           {"SET a[1][1] = :s, a[1] = :s", overlap("[a, [1], [1]]", "[a, [1]]")},
           {"set d[1] = a, d.b = a, c[1].a = a, c = if_not_exists(a)", overlap("[c, [1], a]", "[c]")},
           {"set #a[3].#b = a, #a[3] = b", overlap("[a, [3], b]", "[a, [3]]")},
           {"remove a.c set a[1] = #b", conflict("[a, c]", "[a, [1]]")},
           {"SET a.b.c = :s, a.b[2] = :s", conflict("[a, b, c]", "[a, b, [2]]")}}) {
    EXPECT_EQ(refused(ExpressionKind::kUpdate, text), "Invalid UpdateExpression: " + message) << text;
  }
  for (const auto& [text, message] :
       std::initializer_list<std::pair<const char*, std::string>>{{"a, b, a", overlap("[a]", "[a]")},
                                                                  {"a.b, #a", overlap("[a, b]", "[a]")},
                                                                  {"a.b, a[1]", conflict("[a, b]", "[a, [1]]")}}) {
    EXPECT_EQ(refused(ExpressionKind::kProjection, text), "Invalid ProjectionExpression: " + message) << text;
  }
  for (const auto* text : {"a, b", "a.b, a.c", "a.b.d, a.b.e", "a[1], a[2]", "a.b, a.c[2]", "#a, #b"}) {
    EXPECT_EQ(refused(ExpressionKind::kProjection, text), "accepted") << text;
  }
  // Many paths take another way to the same answer.
  std::string many = "p0";
  for (int i = 1; i < 50; ++i) many += ",p" + std::to_string(i);
  EXPECT_EQ(refused(ExpressionKind::kProjection, many), "accepted");
  EXPECT_EQ(refused(ExpressionKind::kProjection, many + ",p7.x"),
            "Invalid ProjectionExpression: " + overlap("[p7]", "[p7, x]"));
  many = "a.p0";
  for (int i = 1; i < 50; ++i) many += ",a.p" + std::to_string(i) + (i % 2 ? ".x" : "");
  EXPECT_EQ(refused(ExpressionKind::kProjection, many), "accepted");
  EXPECT_EQ(refused(ExpressionKind::kProjection, many + ",a.p7.x.y"),
            "Invalid ProjectionExpression: " + overlap("[a, p7, x]", "[a, p7, x, y]"));
  EXPECT_EQ(refused(ExpressionKind::kProjection, many + ",a"),
            "Invalid ProjectionExpression: " + overlap("[a, p0]", "[a]"));
  EXPECT_EQ(refused(ExpressionKind::kProjection, many + ",a[3]"),
            "Invalid ProjectionExpression: " + conflict("[a, p9, x]", "[a, [3]]"));
}

TEST(ExpressionErrors, PathLimits) {
  EXPECT_EQ(refused(ExpressionKind::kProjection, "a[2147483647]"), "accepted");
  check(ExpressionKind::kProjection,
        {{"a[2147483648]", "List index is not within the allowable range; index: [2147483648]"},
         {"a[999999999999999999999]", "List index is not within the allowable range; index: [999999999999999999999]"}});
  std::string deep = "a";
  for (int i = 0; i < 31; ++i) deep += ".b";
  EXPECT_EQ(refused(ExpressionKind::kProjection, deep), "accepted");
  EXPECT_EQ(refused(ExpressionKind::kProjection, deep + ".b"),
            "Invalid ProjectionExpression: The document path has too many nesting levels; nesting levels: 33");
}

TEST(ExpressionErrors, PlaceholdersOfTheRequest) {
  const std::string names_key = "ExpressionAttributeNames contains invalid key: Syntax error; key: ";
  const std::string values_key = "ExpressionAttributeValues contains invalid key: Syntax error; key: ";
  EXPECT_EQ(condition("a = :v", {}, {{"a", "b"}}, {{":v", n(1)}}), names_key + "\"a\"");
  EXPECT_EQ(condition("a = :v", {}, {{"#", "b"}}, {{":v", n(1)}}), names_key + "\"#\"");
  EXPECT_EQ(condition("a = :v", {}, {{"#x-y", "b"}}, {{":v", n(1)}}), names_key + "\"#x-y\"");
  EXPECT_EQ(condition("#a = :v", {}, {{"#a", ""}}, {{":v", n(1)}}),
            "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a");
  EXPECT_EQ(condition("a = b", {}, {}, {{"v", n(1)}}), values_key + "\"v\"");
  EXPECT_EQ(condition("a = b", {}, {}, {{":hi!", n(1)}}), values_key + "\":hi!\"");
  // They are looked at before the expressions, which need not even parse.
  EXPECT_EQ(condition("a = = b", {}, {{"a", "b"}}, {}), names_key + "\"a\"");
  EXPECT_EQ(condition("a = :v", {}, {{"#a", "x"}, {"#b", "y"}}, {{":v", n(1)}}),
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #b}");
  EXPECT_EQ(condition("a = :v", {}, {}, {{":v", n(1)}, {":w", n(1)}, {":x", n(1)}}),
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w, :x}");
  EXPECT_EQ(condition("", {}, {{"#a", "x"}}, {}),
            "ExpressionAttributeNames can only be specified when using expressions");
  EXPECT_EQ(condition("", {}, {}, {{":a", "x"}}),
            "ExpressionAttributeValues can only be specified when using expressions");
  EXPECT_EQ(condition("", {}), "true");
}

TEST(ExpressionErrors, OneRequestSharesItsPlaceholders) {
  ExpressionCache cache;
  Placeholders placeholders{{{"#a", "a"}, {"#b", "b"}}, {{":v", n(1)}, {":w", n(2)}}};
  Expressions both(cache, placeholders);
  ASSERT_TRUE(both.condition("#a = :v"));
  EXPECT_EQ(both.finish().error().message,
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}");
  ASSERT_TRUE(both.update("SET #b = :w"));
  EXPECT_TRUE(both.finish());
}

TEST(ExpressionErrors, ManyNamesAreFound) {
  Placeholders placeholders;
  std::string text;
  for (int i = 0; i < 300; ++i) {
    placeholders.names.emplace_back("#n" + std::to_string((i * 7) % 300), "name" + std::to_string(i));
    text += (i ? ",#n" : "#n") + std::to_string(i);
  }
  ExpressionCache cache;
  Expressions expressions(cache, placeholders);
  auto bound = expressions.projection(text);
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_TRUE(expressions.finish());
  EXPECT_EQ(top_level_attributes(*bound)[7], "name1");
  Expressions again(cache, placeholders);
  EXPECT_FALSE(again.projection("#n300"));
}

}  // namespace
}  // namespace freshet
