#include "tables/value/decimal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "tables/value/encoding.h"

namespace freshet {
namespace {

Decimal number(std::string_view text) {
  auto parsed = Decimal::parse(text);
  EXPECT_TRUE(parsed) << text << ": " << parsed.error().message;
  return parsed.value_or(Decimal());
}

std::string refusal(std::string_view text) {
  auto parsed = Decimal::parse(text);
  EXPECT_FALSE(parsed) << text;
  if (parsed) return {};
  EXPECT_EQ(parsed.error().code, ErrorCode::kValidation);
  return parsed.error().message;
}

std::string ordered(const Decimal& number) {
  std::string out;
  number.append_ordered(out);
  return out;
}

// As answers spell it.
std::string spelled(std::string_view bytes) {
  std::string out(encoding::kMaxNumberText, '?');
  out.resize(encoding::spell_number(bytes, out.data()));
  return out;
}

const char* const kOverflow =
    "Number overflow. Attempting to store a number with magnitude larger than supported range";
const char* const kUnderflow =
    "Number underflow. Attempting to store a number with magnitude smaller than supported range";
const char* const kDigits = "Attempting to store more than 38 significant digits in a Number";

TEST(Decimal, CanonicalSpelling) {
  const std::pair<const char*, const char*> kCases[] = {
      {"0", "0"},
      {"-0", "0"},
      {"0e500", "0"},
      {"000.000", "0"},
      {"1", "1"},
      {"+1", "1"},
      {"-1", "-1"},
      {"0012.500", "12.5"},
      {"1e3", "1000"},
      {"1E+3", "1000"},
      {"1e-3", "0.001"},
      {"-.5", "-0.5"},
      {"5.", "5"},
      {"100", "100"},
      {"1.0e1", "10"},
      {"120e-1", "12"},
      {"12345e-3", "12.345"},
      {"0.000120", "0.00012"},
      {"1700000000000", "1700000000000"},
      {"99999999999999999999999999999999999999", "99999999999999999999999999999999999999"},
      {"0.1234567890123456789012345678901234567", "0.1234567890123456789012345678901234567"},
  };
  for (const auto& [text, canonical] : kCases) EXPECT_EQ(number(text).to_string(), canonical) << text;
  EXPECT_EQ(number("1e-130").to_string(), "0." + std::string(129, '0') + "1");
  EXPECT_EQ(number("1e125").to_string(), "1" + std::string(125, '0'));
}

TEST(Decimal, RefusesWhatTheServiceRefuses) {
  EXPECT_EQ(refusal(""), "The parameter cannot be converted to a numeric value");
  for (const char* text :
       {"-", "+", ".", "abc", " 1", "1 ", "1e", "1e+", "1e1.5", "0x1", "NaN", "Infinity", "1,5", "--1", "1.2.3"}) {
    EXPECT_EQ(refusal(text), std::string("The parameter cannot be converted to a numeric value: ") + text);
  }
  EXPECT_EQ(refusal("123456789012345678901234567890123456789"), kDigits);
  EXPECT_EQ(refusal("1.00000000000000000000000000000000000001"), kDigits);
  EXPECT_EQ(refusal("1e126"), kOverflow);
  EXPECT_EQ(refusal("-10e125"), kOverflow);
  EXPECT_EQ(refusal("1e99999999999999999999999999"), kOverflow);
  EXPECT_EQ(refusal("1e-131"), kUnderflow);
  EXPECT_EQ(refusal("1e-99999999999999999999999999"), kUnderflow);
  EXPECT_LT(refusal(std::string(1u << 20, 'x')).size(), 300u) << "the message does not repeat a megabyte";
}

TEST(Decimal, EdgesOfTheRange) {
  std::string nines(38, '9');
  EXPECT_EQ(number(nines + "e88").to_string(), nines + std::string(88, '0'));
  EXPECT_EQ(number("1.5e-130").to_string(), "0." + std::string(129, '0') + "15");
  EXPECT_EQ(number("1" + std::string(300, '0') + "e-300"), number("1"));
  EXPECT_EQ(number("0." + std::string(300, '0') + "1e301"), number("1"));
  EXPECT_EQ(number("1" + std::string(38, '0')), number("1e38")) << "trailing zeros are no significant digits";
}

TEST(Decimal, Integers) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  for (int64_t v : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{10}, int64_t{1700000000000}, kMax, kMin}) {
    Decimal d(v);
    bool fits = false;
    EXPECT_EQ(d.to_int64(fits), v);
    EXPECT_TRUE(fits);
    EXPECT_EQ(d.to_string(), std::to_string(v));
    EXPECT_EQ(d, number(std::to_string(v)));
    EXPECT_EQ(d.floor_int64(), v);
  }
  for (const char* text : {"0.5", "9223372036854775808", "-9223372036854775809", "1e30", "1e125", "1e-130"}) {
    bool fits = true;
    number(text).to_int64(fits);
    EXPECT_FALSE(fits) << text;
  }
  EXPECT_EQ(number("1.9").floor_int64(), 1);
  EXPECT_EQ(number("-1.1").floor_int64(), -2);
  EXPECT_EQ(number("1e-130").floor_int64(), 0);
  EXPECT_EQ(number("-1e-130").floor_int64(), -1);
  EXPECT_EQ(number("9223372036854775807.5").floor_int64(), kMax);
  EXPECT_EQ(number("-9223372036854775807.5").floor_int64(), kMin);
  EXPECT_EQ(number("-9223372036854775808.5").floor_int64(), kMin);
  EXPECT_EQ(number("99999999999999999999.5").floor_int64(), kMax);
  EXPECT_EQ(number("1e40").floor_int64(), kMax);
  EXPECT_EQ(number("-1e40").floor_int64(), kMin);
}

TEST(Decimal, SumsThatNeedMoreThan38DigitsAreRefused) {
  auto sum = [](const char* a, const char* b) { return Decimal::add(number(a), number(b)); };
  EXPECT_EQ(sum("1e38", "1").error().message, kOverflow);
  EXPECT_EQ(sum("1e125", "1e-130").error().message, kOverflow);
  EXPECT_EQ(sum("99999999999999999999999999999999999999", "0.1").error().message, kOverflow);
  EXPECT_EQ(sum("5e38", "-4").error().message, kOverflow);
  EXPECT_EQ(sum("9e125", "1e125").error().message, kOverflow);
  EXPECT_EQ(Decimal::subtract(number("1e-130"), number("1.5e-130")).error().message, kUnderflow);
  EXPECT_EQ(sum("99999999999999999999999999999999999999", "1").value().to_string(), "1" + std::string(38, '0'));
  EXPECT_EQ(sum("1e38", "-1").value().to_string(), std::string(38, '9'));
  EXPECT_EQ(sum("0.1", "0.2").value().to_string(), "0.3");
  EXPECT_EQ(sum("1.5", "-1.5").value(), Decimal());
  EXPECT_EQ(Decimal().negated(), Decimal());
}

TEST(Decimal, BilledSize) {
  EXPECT_EQ(number("1").billed_size(), 2u);
  EXPECT_EQ(number("-12").billed_size(), 2u);
  EXPECT_EQ(number("123").billed_size(), 3u);
  EXPECT_EQ(number("1e100").billed_size(), 2u);
  EXPECT_EQ(number(std::string(38, '9')).billed_size(), 20u);
}

// The page docs/formats.md shows these bytes.
TEST(Decimal, OrderedFormIsTheDocumentedOne) {
  EXPECT_EQ(ordered(Decimal()), "\x80");
  EXPECT_EQ(ordered(number("1")), "\xc1\x02");
  EXPECT_EQ(ordered(number("1700000000000")), "\xc7\x03\x8c");
  EXPECT_EQ(ordered(number("0.5")), "\xc0\x64");
  EXPECT_EQ(ordered(number("-120")), "\x3d\xfc\xd7");
  EXPECT_EQ(ordered(number("1e-130")), std::string("\x81\x00\x02", 3));
  EXPECT_EQ(ordered(number("1e-128")), "\x81\x01\x02");
  EXPECT_EQ(ordered(number("-1e-130")), "\x7e\xff\xfd");
  EXPECT_EQ(ordered(number("9e125")), "\xff\xb4");
}

TEST(Decimal, TheOrderedFormIsSpelledAsTheNumber) {
  const std::string nines(38, '9');
  for (const std::string& text :
       {std::string("0"), std::string("-1"), std::string("10"), std::string("100"), std::string("0.1"),
        std::string("0.01"), std::string("-12.5"), std::string("1e125"), std::string("1e-130"), "-" + nines + "e87",
        "-" + nines + "e-167", nines, "0." + nines, "-0.0" + nines}) {
    EXPECT_EQ(spelled(ordered(number(text))), number(text).to_string()) << text;
  }
  EXPECT_EQ(spelled(ordered(number("-" + nines + "e-167"))).size(), 170u) << "the longest there is";
  EXPECT_EQ(spelled(""), "0");
}

// --- Against a plain reference: decimal texts, aligned and compared or added digit by digit ---

struct Plain {
  bool negative = false;
  std::string digits;  // Without leading zeros; "" is zero.
  int exponent = 0;
};

std::string strip_front(std::string s) {
  s.erase(0, std::min(s.find_first_not_of('0'), s.size()));
  return s;
}

void align(Plain& a, Plain& b) {
  int exponent = std::min(a.exponent, b.exponent);
  for (Plain* p : {&a, &b}) {
    if (!p->digits.empty()) p->digits.append(static_cast<size_t>(p->exponent - exponent), '0');
    p->exponent = exponent;
  }
  size_t width = std::max(a.digits.size(), b.digits.size());
  for (Plain* p : {&a, &b}) p->digits.insert(0, width - p->digits.size(), '0');
}

int compare_plain(Plain a, Plain b) {
  align(a, b);
  int a_sign = strip_front(a.digits).empty() ? 0 : a.negative ? -1 : 1;
  int b_sign = strip_front(b.digits).empty() ? 0 : b.negative ? -1 : 1;
  if (a_sign != b_sign) return a_sign < b_sign ? -1 : 1;
  int order = a.digits.compare(b.digits);
  order = order < 0 ? -1 : order > 0 ? 1 : 0;
  return a_sign < 0 ? -order : order;
}

std::string add_texts(const std::string& a, const std::string& b) {
  std::string sum(a.size() + 1, '0');
  int carry = 0;
  for (size_t i = a.size(); i-- > 0;) {
    int digit = a[i] - '0' + b[i] - '0' + carry;
    sum[i + 1] = static_cast<char>('0' + digit % 10);
    carry = digit / 10;
  }
  sum[0] = static_cast<char>('0' + carry);
  return sum;
}

std::string subtract_texts(const std::string& a, const std::string& b) {  // a >= b
  std::string difference(a.size(), '0');
  int borrow = 0;
  for (size_t i = a.size(); i-- > 0;) {
    int digit = a[i] - b[i] - borrow;
    borrow = digit < 0;
    difference[i] = static_cast<char>('0' + digit + 10 * borrow);
  }
  return difference;
}

Plain add_plain(Plain a, Plain b) {
  align(a, b);
  if (a.negative == b.negative) return {a.negative, strip_front(add_texts(a.digits, b.digits)), a.exponent};
  if (a.digits >= b.digits) return {a.negative, strip_front(subtract_texts(a.digits, b.digits)), a.exponent};
  return {b.negative, strip_front(subtract_texts(b.digits, a.digits)), a.exponent};
}

std::string text_of(const Plain& p) {
  return (p.negative ? "-" : "") + (p.digits.empty() ? "0" : p.digits) + "e" + std::to_string(p.exponent);
}

// Lengths and exponents are drawn so that neighbours, ties, alignments and both ends of the range all occur.
Plain random_plain(Random& random) {
  Plain p;
  p.negative = random.below(2) == 0;
  size_t length = random.below(4) == 0 ? random.below(39) : random.below(5);
  for (size_t i = 0; i < length; ++i) {
    bool edge = random.below(3) == 0;
    p.digits += static_cast<char>('0' + (edge ? 9 * random.below(2) : random.below(10)));
  }
  p.digits = strip_front(p.digits);
  int digits = static_cast<int>(p.digits.size());
  if (random.below(3) == 0) {
    p.exponent = -130 - digits + 1 + static_cast<int>(random.below(256));
  } else {
    p.exponent = static_cast<int>(random.below(40)) - 20;
  }
  return p;
}

TEST(DecimalProperty, OrderSumAndEncodingAgreeWithTheReference) {
  constexpr uint64_t kSeed = 20261121;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  for (int round = 0; round < 40'000; ++round) {
    Plain pa = random_plain(random);
    Plain pb = random.below(4) == 0 ? pa : random_plain(random);
    if (random.below(6) == 0 && !pb.digits.empty()) pb.digits.back() = static_cast<char>('0' + random.below(10));
    pb.digits = strip_front(pb.digits);
    std::string both = text_of(pa) + " and " + text_of(pb);
    auto parsed_a = Decimal::parse(text_of(pa));
    auto parsed_b = Decimal::parse(text_of(pb));
    ASSERT_TRUE(parsed_a) << text_of(pa);
    if (!parsed_b) continue;  // The changed digit may have left the range.
    const Decimal& a = *parsed_a;
    const Decimal& b = *parsed_b;

    int expected = compare_plain(pa, pb);
    ASSERT_EQ(a <=> b, expected <=> 0) << both;
    ASSERT_EQ(a == b, expected == 0) << both;
    std::string bytes_a = ordered(a);
    ASSERT_EQ(bytes_a.compare(ordered(b)) <=> 0, expected <=> 0) << both;
    ASSERT_LE(bytes_a.size(), 22u);

    bytes_a += "tail";
    std::string_view rest = bytes_a;
    Decimal back;
    ASSERT_TRUE(Decimal::read_ordered(rest, back)) << text_of(pa);
    ASSERT_EQ(back, a) << text_of(pa);
    ASSERT_EQ(rest, "tail");
    ASSERT_EQ(number(a.to_string()), a);
    ASSERT_EQ(spelled(ordered(a)), a.to_string());

    auto wanted = Decimal::parse(text_of(add_plain(pa, pb)));
    auto got = Decimal::add(a, b);
    ASSERT_EQ(got.has_value(), wanted.has_value()) << both;
    auto difference = Decimal::subtract(a, b.negated());
    ASSERT_EQ(difference.has_value(), got.has_value()) << both;
    if (!got) continue;
    ASSERT_EQ(*got, *wanted) << both;
    ASSERT_EQ(*difference, *got) << both;
  }
}

uint64_t prefix(const Decimal& d) {
  char bytes[8] = {};
  std::string encoded = ordered(d);
  std::memcpy(bytes, encoded.data(), std::min<size_t>(8, encoded.size()));
  uint64_t value = 0;
  for (char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

TEST(DecimalProperty, EightBytesDecideBetweenIntegersBelow10To14) {
  constexpr uint64_t kSeed = 7;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  constexpr int64_t kBound = 100'000'000'000'000;
  for (int round = 0; round < 50'000; ++round) {
    int64_t a = static_cast<int64_t>(random.below(kBound)) >> random.below(46);
    int64_t b = random.below(2) ? a + 1 : static_cast<int64_t>(random.below(kBound)) >> random.below(46);
    if (b == kBound) continue;
    if (random.below(4) == 0) a = -a;
    if (random.below(4) == 0) b = -b;
    ASSERT_EQ(prefix(Decimal(a)) <=> prefix(Decimal(b)), a <=> b) << a << " and " << b;
  }
}

TEST(DecimalProperty, DamagedEncodingsAreRefusedOrCanonical) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  int refused = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string bytes = ordered(number(text_of(random_plain(random))));
    bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    if (random.below(4) == 0) bytes.resize(random.below(bytes.size() + 1));
    ASSERT_LE(spelled(bytes).size(), encoding::kMaxNumberText) << "whatever the bytes are";
    std::string_view rest = bytes;
    Decimal d;
    if (!Decimal::read_ordered(rest, d)) {
      ++refused;
      continue;
    }
    ASSERT_EQ(ordered(d), bytes.substr(0, bytes.size() - rest.size())) << "one number, one encoding";
    ASSERT_EQ(number(d.to_string()), d);
  }
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace freshet
