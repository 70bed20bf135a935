#include "streams/pattern.h"

#include <gtest/gtest.h>

#include "tables/value/json.h"

namespace freshet {
namespace {

struct Case {
  const char* pattern;
  const char* event;
  bool matches;
};

Map event_of(const char* json) {
  auto value = parse_plain_json(json);
  return value && value->is(Type::kMap) ? *value->get_if<Map>() : Map{};
}

struct PatternMatch : testing::TestWithParam<Case> {};

TEST_P(PatternMatch, Decides) {
  const Case& c = GetParam();
  const auto pattern = Pattern::parse(c.pattern);
  ASSERT_TRUE(pattern) << pattern.error().message;
  EXPECT_EQ(pattern->matches(event_of(c.event)), c.matches) << c.pattern << " on " << c.event;
}

INSTANTIATE_TEST_SUITE_P(
    Table, PatternMatch,
    testing::Values(
        Case{R"({"a":["x"]})", R"({"a":"x"})", true}, Case{R"({"a":["x"]})", R"({"a":"X"})", false},
        Case{R"({"a":["x"]})", R"({"b":"x"})", false}, Case{R"({"a":["x","y"]})", R"({"a":"y"})", true},
        Case{R"({"a":["x"],"b":[1]})", R"({"a":"x","b":1})", true},
        Case{R"({"a":["x"],"b":[1]})", R"({"a":"x","b":2})", false}, Case{R"({"a":[100]})", R"({"a":1e2})", true},
        Case{R"({"a":[1]})", R"({"a":"1"})", false}, Case{R"({"a":[null]})", R"({"a":null})", true},
        Case{R"({"a":[true]})", R"({"a":false})", false}, Case{R"({"a":["x"]})", R"({"a":["y","x"]})", true},
        Case{R"({"a":["x"]})", R"({"a":{"x":1}})", false},
        // Strings.
        Case{R"({"a":[{"prefix":{"equals-ignore-case":"aB"}}]})", R"({"a":"AbX"})", true},
        Case{R"({"a":[{"prefix":{"equals-ignore-case":"aB"}}]})", R"({"a":"A"})", false},
        Case{R"({"a":[{"suffix":{"equals-ignore-case":"aB"}}]})", R"({"a":"xAb"})", true},
        Case{R"({"a":[{"suffix":{"equals-ignore-case":"aB"}}]})", R"({"a":"xAbc"})", false},
        Case{R"({"a":[{"wildcard":"a*c*e"}]})", R"({"a":"abcde"})", true},
        Case{R"({"a":[{"wildcard":"a*c*e"}]})", R"({"a":"ace"})", true},
        Case{R"({"a":[{"wildcard":"a*c*e"}]})", R"({"a":"ae"})", false},
        Case{R"({"a":[{"wildcard":"ab*ba"}]})", R"({"a":"aba"})", false},
        Case{R"({"a":[{"wildcard":"*"}]})", R"({"a":""})", true},
        Case{R"({"a":[{"wildcard":"a\\*b"}]})", R"({"a":"a*b"})", true},
        Case{R"({"a":[{"wildcard":"a\\*b"}]})", R"({"a":"axb"})", false},
        Case{R"({"a":[{"anything-but":{"wildcard":"*x*"}}]})", R"({"a":"axb"})", false},
        Case{R"({"a":[{"cidr":"10.0.1.0/23"}]})", R"({"a":"10.0.0.255"})", true},
        Case{R"({"a":[{"cidr":"10.0.0.0/23"}]})", R"({"a":"10.0.2.0"})", false},
        Case{R"({"a":[{"cidr":"2001:db8::/33"}]})", R"({"a":"2001:db8:7fff::1"})", true},
        Case{R"({"a":[{"cidr":"2001:db8::/33"}]})", R"({"a":"2001:db8:8000::1"})", false},
        Case{R"({"a":[{"cidr":"0.0.0.0/0"}]})", R"({"a":"no address"})", false},
        Case{R"({"a":[{"prefix":"ab"}]})", R"({"a":"abc"})", true},
        Case{R"({"a":[{"prefix":"ab"}]})", R"({"a":"cab"})", false},
        Case{R"({"a":[{"suffix":".png"}]})", R"({"a":"x.png"})", true},
        Case{R"({"a":[{"suffix":".png"}]})", R"({"a":5})", false},
        Case{R"({"a":[{"equals-ignore-case":"Blue"}]})", R"({"a":"bLUE"})", true},
        Case{R"({"a":[{"equals-ignore-case":"Blue"}]})", R"({"a":"blues"})", false},
        // Numbers: exact.
        Case{R"({"a":[{"numeric":[">",0,"<=",5]}]})", R"({"a":5})", true},
        Case{R"({"a":[{"numeric":[">",0,"<=",5]}]})", R"({"a":0})", false},
        Case{R"({"a":[{"numeric":["=",0.3]}]})", R"({"a":0.30})", true},
        Case{R"({"a":[{"numeric":["<",9007199254740993]}]})", R"({"a":9007199254740992})", true},
        Case{R"({"a":[{"numeric":[">=",1]}]})", R"({"a":"1"})", false},
        // anything-but wants the field to be there.
        Case{R"({"a":[{"anything-but":"x"}]})", R"({"a":"y"})", true},
        Case{R"({"a":[{"anything-but":"x"}]})", R"({"a":"x"})", false},
        Case{R"({"a":[{"anything-but":["x",1]}]})", R"({"a":1})", false},
        Case{R"({"a":[{"anything-but":["x",1]}]})", R"({"a":2})", true},
        Case{R"({"a":[{"anything-but":"x"}]})", R"({"b":1})", false},
        Case{R"({"a":[{"anything-but":{"prefix":"ab"}}]})", R"({"a":"abc"})", false},
        Case{R"({"a":[{"anything-but":{"suffix":["1","2"]}}]})", R"({"a":"x3"})", true},
        Case{R"({"a":[{"anything-but":{"suffix":["1","2"]}}]})", R"({"a":"x2"})", false},
        // exists.
        Case{R"({"a":[{"exists":true}]})", R"({"a":null})", true}, Case{R"({"a":[{"exists":true}]})", R"({})", false},
        Case{R"({"a":[{"exists":false}]})", R"({})", true}, Case{R"({"a":[{"exists":false}]})", R"({"a":1})", false},
        Case{R"({"a":["x",{"exists":false}]})", R"({"b":1})", true},
        // Nesting and $or.
        Case{R"({"a":{"b":{"c":["x"]}}})", R"({"a":{"b":{"c":"x"}}})", true},
        Case{R"({"a":{"b":{"c":["x"]}}})", R"({"a":{"b":"x"}})", false},
        Case{R"({"a":{"b":[{"exists":false}]}})", R"({"a":1})", true},
        Case{R"({"a":{"b":[1]}})", R"({"a":[{"b":2},{"b":1}]})", true},
        Case{R"({"$or":[{"a":[1]},{"b":[2]}]})", R"({"b":2})", true},
        Case{R"({"$or":[{"a":[1]},{"b":[2]}]})", R"({"a":2,"b":1})", false},
        Case{R"({"c":[3],"$or":[{"a":[1]},{"b":[2]}]})", R"({"a":1})", false}));

struct BadPattern {
  const char* pattern;
  const char* says;
};
struct PatternRefused : testing::TestWithParam<BadPattern> {};

TEST_P(PatternRefused, SaysWhereAndWhat) {
  const auto pattern = Pattern::parse(GetParam().pattern);
  ASSERT_FALSE(pattern) << GetParam().pattern;
  EXPECT_EQ(pattern.error().code, ErrorCode::kValidation);
  EXPECT_NE(pattern.error().message.find(GetParam().says), std::string::npos) << pattern.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Table, PatternRefused,
    testing::Values(BadPattern{"", "not JSON"}, BadPattern{"[1]", "wants a JSON object"},
                    BadPattern{"{}", "name at least one field"}, BadPattern{R"({"a":"x"})", "at \"a\""},
                    BadPattern{R"({"a":{"b":"x"}})", "at \"a.b\""}, BadPattern{R"({"a":[]})", "matches nothing"},
                    BadPattern{R"({"a":[{"like":"*"}]})", "unknown operator \"like\""},
                    BadPattern{R"({"a":[{"wildcard":"a**b"}]})", "single stars"},
                    BadPattern{R"({"a":[{"wildcard":"a\\b"}]})", "single stars"},
                    BadPattern{R"({"a":[{"cidr":"10.0.0.0"}]})", "address range"},
                    BadPattern{R"({"a":[{"cidr":"10.0.0.0/33"}]})", "address range"},
                    BadPattern{R"({"a":[{"prefix":{"suffix":"x"}}]})", "prefix wants a string"},
                    BadPattern{R"({"a":[{"prefix":1}]})", "prefix wants a string"},
                    BadPattern{R"({"a":[{"exists":"yes"}]})", "exists wants true or false"},
                    BadPattern{R"({"a":[{"numeric":["<"]}]})", "numeric wants pairs"},
                    BadPattern{R"({"a":[{"numeric":["!",1]}]})", "numeric wants pairs"},
                    BadPattern{R"({"a":[{"anything-but":[]}]})", "at least one value"},
                    BadPattern{R"({"a":[{"anything-but":{"numeric":[]}}]})", "does not know this operator"},
                    BadPattern{R"({"a":[["x"]]})", "a matcher is"}, BadPattern{R"({"$or":[]})", "$or wants"},
                    BadPattern{R"({"$or":[1]})", "$or wants"}));

TEST(Pattern, NumbersOfItemsAreTextInRecords) {
  const std::string json = R"({"a":{"N":[{"numeric":[">",5]}]}})";
  const Map record = event_of(R"({"a":{"N":"5.5"}})");
  EXPECT_FALSE(Pattern::parse(json)->matches(record));
  const auto pattern = Pattern::parse(json, PatternNumbers::kAlsoInText);
  EXPECT_TRUE(pattern->matches(record));
  EXPECT_FALSE(pattern->matches(event_of(R"({"a":{"N":"5"}})")));
  EXPECT_FALSE(pattern->matches(event_of(R"({"a":{"N":"six"}})")));
}

std::string list_of(size_t count, const std::string& one) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += (out.empty() ? "" : ",") + one;
  return "[" + out + "]";
}

size_t steps(const std::string& pattern, const std::string& event) {
  const auto parsed = Pattern::parse(pattern);
  EXPECT_TRUE(parsed) << pattern.substr(0, 100);
  MatchWork work(1'000'000'000);
  (void)parsed->matches(event_of(event.c_str()), work);
  EXPECT_FALSE(work.spent());
  return 1'000'000'000 - work.left();
}

TEST(Pattern, PlainValuesAreLookedUpWhateverTheirNumber) {
  std::string many = R"(true, null, "1", 2.50)";
  for (int i = 0; i < 5'000; ++i) many += ",\"t" + std::to_string(i) + "\"," + std::to_string(1'000 + i);
  const std::string event = R"({"a":)" + list_of(5'000, "\"other\"") + "}";
  for (const std::string& pattern :
       {R"({"a":[)" + many + "]}", R"({"a":[{"anything-but":[)" + many + ",\"other\"]}]}"}) {
    EXPECT_LT(steps(pattern, event), 20'000u) << "not one for each of the values and each of the elements";
  }
  const auto equal = *Pattern::parse(R"({"a":[)" + many + "]}");
  const auto unlike = *Pattern::parse(R"({"a":[{"anything-but":[)" + many + "]}]}");
  for (const char* value : {"true", "null", "\"1\"", "2.5", "25e-1", "\"t4999\"", "5999"}) {
    const std::string one = std::string(R"({"a":)") + value + "}";
    EXPECT_TRUE(equal.matches(event_of(one.c_str()))) << value;
    EXPECT_FALSE(unlike.matches(event_of(one.c_str()))) << value;
  }
  for (const char* value : {"false", "1", "\"2.5\"", "\"t5000\"", "6000", "\"\""}) {
    const std::string one = std::string(R"({"a":)") + value + "}";
    EXPECT_FALSE(equal.matches(event_of(one.c_str()))) << value;
    EXPECT_TRUE(unlike.matches(event_of(one.c_str()))) << value;
  }
}

TEST(Pattern, WorkIsCountedAndEnds) {
  const std::string pattern = R"({"a":{"b":)" + list_of(100, R"({"prefix":"x"})") + "}}";
  const std::string event = R"({"a":[)" + std::string(R"({"b":)") + list_of(1'000, "\"y\"") + "}]}";
  EXPECT_GT(steps(pattern, event), 100'000u);
  EXPECT_GT(steps(R"({"a":[{"equals-ignore-case":")" + std::string(64'000, 'x') + R"("}]})",
                  R"({"a":")" + std::string(64'000, 'X') + "\"}"),
            1'000u)
      << "long text counts";
  MatchWork work(5'000);
  EXPECT_FALSE(Pattern::parse(pattern)->matches(event_of(event.c_str()), work));
  EXPECT_TRUE(work.spent());
  EXPECT_EQ(work.left(), 0u);
  EXPECT_FALSE(work.take(1));
}

// The product of both lengths would be 10^10.
TEST(Pattern, AWildcardTakesTimeInProportionToTheText) {
  const auto pattern = Pattern::parse(R"({"a":[{"wildcard":"*)" + std::string(70'000, 'a') + R"(b*"}]})");
  ASSERT_TRUE(pattern);
  const std::string as(140'000, 'a');
  EXPECT_FALSE(pattern->matches(event_of((R"({"a":")" + as + "\"}").c_str())));
  EXPECT_TRUE(pattern->matches(event_of((R"({"a":")" + as + "b\"}").c_str())));
}

TEST(Pattern, KnowsWhatItLooksAt) {
  const auto pattern = Pattern::parse(R"({"eventName":["INSERT"],"$or":[{"dynamodb":{"x":[1]}},{"y":[2]}]})");
  ASSERT_TRUE(pattern);
  EXPECT_TRUE(pattern->looks_at("eventName"));
  EXPECT_TRUE(pattern->looks_at("dynamodb"));
  EXPECT_FALSE(pattern->looks_at("x"));
}

}  // namespace
}  // namespace freshet
