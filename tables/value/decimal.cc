#include "tables/value/decimal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "tables/value/encoding.h"

namespace freshet {
namespace {

using u128 = Decimal::Coefficient;

constexpr int kMaxDigits = 38;
constexpr int kMaxMagnitude = 125;  // The largest power of ten of the leading digit.
constexpr int kMinMagnitude = -130;
constexpr uint64_t kTen18 = 1'000'000'000'000'000'000u;
constexpr size_t kShownText = 128;  // The most bytes of a refused number in the message.

constexpr std::array<u128, 39> make_powers() {
  std::array<u128, 39> powers{};
  powers[0] = 1;
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}
constexpr std::array<u128, 39> kPowers = make_powers();

int bit_length(u128 v) {
  auto high = static_cast<uint64_t>(v >> 64);
  return high ? 128 - std::countl_zero(high) : 64 - std::countl_zero(static_cast<uint64_t>(v));
}

// Decimal digits of v; 0 for 0.
int count_digits(u128 v) {
  int guess = bit_length(v) * 1233 >> 12;  // floor(bits * log10(2)): right or one too small.
  return guess < 39 && v >= kPowers[guess] ? guess + 1 : guess;
}

// Removes trailing zeros of a value that is not 0 and counts them.
int strip_zeros(u128& v) {
  int zeros = 0;
  while (v > std::numeric_limits<uint64_t>::max() && v % 10 == 0) v /= 10, ++zeros;
  if (v > std::numeric_limits<uint64_t>::max()) return zeros;
  auto small = static_cast<uint64_t>(v);
  while (small % 10 == 0) small /= 10, ++zeros;
  v = small;
  return zeros;
}

// Writes the digits of v, 40 at most, and returns how many.
int write_digits(u128 v, char* out) {
  char reversed[40];
  int n = 0;
  while (v >= kTen18) {
    auto low = static_cast<uint64_t>(v % kTen18);
    v /= kTen18;
    for (int i = 0; i < 18; ++i, low /= 10) reversed[n++] = static_cast<char>('0' + low % 10);
  }
  for (auto low = static_cast<uint64_t>(v); low; low /= 10) reversed[n++] = static_cast<char>('0' + low % 10);
  for (int i = 0; i < n; ++i) out[i] = reversed[n - 1 - i];
  return n;
}

tl::unexpected<Error> too_many_digits() {
  return invalid("Attempting to store more than 38 significant digits in a Number");
}

tl::unexpected<Error> overflow() {
  return invalid("Number overflow. Attempting to store a number with magnitude larger than supported range");
}

Result<void> check_range(int64_t magnitude) {
  if (magnitude > kMaxMagnitude) return overflow();
  if (magnitude < kMinMagnitude) {
    return invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range");
  }
  return {};
}

tl::unexpected<Error> not_a_number(std::string_view text) {
  if (text.empty()) return invalid("The parameter cannot be converted to a numeric value");
  std::string message = "The parameter cannot be converted to a numeric value: ";
  message += text.substr(0, kShownText);
  if (text.size() > kShownText) message += "...";
  return invalid(std::move(message));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "E" has been read; the sign and digits of an exponent. Saturates far outside of the range.
bool read_exponent(std::string_view text, int64_t& exponent) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty()) return false;
  exponent = 0;
  for (char c : text) {
    if (!is_digit(c)) return false;
    if (exponent < 1'000'000'000'000) exponent = exponent * 10 + (c - '0');
  }
  if (negative) exponent = -exponent;
  return true;
}

// The significant digits of a number while they are read.
struct Digits {
  u128 coefficient = 0;
  int64_t count = 0;     // Significant digits, without the trailing zeros below.
  int64_t zeros = 0;     // Zeros after the last digit that is not zero.
  int64_t fraction = 0;  // Digits after the point.
  bool any = false;

  void add(char c, bool after_point) {
    any = true;
    fraction += after_point;
    if (c == '0') {
      zeros += count > 0;
      return;
    }
    count += zeros + 1;
    if (count <= kMaxDigits) {
      coefficient = coefficient * kPowers[static_cast<size_t>(zeros) + 1] + static_cast<unsigned>(c - '0');
    }
    zeros = 0;
  }
};

int floor_half(int v) {
  return (v - (v & 1)) / 2;
}

// Header bytes of the ordered form, for positive numbers: 0x81 and a second byte for the two smallest exponents of
// base 100, which would not fit otherwise; 0x82.. for the others. Negative numbers are the complement; zero is 0x80.
constexpr int kZeroHeader = 0x80;
constexpr int kSmallHeader = 0x81;
constexpr int kFirstSmall = -65;
constexpr int kFirstCommon = -63;
constexpr int kMaxPairs = 20;  // Pairs of 38 digits, with one digit before and one behind them for alignment.

// The bytes before the pairs of a number that is not zero.
struct OrderedHeader {
  bool negative = false;
  int exponent = 0;  // The exponent of the first pair, in base 100.
  size_t bytes = 0;
};

// A byte of the ordered form as it would be in a positive number.
int positive_byte(char byte, bool negative) {
  const auto raw = static_cast<unsigned char>(byte);
  return negative ? static_cast<unsigned char>(~raw) : raw;
}

// False if the bytes are no encoding, or that of zero.
bool read_header(std::string_view in, OrderedHeader& header) {
  if (in.empty() || static_cast<unsigned char>(in[0]) == kZeroHeader) return false;
  header.negative = static_cast<unsigned char>(in[0]) < kZeroHeader;
  const int first = positive_byte(in[0], header.negative);
  if (first < kSmallHeader) return false;
  if (first > kSmallHeader) {
    header.exponent = first - kSmallHeader - 1 + kFirstCommon;
    header.bytes = 1;
    return true;
  }
  if (in.size() < 2 || positive_byte(in[1], header.negative) > 1) return false;
  header.exponent = kFirstSmall + positive_byte(in[1], header.negative);
  header.bytes = 2;
  return true;
}

// A positive number of up to 18 digits, as nearly all are, of its ordered form.
struct Short {
  uint64_t coefficient = 0;
  int exponent = 0;
  size_t bytes = 0;  // The bytes that it takes; 0 if the number is not short, or the bytes are no number.
};

Short read_short(std::string_view in) {
  constexpr size_t kMaxBytes = 10;  // The header and nine pairs.
  if (in.size() < 2 || static_cast<unsigned char>(in[0]) <= kSmallHeader) return {};
  if (static_cast<unsigned char>(in[1]) < 2) return {};
  Short number;
  const size_t end = std::min(in.size(), kMaxBytes);
  unsigned byte = 1;
  size_t at = 1;
  for (; at < end && (byte & 1) != 0; ++at) {
    byte = static_cast<unsigned char>(in[at]);
    if (byte >= 200) return {};
    number.coefficient = number.coefficient * 100 + byte / 2;
  }
  if ((byte & 1) != 0 || byte == 0) return {};
  const int first = static_cast<unsigned char>(in[0]) - kSmallHeader - 1 + kFirstCommon;
  number.exponent = 2 * (first - static_cast<int>(at) + 2);
  if (byte / 2 % 10 == 0) {  // The second digit of the last pair is only there for alignment.
    number.coefficient /= 10;
    ++number.exponent;
  }
  number.bytes = at;
  return number;
}

// Spells a number without an exponent where its `n` digits stand, of which the last is no zero and `whole` belong
// before the point: more than there are if zeros are missing, less than none if zeros come first. Returns its length:
// with a sign before it, at most encoding::kMaxNumberText.
size_t place_point(char* digits, int n, int whole) {
  int length = std::max(n, whole);
  if (whole >= n) {
    std::fill_n(digits + n, whole - n, '0');
  } else if (whole > 0) {
    std::copy_backward(digits + whole, digits + n, digits + n + 1);
    digits[whole] = '.';
    ++length;
  } else {
    length += 2 - whole;
    std::copy_backward(digits, digits + n, digits + length);
    std::fill_n(digits, 2 - whole, '0');
    digits[1] = '.';
  }
  return static_cast<size_t>(length);
}

// The two digits of a pair, by its byte in a positive number. Two bytes are read of it from either digit on.
constexpr std::array<char, 513> make_pairs() {
  std::array<char, 513> pairs{};
  for (size_t byte = 0; byte < 256; ++byte) {
    pairs[2 * byte] = static_cast<char>('0' + byte / 20 % 10);
    pairs[2 * byte + 1] = static_cast<char>('0' + byte / 2 % 10);
  }
  return pairs;
}
constexpr std::array<char, 513> kPairs = make_pairs();

}  // namespace

size_t encoding::spell_number(std::string_view ordered, char* out) {
  OrderedHeader header;
  if (!read_header(ordered, header) || ordered.size() == header.bytes) {
    *out = '0';
    return 1;
  }
  *out = '-';
  char* const digits = out + (header.negative ? 1 : 0);
  // The first digit and the last one may be there for alignment alone.
  size_t at = header.bytes;
  int byte = positive_byte(ordered[at], header.negative);
  const int lone = byte < 20 ? 1 : 0;
  const auto put_pair = [&](int place, int skipped) {
    std::memcpy(digits + place, &kPairs[2 * static_cast<size_t>(byte) + static_cast<size_t>(skipped)], 2);
  };
  put_pair(0, lone);
  int n = 2 - lone;
  while ((byte & 1) != 0 && ++at < ordered.size() && n + 2 <= 2 * kMaxPairs) {
    byte = positive_byte(ordered[at], header.negative);
    put_pair(n, 0);
    n += 2;
  }
  if (digits[n - 1] == '0') --n;
  return static_cast<size_t>(digits - out) + place_point(digits, n, 2 * (header.exponent + 1) - lone);
}

Decimal::Decimal(int64_t value) : negative_(value < 0) {
  if (value == 0) return;
  coefficient_ = value < 0 ? -static_cast<u128>(value) : static_cast<u128>(value);
  exponent_ = static_cast<int16_t>(strip_zeros(coefficient_));
}

Result<Decimal> Decimal::parse(std::string_view text) {
  size_t at = 0;
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    at = 1;
  }
  Digits digits;
  for (; at < text.size() && is_digit(text[at]); ++at) digits.add(text[at], false);
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && is_digit(text[at]); ++at) digits.add(text[at], true);
  }
  int64_t exponent = 0;
  bool ok = digits.any;
  if (ok && at < text.size()) {
    ok = (text[at] == 'e' || text[at] == 'E') && read_exponent(text.substr(at + 1), exponent);
  }
  if (!ok) return not_a_number(text);

  Decimal result;
  if (digits.count == 0) return result;
  exponent += digits.zeros - digits.fraction;
  if (auto range = check_range(exponent + digits.count - 1); !range) return fail(std::move(range.error()));
  if (digits.count > kMaxDigits) return too_many_digits();
  result.coefficient_ = digits.coefficient;
  result.exponent_ = static_cast<int16_t>(exponent);
  result.negative_ = negative;
  return result;
}

std::string Decimal::to_string() const {
  if (is_zero()) return "0";
  char text[encoding::kMaxNumberText];
  text[0] = '-';
  char* const digits = text + (negative_ ? 1 : 0);
  const int n = write_digits(coefficient_, digits);
  return {text, static_cast<size_t>(digits - text) + place_point(digits, n, n + exponent_)};
}

int64_t Decimal::to_int64(bool& fits) const {
  fits = false;
  if (is_zero()) {
    fits = true;
    return 0;
  }
  if (exponent_ == 0 && coefficient_ <= static_cast<u128>(std::numeric_limits<int64_t>::max())) {
    fits = true;
    const auto magnitude = static_cast<int64_t>(coefficient_);
    return negative_ ? -magnitude : magnitude;
  }
  if (exponent_ < 0 || exponent_ + count_digits(coefficient_) > 19) return 0;
  u128 magnitude = coefficient_ * kPowers[static_cast<size_t>(exponent_)];
  u128 bound = static_cast<u128>(std::numeric_limits<int64_t>::max()) + (negative_ ? 1 : 0);
  if (magnitude > bound) return 0;
  fits = true;
  auto bits = static_cast<uint64_t>(magnitude);
  return static_cast<int64_t>(negative_ ? 0 - bits : bits);
}

int64_t Decimal::floor_int64() const {
  bool fits = false;
  int64_t exact = to_int64(fits);
  if (fits) return exact;
  int64_t extreme = negative_ ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  int digits = count_digits(coefficient_);
  if (digits + exponent_ > 19 || exponent_ >= 0) return extreme;
  if (digits + exponent_ <= 0) return negative_ ? -1 : 0;
  auto whole = static_cast<uint64_t>(coefficient_ / kPowers[static_cast<size_t>(-exponent_)]);
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (whole > kMax) return extreme;
  return negative_ ? -static_cast<int64_t>(whole) - 1 : static_cast<int64_t>(whole);
}

Decimal Decimal::negated() const {
  Decimal result = *this;
  result.negative_ = !negative_ && !is_zero();
  return result;
}

Result<Decimal> Decimal::add(const Decimal& a, const Decimal& b) {
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  const Decimal& high = a.exponent_ >= b.exponent_ ? a : b;
  const Decimal& low = a.exponent_ >= b.exponent_ ? b : a;
  // The lowest digit of `low` stays in the result unless both end at the same place, so a shifted `high` above
  // 2 * 10^38 cannot come back under 39 digits; below that nothing here overflows 128 bits.
  int shift = high.exponent_ - low.exponent_;
  if (shift > kMaxDigits || shift + count_digits(high.coefficient_) > kMaxDigits + 1) return overflow();
  u128 limit = 2 * kPowers[kMaxDigits];
  if (high.coefficient_ > limit / kPowers[static_cast<size_t>(shift)]) return overflow();
  u128 shifted = high.coefficient_ * kPowers[static_cast<size_t>(shift)];

  Decimal result;
  result.negative_ = high.negative_;
  if (high.negative_ == low.negative_) {
    result.coefficient_ = shifted + low.coefficient_;
  } else if (shifted >= low.coefficient_) {
    result.coefficient_ = shifted - low.coefficient_;
  } else {
    result.coefficient_ = low.coefficient_ - shifted;
    result.negative_ = low.negative_;
  }
  if (result.coefficient_ == 0) return Decimal();
  int exponent = low.exponent_ + strip_zeros(result.coefficient_);
  int digits = count_digits(result.coefficient_);
  if (digits > kMaxDigits) return overflow();
  if (auto range = check_range(exponent + digits - 1); !range) return fail(std::move(range.error()));
  result.exponent_ = static_cast<int16_t>(exponent);
  return result;
}

Result<Decimal> Decimal::subtract(const Decimal& a, const Decimal& b) {
  return add(a, b.negated());
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  if (negative_ != other.negative_) return other.negative_ <=> negative_;
  const Decimal& a = negative_ ? other : *this;  // The greater of two negative numbers is the one with the smaller
                                                 // magnitude.
  const Decimal& b = negative_ ? *this : other;
  if (a.is_zero() || b.is_zero()) return !a.is_zero() <=> !b.is_zero();
  if (a.exponent_ == b.exponent_) return a.coefficient_ <=> b.coefficient_;
  int a_digits = count_digits(a.coefficient_);
  int b_digits = count_digits(b.coefficient_);
  if (a_digits + a.exponent_ != b_digits + b.exponent_) return a_digits + a.exponent_ <=> b_digits + b.exponent_;
  u128 a_scaled = a.coefficient_;
  u128 b_scaled = b.coefficient_;
  if (a_digits < b_digits) a_scaled *= kPowers[static_cast<size_t>(b_digits - a_digits)];
  if (b_digits < a_digits) b_scaled *= kPowers[static_cast<size_t>(a_digits - b_digits)];
  return a_scaled <=> b_scaled;
}

bool Decimal::operator==(const Decimal& other) const {
  return coefficient_ == other.coefficient_ && exponent_ == other.exponent_ && negative_ == other.negative_;
}

void Decimal::append_ordered(std::string& out) const {
  if (is_zero()) {
    out += static_cast<char>(kZeroHeader);
    return;
  }
  unsigned char bytes[24];  // Filled from the back: the pairs, then the header.
  unsigned char* end = bytes + sizeof bytes;
  unsigned char* at = end;
  // Pairs sit at even powers of ten, so a number that ends at an odd one gets a zero behind it.
  bool odd = (exponent_ & 1) != 0;
  if (coefficient_ < kTen18) {
    auto rest = static_cast<uint64_t>(coefficient_) * (odd ? 10 : 1);
    for (; rest; rest /= 100) *--at = static_cast<unsigned char>(rest % 100 * 2 + 1);
  } else {
    char digits[40];
    int n = write_digits(coefficient_, digits);
    if (odd) digits[n++] = '0';
    for (; n >= 2; n -= 2)
      *--at = static_cast<unsigned char>(((digits[n - 2] - '0') * 10 + digits[n - 1] - '0') * 2 + 1);
    if (n == 1) *--at = static_cast<unsigned char>((digits[0] - '0') * 2 + 1);
  }
  end[-1] &= 0xfe;  // No pair follows the last one.
  int exponent = floor_half(exponent_) + static_cast<int>(end - at) - 1;
  if (exponent < kFirstCommon) {
    *--at = static_cast<unsigned char>(exponent - kFirstSmall);
    *--at = kSmallHeader;
  } else {
    *--at = static_cast<unsigned char>(kSmallHeader + 1 + exponent - kFirstCommon);
  }
  if (negative_) {
    for (unsigned char* p = at; p < end; ++p) *p = static_cast<unsigned char>(~*p);
  }
  out.append(reinterpret_cast<const char*>(at), static_cast<size_t>(end - at));
}

bool Decimal::read_ordered(std::string_view& in, Decimal& out) {
  out = Decimal();
  if (const Short number = read_short(in); number.bytes > 0) {
    out.coefficient_ = number.coefficient;
    out.exponent_ = static_cast<int16_t>(number.exponent);
    in.remove_prefix(number.bytes);
    return true;
  }
  if (!in.empty() && static_cast<unsigned char>(in[0]) == kZeroHeader) {
    in.remove_prefix(1);
    return true;
  }
  OrderedHeader header;
  if (!read_header(in, header)) return false;
  size_t at = header.bytes;
  u128 coefficient = 0;
  int pairs = 0;
  int digits = 0;
  for (bool more = true; more; ++at) {
    if (at >= in.size() || pairs == kMaxPairs) return false;
    int byte = positive_byte(in[at], header.negative);
    int pair = byte / 2;
    more = (byte & 1) != 0;
    if (pair > 99 || (pair == 0 && (pairs == 0 || !more))) return false;
    bool single = !more && pair % 10 == 0;  // The last pair's second digit is only there for alignment.
    digits += (pairs == 0 && pair < 10 ? 1 : 2) - (single ? 1 : 0);
    if (digits > kMaxDigits) return false;
    coefficient =
        single ? coefficient * 10 + static_cast<unsigned>(pair / 10) : coefficient * 100 + static_cast<unsigned>(pair);
    ++pairs;
    if (single) out.exponent_ = 1;
  }
  out.exponent_ = static_cast<int16_t>(out.exponent_ + 2 * (header.exponent - pairs + 1));
  out.coefficient_ = coefficient;
  out.negative_ = header.negative;
  in.remove_prefix(at);
  return true;
}

size_t Decimal::billed_size() const {
  return 1 + static_cast<size_t>(count_digits(coefficient_) + 1) / 2;
}

}  // namespace freshet
