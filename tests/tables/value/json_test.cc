#include "tables/value/json.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "base/random.h"
#include "tables/value/json_reader.h"
#include "tables/value/nesting.h"
#include "tests/tables/value/attribute_json.h"

namespace freshet {
namespace {

std::string json_of(const Item& item) {
  std::string out;
  append_item_json(out, item);
  std::string encoded;
  append_item_json(encoded, ItemRef::encode(item));
  EXPECT_EQ(out, encoded);
  return out;
}

std::string attribute(const Value& value) {
  std::string out;
  append_attribute_json(out, value);
  return out;
}

std::string plain(const Value& value) {
  std::string out;
  append_plain_json(out, value);
  return out;
}

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

template <class T>
std::string refusal_in_json(const Result<T>& result, ErrorCode code) {
  EXPECT_FALSE(result);
  if (result) return {};
  EXPECT_EQ(error_name(result.error().code), error_name(code)) << result.error().message;
  return result.error().message;
}

std::string invalid_attribute(std::string_view json) {
  return refusal_in_json(parse_attribute_json(json), ErrorCode::kValidation);
}
std::string wrong_attribute(std::string_view json) {
  return refusal_in_json(parse_attribute_json(json), ErrorCode::kSerialization);
}
std::string malformed(std::string_view json) {
  return refusal_in_json(parse_plain_json(json), ErrorCode::kSerialization);
}

Decimal number_in_json(std::string_view text) {
  return Decimal::parse(text).value();
}

TEST(JsonWriting, EveryType) {
  Item item{{"s", "te\"xt"},
            {"n", number_in_json("-1.50")},
            {"b", Binary{"\x01\x02"}},
            {"t", Value::boolean(true)},
            {"null", Null{}},
            {"m", Map{{"x", List{{Value("a"), Value(Map{})}}}}},
            {"ss", StringSet{{"a", "b"}}},
            {"ns", NumberSet{{number_in_json("1"), number_in_json("2.5")}}},
            {"bs", BinarySet{{"a"}}}};
  EXPECT_EQ(
      json_of(item),
      R"({"b":{"B":"AQI="},"bs":{"BS":["YQ=="]},"m":{"M":{"x":{"L":[{"S":"a"},{"M":{}}]}}},"n":{"N":"-1.5"},)"
      R"("ns":{"NS":["1","2.5"]},"null":{"NULL":true},"s":{"S":"te\"xt"},"ss":{"SS":["a","b"]},"t":{"BOOL":true}})");
  std::string out;
  append_plain_json(out, item);
  EXPECT_EQ(out, R"({"b":"AQI=","bs":["YQ=="],"m":{"x":["a",{}]},"n":-1.5,"ns":[1,2.5],"null":null,"s":"te\"xt",)"
                 R"("ss":["a","b"],"t":true})");
  std::string encoded;
  append_plain_json(encoded, ItemRef::encode(item));
  EXPECT_EQ(encoded, out);
  EXPECT_EQ(json_of({}), "{}");
  EXPECT_EQ(attribute(Value(List{})), R"({"L":[]})");
  std::string view;
  append_attribute_json(view, *ItemRef::encode(item).find("m"));
  append_plain_json(view, *ItemRef::encode(item).find("ns"));
  EXPECT_EQ(view, R"({"M":{"x":{"L":[{"S":"a"},{"M":{}}]}}}[1,2.5])");
}

TEST(JsonWriting, Escapes) {
  EXPECT_EQ(quoted(""), "\"\"");
  EXPECT_EQ(quoted("a/b"), "\"a/b\"");
  EXPECT_EQ(quoted("\"\\\b\f\n\r\t"), R"("\"\\\b\f\n\r\t")");
  EXPECT_EQ(quoted(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(quoted("\xc3\xa4\xf0\x9f\x98\x80"), "\"\xc3\xa4\xf0\x9f\x98\x80\"");
  EXPECT_EQ(quoted("a\xff"
                   "b\xc3"),
            "\"a\xef\xbf\xbd"
            "b\xef\xbf\xbd\"")
      << "never invalid UTF-8, whatever comes in";
}

TEST(JsonWriting, EveryByteAtEveryPlace) {
  // Text is looked at in blocks, and in such that overlap: what needs an escape must be seen wherever it stands.
  constexpr size_t kLongest = 36;
  for (unsigned c = 0; c < 0x100; ++c) {
    const std::string one(1, static_cast<char>(c));
    const std::string alone = quoted(std::string_view(one));
    const std::string inner = alone.substr(1, alone.size() - 2);
    for (size_t behind = 0; behind < kLongest; ++behind) {
      for (size_t before = 0; before + behind < kLongest; ++before) {
        const std::string begin(before, 'x');
        const std::string end(behind, '~');
        EXPECT_EQ(quoted(std::string_view(begin + one + end)), '"' + begin + inner + end + '"')
            << "byte " << c << " behind " << before << " and before " << behind;
      }
    }
  }
}

TEST(JsonWriting, ItemsOfAPage) {
  std::vector<ItemRef> items;
  const auto page = [&] {
    std::string out = "kept:";
    append_items_json(out, items);
    return out;
  };
  EXPECT_EQ(page(), "kept:[]");
  std::string expected = "kept:[";
  for (size_t i = 0; i < 3; ++i) {
    const Item item = parse_item_json(R"({"a":{"S":"\u0001\""},"b":{"N":"1e100"},"c":{"NS":["-0.5","7"]}})").value();
    items.push_back(ItemRef::encode(item));
    expected += (i == 0 ? "" : ",") + json_of(item);
  }
  EXPECT_EQ(page(), expected + "]");
}

TEST(JsonReading, EveryType) {
  auto item = parse_item_json(
      R"( {"s":{"S":"a\u00e4\ud83d\ude00\n"}, "n":{"N":"1.50"}, "b":{"B":"AQI="}, "t":{"BOOL":false}, "z":{"NULL":true},
           "m":{"M":{"x":{"L":[{"S":""},{"M":{}}]}}}, "ss":{"SS":["b","a"]}, "ns":{"NS":["10","9"]}, "bs":{"BS":["Yg==","YQ=="]},
           "e":{"S":"x","N":null} } )");
  ASSERT_TRUE(item) << item.error().message;
  EXPECT_EQ(*item, (Item{{"s", "a\xc3\xa4\xf0\x9f\x98\x80\n"},
                         {"n", number_in_json("1.5")},
                         {"b", Binary{"\x01\x02"}},
                         {"t", Value::boolean(false)},
                         {"z", Null{}},
                         {"m", Map{{"x", List{{Value(""), Value(Map{})}}}}},
                         {"ss", StringSet{{"a", "b"}}},
                         {"ns", NumberSet{{number_in_json("9"), number_in_json("10")}}},
                         {"bs", BinarySet{{"a", "b"}}},
                         {"e", "x"}}));
  EXPECT_EQ(parse_item_json("{}").value(), Item{});
  EXPECT_EQ(parse_item_json(R"({"b":{"S":"1"},"a":{"S":"2"},"b":{"S":"3"}})").value(), (Item{{"a", "2"}, {"b", "3"}}))
      << "the last of two equal names counts";
}

TEST(JsonReading, AttributeRulesOfTheService) {
  const std::string prefix = "One or more parameter values were invalid: ";
  const std::string empty = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
  EXPECT_EQ(invalid_attribute("{}"), empty);
  EXPECT_EQ(invalid_attribute(R"({"X":"a"})"), empty);
  EXPECT_EQ(invalid_attribute(R"({"S":null})"), empty);
  EXPECT_EQ(invalid_attribute(R"({"S":"a","N":"1"})"),
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported "
            "datatypes");
  EXPECT_EQ(invalid_attribute(R"({"NULL":false})"), prefix + "Null attribute value types must have the value of true");
  EXPECT_EQ(invalid_attribute(R"({"N":"one"})"), "The parameter cannot be converted to a numeric value: one");
  EXPECT_EQ(invalid_attribute(R"({"NS":["1","x"]})"), "The parameter cannot be converted to a numeric value: x");
  EXPECT_EQ(invalid_attribute(R"({"N":"1e999"})"),
            "Number overflow. Attempting to store a number with magnitude larger than supported range");
  EXPECT_EQ(invalid_attribute(R"({"NS":[]})"), prefix + "An number set  may not be empty");
  EXPECT_EQ(invalid_attribute(R"({"SS":[]})"), prefix + "An string set  may not be empty");
  EXPECT_EQ(invalid_attribute(R"({"BS":[]})"), prefix + "Binary sets should not be empty");
  EXPECT_EQ(invalid_attribute(R"({"SS":["a","a"]})"), prefix + "Input collection [a, a] contains duplicates.");
  EXPECT_EQ(invalid_attribute(R"({"NS":["1","1.0"]})"), "Input collection contains duplicates");
}

TEST(JsonReading, NamesOfAttributesAreBounded) {
  const auto error = [](const std::string& json) {
    const auto item = parse_item_json(json);
    return item ? std::string() : std::string(error_name(item.error().code)) + ": " + item.error().message;
  };
  const std::string longest(65'535, 'x');
  const std::string too_long = "ValidationException: Attribute name is too large, must be less than 65536 bytes";
  EXPECT_EQ(error(R"({")" + longest + R"(":{"S":"a"}})"), "");
  EXPECT_EQ(error(R"({"x)" + longest + R"(":{"S":"a"}})"), too_long);
  EXPECT_EQ(error(R"({"m":{"M":{"x)" + longest + R"(":{"S":"a"}}}})"), too_long);
  EXPECT_EQ(error(R"({"":{"S":"a"}})"), "ValidationException: Empty attribute name");
}

TEST(JsonReading, WrongStructureNamesThePath) {
  EXPECT_EQ(wrong_attribute(R"({"S":1})"), "NUMBER_VALUE cannot be converted to String (at S)");
  EXPECT_EQ(wrong_attribute(R"({"N":1})"), "NUMBER_VALUE cannot be converted to String (at N)");
  EXPECT_EQ(wrong_attribute(R"({"S":true})"), "TRUE_VALUE cannot be converted to String (at S)");
  EXPECT_EQ(wrong_attribute(R"({"BOOL":"true"})"), "STRING_VALUE cannot be converted to Boolean (at BOOL)");
  EXPECT_EQ(wrong_attribute(R"({"S":{}})"), "Start of structure or map found where not expected (at S)");
  EXPECT_EQ(wrong_attribute(R"({"M":[]})"), "Start of list found where not expected (at M)");
  EXPECT_EQ(wrong_attribute(R"({"SS":["a",null]})"), "NULL_VALUE cannot be converted to String (at SS[1])");
  EXPECT_EQ(wrong_attribute(R"("x")"), "STRING_VALUE cannot be converted to Map");
  EXPECT_EQ(wrong_attribute(R"({"M":{"a":{"L":[{"S":"x"},{"S":[]}]}}})"),
            "Start of list found where not expected (at M.a.L[1].S)");
  EXPECT_EQ(
      wrong_attribute(R"({"B":"abc"})"),
      "'abc' can not be converted to a Blob: Base64 encoded length is expected a multiple of 4 bytes but found: 3 "
      "(at B)");
}

TEST(JsonReading, PlainValues) {
  EXPECT_EQ(parse_plain_json(R"({"a":[1,2.50,true,null,"x",{}],"b":1e3})").value(),
            Value(Map{{"a", List{{Value(number_in_json("1")), Value(number_in_json("2.5")), Value::boolean(true),
                                  Value(Null{}), Value("x"), Value(Map{})}}},
                      {"b", number_in_json("1000")}}));
  EXPECT_EQ(parse_plain_json(" 12345678901234567890123456789012345678 ").value(),
            Value(number_in_json("12345678901234567890123456789012345678")))
      << "numbers stay exact";
  EXPECT_EQ(parse_plain_json("\"x\"").value(), Value("x"));
  EXPECT_EQ(parse_plain_json("null").value(), Value(Null{}));
  EXPECT_EQ(parse_plain_json("false").value(), Value::boolean(false));
  EXPECT_EQ(parse_plain_json(R"({"":1})").value(), Value(Map{{"", Value::number(1)}}));
  EXPECT_EQ(refusal_in_json(parse_plain_json(R"({"a":[1e126]})"), ErrorCode::kValidation),
            "Number overflow. Attempting to store a number with magnitude larger than supported range (at a[0])");
  EXPECT_EQ(plain(parse_plain_json(R"([1.0,-0,1E2])").value()), "[1,0,100]");
}

TEST(JsonReading, NestingIsBounded) {
  auto nested = [](size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_TRUE(parse_plain_json(nested(kMaxContainers)));
  const std::string too_deep =
      "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit";
  EXPECT_EQ(
      refusal_in_json(parse_plain_json(nested(kMaxContainers + 1)), ErrorCode::kValidation).substr(0, too_deep.size()),
      too_deep);
  std::string open;
  std::string close;
  for (size_t i = 0; i < kMaxContainers; ++i) {
    open += R"({"M":{"a":)";
    close += "}}";
  }
  EXPECT_TRUE(parse_attribute_json(open + R"({"S":"x"})" + close));
  EXPECT_EQ(invalid_attribute(open + R"({"L":[]})" + close), too_deep);
  for (size_t levels : {200, 1'000, 100'000}) {
    EXPECT_NE(malformed(nested(levels)).find("nested too deeply"), std::string::npos) << levels;
    EXPECT_NE(malformed(std::string(levels, '[')).find("malformed JSON"), std::string::npos) << levels;
  }
}

TEST(JsonReading, MalformedTextIsRefusedWithItsOffset) {
  EXPECT_EQ(malformed(R"({"a":tru})"), "malformed JSON at offset 5 (line 1, column 6): unexpected character");
  EXPECT_EQ(malformed(R"({"a":01})"), "malformed JSON at offset 5 (line 1, column 6): not a number");
  EXPECT_EQ(malformed(R"({"a":"\x"})"), "malformed JSON at offset 6 (line 1, column 7): a wrong escape in a string");
  EXPECT_EQ(malformed("{\"a\":\"\xff\"}"), "malformed JSON at offset 6 (line 1, column 7): not valid UTF-8");
  EXPECT_EQ(malformed("{\"a\":\"x\ny\"}"),
            "malformed JSON at offset 7 (line 1, column 8): a control character inside a string must be escaped");
  EXPECT_EQ(malformed(R"({"a":"x)"), "malformed JSON at offset 7 (line 1, column 8): the text ends inside a string");
  EXPECT_EQ(malformed("{\n \"\u00e4\": 1,\n \"\u00e4\": }"),
            "malformed JSON at offset 19 (line 3, column 7): unexpected character");
  EXPECT_EQ(malformed(""), "malformed JSON at offset 0 (line 1, column 1): there is no value");
  for (const char* json : {" ",
                           "{",
                           "[",
                           "}",
                           "]",
                           "][",
                           "],[",
                           "[1,]",
                           "[,1]",
                           "{,}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{\"a\" 1}",
                           "{a:1}",
                           "{1:2}",
                           "[1 2]",
                           "{}{}",
                           "{},{}",
                           "1 2",
                           "1,2",
                           "[1]]",
                           "[[1]",
                           "[1}",
                           "{\"a\":1]",
                           "nul",
                           "nulll",
                           "truefalse",
                           "+1",
                           ".5",
                           "5.",
                           "1e",
                           "1e+",
                           "-",
                           "--1",
                           "0x1",
                           "NaN",
                           "Infinity",
                           "'a'",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\u12g4\"",
                           "\"\\u12\"",
                           "\"a",
                           "[\"a]",
                           "/**/1",
                           "[1]x",
                           "x[1]",
                           "\xef\xbb\xbf{}",
                           "[1],",
                           ",[1]",
                           ":",
                           "{\"a\"::1}",
                           "{\"a\":1 \"b\":2}",
                           "{\"a\",1}",
                           "[\"a\":1]"}) {
    EXPECT_NE(malformed(json).find("malformed JSON at offset "), std::string::npos) << json;
  }
  EXPECT_FALSE(parse_plain_json(std::string_view("[1]\0", 4)));
  EXPECT_FALSE(parse_plain_json(std::string_view("\0", 1)));
}

TEST(JsonDocument, ViewsAndGetters) {
  JsonDocument document;
  auto body = document.parse(
      R"({"TableName":"T","Limit":10,"Forward":false,"Names":{"#a":"x"},"List":[{"S":"a"},7],"Gone":null,"Half":1.5})");
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(body->size(), 7u);
  EXPECT_EQ(body->string_or("TableName").value(), "T");
  EXPECT_EQ(body->string_or("Other", "none").value(), "none");
  EXPECT_EQ(body->int_or("Limit", 0).value(), 10);
  EXPECT_EQ(body->int_or("Gone", 5).value(), 5) << "null is absent";
  EXPECT_EQ(body->bool_or("Forward", true).value(), false);
  EXPECT_EQ(refusal_in_json(body->string_or("Limit"), ErrorCode::kSerialization),
            "NUMBER_VALUE cannot be converted to String (at Limit)");
  EXPECT_EQ(refusal_in_json(body->int_or("Half", 0), ErrorCode::kSerialization),
            "NUMBER_VALUE cannot be converted to Integer (at Half)");
  EXPECT_EQ(refusal_in_json(body->bool_or("Names", false), ErrorCode::kSerialization),
            "Start of structure or map found where not expected (at Names)");
  EXPECT_FALSE(body->find("Gone"));
  EXPECT_FALSE(body->find("List")->find("S")) << "an array has no members";
  std::vector<std::string> paths;
  for (JsonView element : *body->find("List")) paths.push_back(element.path());
  EXPECT_EQ(paths, (std::vector<std::string>{"List[0]", "List[1]"}));
  EXPECT_EQ(body->find("List")->begin().operator*().find("S")->path(), "List[0].S");
  EXPECT_EQ(body->path(), "");
  EXPECT_EQ(body->find("Names")->find("#a")->name(), "#a");
  EXPECT_EQ(body->find("Half")->text(), "1.5") << "as it was written";

  ASSERT_TRUE(document.parse("[]")) << "the same document again";
  EXPECT_FALSE(document.parse("{"));
  ASSERT_TRUE(document.parse(R"({"a":"b"})"));
}

TEST(JsonDocument, EveryNameIsFoundAndNoOther) {
  JsonDocument document;
  const auto one = document.parse(R"({"a":1,"\u0041\"":2,"":3,"a":4})");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->int_or("a", 0).value(), 4) << "the last of two";
  EXPECT_EQ(one->int_or("A\"", 0).value(), 2);
  EXPECT_EQ(one->int_or("", 0).value(), 3);
  EXPECT_FALSE(one->find("b"));
  EXPECT_FALSE(document.parse("{}")->find(""));
  // Names of every length that begin with every letter, of which those with an odd number are there.
  const auto name_of = [](size_t i) { return std::string(1 + i / 26, static_cast<char>('a' + i % 26)); };
  constexpr size_t kNames = 1000;
  std::string text = "{";
  for (size_t i = 1; i < kNames; i += 2) text += (i > 1 ? ",\"" : "\"") + name_of(i) + "\":" + std::to_string(i);
  const auto many = document.parse(text + "}");
  ASSERT_TRUE(many) << many.error().message;
  for (size_t i = 0; i < kNames; ++i) {
    const auto number_in_json = static_cast<int64_t>(i);
    EXPECT_EQ(many->int_or(name_of(i), -1).value(), i % 2 == 1 ? number_in_json : -1) << name_of(i);
  }
}

TEST(JsonDocument, LargeDocuments) {
  std::string text(3u << 20, 'x');
  JsonDocument document;
  auto large = document.parse("{\"a\":\"" + text + "\",\"b\":[" + std::string(1000, '0').replace(1, 0, ",") + "]}");
  EXPECT_FALSE(large) << "no number has leading zeros";
  large = document.parse("{\"a\":\"" + text + "\"}");
  ASSERT_TRUE(large);
  EXPECT_EQ(large->string_or("a").value(), text);
  std::string many = "{\"k0\":0";
  for (int i = 20'000; i > 0; --i) many += ",\"k" + std::to_string(i % 15'000) + "\":" + std::to_string(i);
  auto value = parse_plain_json(many + "}");
  ASSERT_TRUE(value);
  const Map& map = *value->get_if<Map>();
  EXPECT_EQ(map.size(), 15'000u);
  EXPECT_EQ(map.int_or("k5000", 0), 5000);
  EXPECT_EQ(map.int_or("k0", 0), 15'000);
}

TEST(JsonProperty, DamagedTextNeverPassesUnlessItRoundTrips) {
  constexpr uint64_t kSeed = 99;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  const std::string good =
      R"({"id":{"S":"a\u00e4\"\\x"},"n":{"N":"-12.5e3"},"l":{"L":[{"NULL":true},{"BOOL":false},{"B":"AQI="}]},)"
      R"("m":{"M":{"in":{"SS":["a","b"]}}}})";
  constexpr std::string_view kBytes = "{}[]\",:\\0123456789.eE+-truefalsn \n\x01\xff\xc3";
  JsonDocument document;
  int accepted = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string text = good;
    for (size_t n = 1 + random.below(3); n > 0; --n) {
      size_t where = random.below(text.size());
      char c = kBytes[random.below(kBytes.size())];
      switch (random.below(3)) {
        case 0:
          text[where] = c;
          break;
        case 1:
          text.insert(where, 1, c);
          break;
        default:
          text.erase(where, 1 + random.below(3));
      }
    }
    auto value = parse_plain_json(text);
    if (!value) {
      ASSERT_FALSE(value.error().message.empty());
      continue;
    }
    ++accepted;
    std::string out = plain(*value);
    auto again = parse_plain_json(out);
    ASSERT_TRUE(again) << text << " became " << out;
    ASSERT_EQ(*again, *value) << text;
    (void)parse_item_json(text);
  }
  EXPECT_GT(accepted, 1'000);
}

}  // namespace
}  // namespace freshet
