// Reads members of a JSON object that somebody wrote, each with its expected type: requests and definition files.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "tables/value/json_reader.h"

namespace freshet {

// "'max' must be a whole number, not a text": replaces the item store's words, keeping the code of `given`.
inline Error wrong_kind(const JsonView& json, const Error& given, std::string_view wanted) {
  static constexpr std::string_view kKinds[] = {"null", "true or false", "a number", "a text", "a list", "an object"};
  static_assert(static_cast<size_t>(JsonKind::kNull) == 0 && static_cast<size_t>(JsonKind::kObject) == 5);
  std::string message = json.path().empty() ? "the body" : "'" + json.path() + "'";
  message += " must be " + std::string(wanted);
  const std::string_view is = kKinds[static_cast<size_t>(json.kind())];
  if (!json.is(JsonKind::kNumber) || wanted.find("number") == std::string_view::npos) {
    message += ", not " + std::string(is);
  }
  return {given.code, std::move(message), nullptr};
}

// "is not known (did you mean 'group'?); there are group, key": the error for a member of that name.
std::string not_known(std::string_view name, std::span<const std::string_view> known);

// The same for elements of a list: as_string(), as_array() and as_object() with messages in our words.
inline Result<std::string_view> text_in(const JsonView& json) {
  auto text = json.as_string();
  if (!text) return fail(wrong_kind(json, text.error(), "a text in quotes"));
  return text;
}
inline Result<JsonView> list_in(const JsonView& json) {
  auto list = json.as_array();
  if (!list) return fail(wrong_kind(json, list.error(), "a list"));
  return list;
}
inline Result<JsonView> object_in(const JsonView& json) {
  auto object = json.as_object();
  if (!object) return fail(wrong_kind(json, object.error(), "an object"));
  return object;
}

// Reads members of one object, each of which must be known and occur once; keeps the first error, so that the caller
// checks once.
class JsonMembers {
 public:
  static constexpr int64_t kMaxMilliseconds = int64_t{366} * 86'400'000;  // The bound of seconds_member().

  // The wording of messages about a member of the wrong type: our own, or that of AWS's services for their protocols.
  enum class Words { kOwn, kAws };

  JsonMembers(const JsonView& object, std::initializer_list<std::string_view> known, Words words = Words::kOwn)
      : JsonMembers(object, std::span(known.begin(), known.size()), words) {}
  JsonMembers(const JsonView& object, std::span<const std::string_view> known, Words words = Words::kOwn)
      : object_(object), words_(words) {
    if (!object.is(JsonKind::kObject)) {
      refuse(object, "must be an object");
      return;
    }
    FRESHET_CHECK(known.size() <= 64, "each known name has a bit");
    uint64_t seen = 0;
    for (const JsonView member : object) {
      const auto place = std::find(known.begin(), known.end(), member.name());
      if (place == known.end()) {
        refuse(member, not_known(member.name(), known));
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
    const auto member = find(name);
    if (member) take(member->as_string(), *member, "a text in quotes", into);
  }
  void boolean(std::string_view name, bool& into) {
    const auto member = find(name);
    if (member) take(member->as_bool(), *member, "true or false", into);
  }

  template <class Number>
  void integer(std::string_view name, int64_t min, int64_t max, Number& into) {
    const auto member = find(name);
    if (!member) return;
    const auto number = member->as_int();
    if (!number) {
      return fail_of_kind(*member, number.error(),
                          "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    }
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
    if (const auto member = find(name)) take(plain_value_of(*member), *member, "", into);
  }

  // Returns the list; empty if the member is not a list.
  std::optional<JsonView> list(std::string_view name) { return of_kind(name, JsonKind::kArray, "must be a list"); }
  // Returns an object whose members may have any names.
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

  void fail_of_kind(const JsonView& member, const Error& error, std::string_view wanted) {
    fail_with(words_ == Words::kOwn ? wrong_kind(member, error, wanted) : error);
  }

  // `wanted`: the expected kind, for messages; "" if the error of `from` is sufficient.
  template <class From, class To>
  void take(Result<From> from, const JsonView& member, std::string_view wanted, To& into) {
    if (!from) return wanted.empty() ? fail_with(from.error()) : fail_of_kind(member, from.error(), wanted);
    into = To(std::move(*from));
  }

  const JsonView object_;
  const Words words_;
  std::optional<Error> error_;
};

}  // namespace freshet
