// Exact decimal numbers of the item store: up to 38 significant digits, magnitude 1E-130 to 9.99...E+125, or zero.
// Source: Amazon DynamoDB Developer Guide, "Supported data types and naming rules", Number.
// Never a double anywhere: what a client wrote is what it reads (in canonical spelling).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace freshet {

// A value type: copyable, 32 bytes, no allocation.
class Decimal {
 public:
  Decimal() = default;  // Zero.
  explicit Decimal(int64_t value);

  // Accepts what the service accepts: optional sign, digits, point, exponent; surrounding blanks are refused.
  // kValidation with the service's own text when it is not a number, has more than 38 significant digits (after
  // trimming zeros), or is out of range.
  static Result<Decimal> parse(std::string_view text);

  // Canonical spelling as the service returns it: no trailing zeros, no exponent: "12.5", "-0.001", "1000".
  std::string to_string() const;

  bool is_zero() const { return coefficient_ == 0; }
  // The value as int64 when it is integral and fits; else nothing is promised and `fits` is false.
  int64_t to_int64(bool& fits) const;
  // Rounds towards negative infinity and saturates. For times that clients wrote as numbers.
  int64_t floor_int64() const;

  // Exact sum and difference, or kValidation when the result needs more than 38 digits or leaves the range: the service
  // calls both an overflow.
  static Result<Decimal> add(const Decimal& a, const Decimal& b);
  static Result<Decimal> subtract(const Decimal& a, const Decimal& b);
  Decimal negated() const;

  std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal& other) const;

  // Order-preserving bytes: memcmp of two encodings orders as the numbers do. 1 to 22 bytes, self-delimiting, and for
  // integers below 10^14 the first 8 bytes already decide. Layout: docs/formats.md.
  void append_ordered(std::string& out) const;
  // Reads one encoding from the front of `in` and removes it. False if the bytes are no encoding.
  static bool read_ordered(std::string_view& in, Decimal& out);

  // The bytes that the service counts for this number (Developer Guide, "Item sizes and formats").
  size_t billed_size() const;

  __extension__ typedef unsigned __int128 Coefficient;

 private:
  // value = (negative_ ? -1 : 1) * coefficient_ * 10^exponent_; coefficient_ has no trailing zero; zero is all zero.
  Coefficient coefficient_ = 0;
  int16_t exponent_ = 0;
  bool negative_ = false;
};

}  // namespace freshet
