// The number codec: lines of text as numbers, through every way that a number is written and read; and the bytes
// themselves as encodings.
#include <compare>
#include <optional>

#include "tables/value/decimal.h"
#include "tests/fuzz/target.h"

namespace freshet::fuzz {
namespace {

constexpr size_t kMaxNumbers = 16;

int sign(std::strong_ordering order) {
  return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

std::string encoded(const Decimal& number) {
  std::string bytes;
  number.append_ordered(bytes);
  return bytes;
}

void check_one(const Decimal& number) {
  const std::string text = number.to_string();
  const auto again = Decimal::parse(text);
  require(again && *again == number, "what a number is written as is not that number", text);
  require(again->to_string() == text, "a number's spelling is not canonical", text);
  const std::string bytes = encoded(number);
  require(!bytes.empty() && bytes.size() <= 22, "the encoding's size", text);
  std::string_view in = bytes;
  Decimal decoded;
  require(Decimal::read_ordered(in, decoded) && in.empty() && decoded == number, "the encoding is another number",
          text);
  require(number.negated().negated() == number, "negated twice", text);
  require(sign(number.negated() <=> Decimal()) == -sign(number <=> Decimal()), "negated once", text);
  bool fits = false;
  const int64_t integer = number.to_int64(fits);
  require(!fits || (Decimal(integer) == number && number.floor_int64() == integer), "as an integer", text);
  require(number.billed_size() >= 1 && number.billed_size() <= 21, "the billed size", text);
}

void check_two(const Decimal& a, const Decimal& b) {
  const int order = sign(a <=> b);
  require(order == -sign(b <=> a), "the order of two numbers is not that of the swapped ones", a.to_string());
  require((order == 0) == (a == b), "order and equality differ", a.to_string());
  require(order == sign(encoded(a).compare(encoded(b)) <=> 0), "encodings order otherwise", a.to_string());
  const auto sum = Decimal::add(a, b);
  const auto swapped = Decimal::add(b, a);
  require(sum.has_value() == swapped.has_value() && (!sum || *sum == *swapped), "a + b is not b + a", a.to_string());
  if (sum) {
    check_one(*sum);
    const auto back = Decimal::subtract(*sum, b);
    require(back && *back == a, "a + b - b is not a", a.to_string() + " and " + b.to_string());
  }
  const auto difference = Decimal::subtract(a, b);
  require(!difference || sign(*difference <=> Decimal()) == order, "the sign of a - b", a.to_string());
}

// Bytes that are an encoding are the only one of their number.
void check_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    std::string_view rest = bytes;
    Decimal number;
    if (!Decimal::read_ordered(rest, number)) {
      bytes.remove_prefix(1);
      continue;
    }
    require(rest.size() < bytes.size(), "an encoding of no bytes");
    check_one(number);
    require(encoded(number) == bytes.substr(0, bytes.size() - rest.size()), "two encodings of one number",
            number.to_string());
    bytes = rest;
  }
}

}  // namespace
}  // namespace freshet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace freshet;
  const std::string_view text = fuzz::as_text(data, size);
  std::vector<Decimal> numbers;
  for (const std::string_view line : fuzz::split(text, "\n")) {
    if (numbers.size() == fuzz::kMaxNumbers) break;
    const auto number = Decimal::parse(line);
    if (!number) {
      fuzz::require(!number.error().message.empty(), "an error without a message");
      continue;
    }
    fuzz::check_one(*number);
    for (const Decimal& other : numbers) fuzz::check_two(*number, other);
    numbers.push_back(*number);
  }
  fuzz::check_bytes(text);
  return 0;
}
