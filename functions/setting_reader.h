// Reads a function's environment variables with their checks; for settings.cc and similar files.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/duration_text.h"
#include "base/number_text.h"
#include "base/result.h"
#include "runtime/invoke/function.h"
#include "tables/definition.h"

namespace freshet {

// Reads variables one after the other and keeps the first error.
class SettingReader {
 public:
  explicit SettingReader(const Environment& environment) : environment_(environment) {}

  const std::string* find(const char* name) const {
    auto it = environment_.find(name);
    return it == environment_.end() ? nullptr : &it->second;
  }

  void text(const char* name, std::string& out) {
    if (auto* value = find(name)) out = *value;
  }

  // A table that belongs to the user.
  void table(const char* name, std::string& out, const char* what) {
    required(name, out, what);
    if (!out.starts_with(kSystemTablePrefix)) return;
    report(std::string(name) + " is '" + out + "': names that start with '" + std::string(kSystemTablePrefix) +
           "' are those of Freshet's own tables");
  }
  void required(const char* name, std::string& out, const char* what) {
    text(name, out);
    if (out.empty()) report(std::string(name) + " is not set: it must be " + what);
  }

  // `otherwise`: the other allowed values, for the message, as "0 or ".
  template <class Int>
  void whole(const char* name, Int& out, int64_t least, int64_t most, const std::string& otherwise = {}) {
    auto* value = find(name);
    if (!value) return;
    int64_t number = 0;
    const bool whole = read_number_in(*value, number) && is_plain(*value);
    if (!whole || number < least || number > most) {
      return report(std::string(name) + " is '" + *value + "': it must be " + otherwise + "a whole number from " +
                    std::to_string(least) + " to " + std::to_string(most));
    }
    out = static_cast<Int>(number);
  }

  // `unit`: the milliseconds of one unit.
  void duration(const char* name, milliseconds& out, int64_t least = 0, int64_t unit = 1) {
    if (const auto* value = find(name)) {
      const auto meant = parse_duration(*value, milliseconds(0), milliseconds(kLongest));
      if (meant && meant->count() % unit == 0) {
        return report(std::string(name) + " is '" + *value + "': it is a number of " +
                      (unit == 1 ? "milliseconds" : "seconds") + " without a unit: write " +
                      std::to_string(meant->count() / unit));
      }
    }
    int64_t number = out.count() / unit;
    whole(name, number, least, kLongest / unit);
    if (find(name)) out = milliseconds(number * unit);
  }

  void real(const char* name, double& out, double least, double most, const std::string& otherwise = {}) {
    auto* value = find(name);
    if (!value) return;
    double number = 0;
    const bool whole = read_number_in(*value, number) && is_plain(*value);
    if (!whole || !(number >= least && number <= most)) {
      return report(std::string(name) + " is '" + *value + "': it must be " + otherwise + "a number from " +
                    text_of(least) + " to " + text_of(most));
    }
    out = number;
  }

  // One of two words.
  void choice(const char* name, const char* yes, const char* no, bool& out) {
    auto* value = find(name);
    if (!value) return;
    if (*value != yes && *value != no) {
      return report(std::string(name) + " is '" + *value + "': it must be '" + yes + "' or '" + no + "'");
    }
    out = *value == yes;
  }

  // One of several words, in the order of the enumeration.
  template <class Enum>
  void one_of(const char* name, std::initializer_list<const char*> words, Enum& out) {
    auto* value = find(name);
    if (!value) return;
    std::string all;
    int number = 0;
    for (const char* word : words) {
      if (*value == word) out = static_cast<Enum>(number);
      if (*value == word) return;
      const bool last = ++number == static_cast<int>(words.size());
      all += (all.empty() ? "'" : last ? "' or '" : "', '") + std::string(word);
    }
    report(std::string(name) + " is '" + *value + "': it must be " + all + "'");
  }

  void report(std::string message) {
    if (error_.empty()) error_ = std::move(message);
  }

  template <class T>
  Result<T> finish(T value) {
    if (!error_.empty()) return invalid(error_);
    return value;
  }

 private:
  // Refuses 00, 007 and -0: they may be meant differently.
  static bool is_plain(std::string_view number) {
    const bool negative = number.starts_with('-');
    const auto digits = number.substr(negative ? 1 : 0);
    const bool zero = digits.find_first_of("123456789") == std::string_view::npos;
    const bool filled = digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
    return !filled && !(negative && zero);
  }

  static std::string text_of(double number) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, number, std::chars_format::fixed).ptr;
    return {text, end};
  }

  static constexpr int64_t kLongest = int64_t{366} * 24 * 3600 * 1000;
  const Environment& environment_;
  std::string error_;
};

}  // namespace freshet
