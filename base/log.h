// Structured log: one event is one line of JSON, e.g.
//   {"time":"2026-11-21T09:29:45.123Z","level":"info","event":"CREATE_TASK","taskId":"7f…","n":3}
// Event names are upper case with underscores, as the sample application writes them; field names are camelCase and
// are not "time", "level" or "event".
//
// Code that logs gets an EventLog as an argument; there is no global one. Any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/result.h"

namespace freshet {

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };

std::optional<LogLevel> parse_log_level(std::string_view name);  // "debug", "info", "warn", "error", "off".

// The value of a field. It refers to the caller's text, so it lives only as long as the call it is an argument of.
// Bytes that are not UTF-8 are logged as U+FFFD.
class LogValue {
 public:
  LogValue(bool value) : value_(value) {}                                                // NOLINT: implicit.
  LogValue(std::signed_integral auto value) : value_(static_cast<int64_t>(value)) {}     // NOLINT
  LogValue(std::unsigned_integral auto value) : value_(static_cast<uint64_t>(value)) {}  // NOLINT
  LogValue(std::floating_point auto value) : value_(static_cast<double>(value)) {}       // NOLINT
  LogValue(std::string_view value) : value_(value) {}                                    // NOLINT
  LogValue(const std::string& value) : value_(std::string_view(value)) {}                // NOLINT
  LogValue(const char* value) : value_(std::string_view(value)) {}                       // NOLINT

  using Variant = std::variant<bool, int64_t, uint64_t, double, std::string_view>;
  const Variant& get() const { return value_; }

 private:
  Variant value_;
};

struct LogField {
  std::string_view name;
  LogValue value;
};
using LogFields = std::initializer_list<LogField>;

// The destination of log lines. Any thread.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // `line` has no line break at its end.
  virtual void write(LogLevel level, std::string_view line) = 0;
};

// Standard error, a line at a time.
std::unique_ptr<LogSink> make_stderr_sink();

class EventLog {
 public:
  EventLog() = default;  // Drops everything.
  // Events below `level` are dropped. Clock and sink must outlive the log.
  EventLog(const Clock& clock, LogSink& sink, LogLevel level) : clock_(&clock), sink_(&sink), level_(level) {}

  void event(LogLevel level, std::string_view name, LogFields fields = {}) const {
    if (enabled(level)) write(level, name, fields);
  }
  void debug(std::string_view name, LogFields fields = {}) const { event(LogLevel::kDebug, name, fields); }
  void info(std::string_view name, LogFields fields = {}) const { event(LogLevel::kInfo, name, fields); }
  void warn(std::string_view name, LogFields fields = {}) const { event(LogLevel::kWarn, name, fields); }
  void error(std::string_view name, LogFields fields = {}) const { event(LogLevel::kError, name, fields); }

  bool enabled(LogLevel level) const { return sink_ != nullptr && level >= level_; }

 private:
  void write(LogLevel level, std::string_view name, LogFields fields) const;

  const Clock* clock_ = nullptr;
  LogSink* sink_ = nullptr;
  LogLevel level_ = LogLevel::kOff;
};

// "2026-11-21T09:29:45.123Z".
std::string iso8601(WallTime time);

}  // namespace freshet
