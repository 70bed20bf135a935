#include "app/daemon/human_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/plain_text.h"

namespace freshet {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string member(const Json& event, const char* name) {
  const auto found = event.find(name);
  return found == event.end() ? std::string() : text_of(*found);
}

// "2026-11-21T09:29:45.123Z" by the clock on the wall: "10:29:45.123". Another text is returned as it is.
std::string local_time(const std::string& time) {
  std::tm parts{};
  const char* rest = strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return plain_text(time);
  const std::time_t seconds = timegm(&parts);
  localtime_r(&seconds, &parts);
  char clock[16];
  const size_t length = std::strftime(clock, sizeof clock, "%H:%M:%S", &parts);
  const std::string fraction = rest;
  return std::string(clock, length) + plain_text(fraction.substr(0, fraction.find('Z')));
}

Colour colour_of(const std::string& level) {
  if (level == "error") return Colour::kRed;
  if (level == "warn") return Colour::kYellow;
  return level == "debug" ? Colour::kDim : Colour::kPlain;
}

// Tabs as blanks: programs print them for columns.
std::string shown(const std::string& text) {
  std::string blanks;
  for (const char c : text) blanks += c == '\t' ? std::string("  ") : std::string(1, c);
  return plain_text(blanks);
}

// A value with blanks or quotes in it is quoted: it is not to look like several.
std::string value_of(const Json& value) {
  const std::string text = shown(text_of(value));
  if (text.find_first_of(" \"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\\\"") : std::string(1, c);
  return quoted + '"';
}

class HumanSink final : public LogSink {
 public:
  HumanSink(const Screen& screen, bool quiet) : screen_(screen), quiet_(quiet) {}
  void write(LogLevel level, std::string_view line) override {
    if (quiet_ && is_chatter(level, line)) return;
    const std::string text = human_line(line, screen_) + '\n';
    std::fwrite(text.data(), 1, text.size(), stderr);  // One call: lines of several threads do not mix.
  }

 private:
  const Screen screen_;
  const bool quiet_;
};

}  // namespace

bool is_chatter(LogLevel level, std::string_view json) {
  return level < LogLevel::kWarn && json.find(R"("event":"FUNCTION_LOG")") == std::string_view::npos;
}

std::string human_line(std::string_view json, const Screen& screen) {
  const Json event = Json::parse(json, nullptr, false);
  if (!event.is_object()) return plain_text(json);
  const std::string time = painted(screen, Colour::kDim, local_time(member(event, "time"))) + ' ';
  const std::string name = member(event, "event");
  if (name == "FUNCTION_LOG") {
    return time + painted(screen, Colour::kCyan, shown(member(event, "function"))) + ' ' +
           shown(member(event, "requestId").substr(0, 8)) + "  " + shown(member(event, "line")) +
           (event.value("cut", Json()) == Json(true) ? " ..." : "");
  }
  const std::string level = member(event, "level");
  std::string capitals = level;
  std::transform(level.begin(), level.end(), capitals.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string out = time + painted(screen, colour_of(level), fmt::format("{:<5}", plain_text(capitals))) + ' ' +
                    painted(screen, Colour::kBold, shown(name));
  // The message comes first: it is a sentence.
  for (const char* sentence : {"what", "message"}) {
    if (event.contains(sentence)) out += ": " + shown(member(event, sentence));
  }
  std::string fields;
  for (const auto& [field, value] : event.items()) {
    if (field == "time" || field == "level" || field == "event" || field == "what" || field == "message") continue;
    if (value.is_string() && value.get_ref<const std::string&>().empty()) continue;
    fields += (fields.empty() ? "" : " ") + shown(field) + '=' + value_of(value);
  }
  return out + (fields.empty() ? "" : "  " + fields);
}

std::unique_ptr<LogSink> make_human_sink(const Screen& screen, bool quiet) {
  return std::make_unique<HumanSink>(screen, quiet);
}

bool log_is_for_people(std::string_view format) {
  return format == "human" || (format.empty() && screen_of(STDERR_FILENO).terminal);
}

std::unique_ptr<LogSink> make_log_sink(std::string_view format, bool quiet) {
  return log_is_for_people(format) ? make_human_sink(screen_of(STDERR_FILENO), quiet) : make_stderr_sink();
}

}  // namespace freshet
