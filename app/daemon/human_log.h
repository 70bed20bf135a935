// The daemon's log for people at a terminal. Every other reader gets JSON Lines (base/log.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/terminal.h"

namespace freshet {

// A line of the log, {"time": ..., "level": ..., "event": ...}, as
//   10:29:45.123 WARN  TEMPLATE_WARNING: what it says  name=value
// and what a function printed as
//   10:29:45.123 Greet 7f3a91c0  the line
// The time is local. Fields that are empty are left out. Control characters are escaped. A line that is no JSON object
// is returned as it is, escaped.
std::string human_line(std::string_view json, const Screen& screen);

// Writes lines as human_line() makes them to standard error, one at a time. Any thread. With `quiet`, only warnings,
// errors and the output of functions.
std::unique_ptr<LogSink> make_human_sink(const Screen& screen, bool quiet = false);
// True for a line that a quiet log leaves out.
bool is_chatter(LogLevel level, std::string_view json);

// True if the log is for people: --log-format is "human", or it is not given and standard error is a terminal.
bool log_is_for_people(std::string_view format);
// Makes the sink for that format on standard error. JSON Lines are never quiet.
std::unique_ptr<LogSink> make_log_sink(std::string_view format, bool quiet = false);

}  // namespace freshet
