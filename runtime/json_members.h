// Members of a JSON object that somebody wrote, each as what it has to be: of requests and of definition files.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "tables/value/json_reader.h"

namespace freshet {

// Reads members of one object, each of which is known and there once; remembers the first error, so that the caller
// checks once.
class JsonMembers {
 public:
  static constexpr int64_t kMaxMilliseconds = int64_t{366} * 86'400'000;  // Of seconds_member().

  JsonMembers(const JsonView& object, std::initializer_list<std::string_view> known) : object_(object) {
    if (!object.is(JsonKind::kObject)) {
      refuse(object, "must be an object");
      return;
    }
    FRESHET_CHECK(known.size() <= 64, "each known name has a bit");
    uint64_t seen = 0;
    for (const JsonView member : object) {
      const auto place = std::find(known.begin(), known.end(), member.name());
      if (place == known.end()) {
        std::string names;
        for (const auto name : known) names += (names.empty() ? "" : ", ") + std::string(name);
        refuse(member, "is not known; there are " + names);
        return;
      }
      const uint64_t bit = uint64_t{1} << (place - known.begin());
      if ((seen & bit) != 0) {
        refuse(member, "is there twice");
        return;
      }
      seen |= bit;
    }
  }

  template <class Text>
  void text(std::string_view name, Text& into) {
    take(object_.string_or(name), name, into);
  }
  void boolean(std::string_view name, bool& into) { take(object_.bool_or(name, into), name, into); }

  template <class Number>
  void integer(std::string_view name, int64_t min, int64_t max, Number& into) {
    const auto member = find(name);
    if (!member) return;
    const auto number = member->as_int();
    if (!number) return fail_with(number.error());
    if (*number < min || *number > max) {
      return refuse(*member, "must be from " + std::to_string(min) + " to " + std::to_string(max));
    }
    into = static_cast<Number>(*number);
  }

  void duration(std::string_view name, int64_t min_ms, int64_t max_ms, std::optional<milliseconds>& into) {
    int64_t ms = 0;
    if (!find(name)) return;
    integer(name, min_ms, max_ms, ms);
    into = milliseconds(ms);
  }

  // A number that may have a fraction.
  void real(std::string_view name, double min, double max, double& into) {
    const auto member = find(name);
    if (!member) return;
    const auto value = real_of(*member);
    if (value && *value >= min && *value <= max) {
      into = *value;
    } else {
      refuse(*member, "must be a number from " + whole(min) + " to " + whole(max));
    }
  }

  // Seconds, which may have a fraction.
  void seconds_member(std::string_view name, std::optional<milliseconds>& into) {
    const auto member = find(name);
    if (!member) return;
    const auto value = real_of(*member);
    if (!value || !(*value > 0) || *value * 1000 > static_cast<double>(kMaxMilliseconds)) {
      return refuse(*member, "must be a number of seconds above 0, at most " + std::to_string(kMaxMilliseconds / 1000));
    }
    into = milliseconds(std::max<int64_t>(1, std::llround(*value * 1000)));
  }

  void value(std::string_view name, Value& into) {
    if (const auto member = find(name)) take(plain_value_of(*member), name, into);
  }

  // Its items; of anything else than a list nothing must be taken for one.
  std::optional<JsonView> list(std::string_view name) { return of_kind(name, JsonKind::kArray, "must be a list"); }
  // Its members are names of the caller's.
  std::optional<JsonView> map(std::string_view name) { return of_kind(name, JsonKind::kObject, "must be an object"); }

  std::optional<JsonView> find(std::string_view name) { return error_ ? std::nullopt : object_.find(name); }

  void fail_with(Error error) {
    if (!error_) error_ = std::move(error);
  }
  void refuse(const JsonView& where, const std::string& why) {
    const std::string path = where.path();
    fail_with({ErrorCode::kValidation, (path.empty() ? "the body" : "'" + path + "'") + " " + why, nullptr});
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<JsonView> of_kind(std::string_view name, JsonKind kind, const char* why) {
    const auto member = find(name);
    if (!member || member->is(kind)) return member;
    refuse(*member, why);
    return std::nullopt;
  }
  static std::optional<double> real_of(const JsonView& member) {
    double value = 0;
    const std::string_view spelling = member.text();
    const auto [end, error] = std::from_chars(spelling.data(), spelling.data() + spelling.size(), value);
    const bool good = member.is(JsonKind::kNumber) && error == std::errc{} && end == spelling.data() + spelling.size();
    return good ? std::optional(value) : std::nullopt;
  }
  static std::string whole(double bound) { return std::to_string(std::llround(bound)); }

  template <class From, class To>
  void take(Result<From> from, std::string_view name, To& into) {
    if (error_ || !object_.find(name)) return;
    if (!from) return fail_with(from.error());
    into = To(std::move(*from));
  }

  const JsonView object_;
  std::optional<Error> error_;
};

}  // namespace freshet
