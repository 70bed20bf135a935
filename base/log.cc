#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <cmath>
#include <iterator>

#include "base/plain_text.h"

namespace freshet {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warn", "error", "off"};

using Buffer = fmt::memory_buffer;

void append(Buffer& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

void append_text(Buffer& out, std::string_view text) {
  out.push_back('"');
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      append(out, "\xef\xbf\xbd");
    } else if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(text[0]);
    } else if (c < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
    } else if (c == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0) {  // C1: terminals obey these, too.
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(text[1]));
    } else {
      append(out, text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out.push_back('"');
}

struct AppendValue {
  Buffer& out;
  void operator()(bool value) const { append(out, value ? "true" : "false"); }
  void operator()(std::string_view value) const { append_text(out, value); }
  void operator()(double value) const {
    if (std::isfinite(value)) {
      fmt::format_to(std::back_inserter(out), "{}", value);
    } else {
      append(out, "null");
    }
  }
  template <std::integral T>
  void operator()(T value) const {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
};

class StderrSink final : public LogSink {
 public:
  StderrSink() : logger_("freshet", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger_.set_formatter(std::make_unique<spdlog::pattern_formatter>("%v"));
    logger_.set_level(spdlog::level::trace);
    logger_.set_error_handler([](const std::string&) {});  // Standard error is gone, so there is no place to report it.
  }
  void write(LogLevel, std::string_view line) override {
    logger_.log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
  }

 private:
  spdlog::logger logger_;
};

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

std::unique_ptr<LogSink> make_stderr_sink() {
  return std::make_unique<StderrSink>();
}

std::string iso8601(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

void EventLog::write(LogLevel level, std::string_view name, LogFields fields) const {
  Buffer line;
  fmt::format_to(std::back_inserter(line), R"({{"time":"{}","level":"{}","event":)", iso8601(clock_->wall()),
                 kLevelNames[static_cast<size_t>(level)]);
  append_text(line, name);
  for (const LogField& field : fields) {
    line.push_back(',');
    append_text(line, field.name);
    line.push_back(':');
    std::visit(AppendValue{line}, field.value.get());
  }
  line.push_back('}');
  sink_->write(level, std::string_view(line.data(), line.size()));
}

}  // namespace freshet
