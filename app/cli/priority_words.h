// The words that the console of priority queues prints around its JSON: Freshet's own, or those of the sample's console
// with their mistakes, for scripts that were written for it.
#pragma once

#include <string>

namespace freshet::cli {

struct ConsoleWords {
  bool sample = false;
  const char* connected;
  const char* not_connected;
  const char* connect_first;
  const char* unknown_command;
  const char* no_current_record_now;
  const char* stat_without_record;
  const char* connect_to_nothing;
  const char* no_records;
  const char* no_records_to_delete;
  const char* first_records;
  const char* deleted_records;
  const char* reset_info;
  const char* no_status;
  const char* end;
};
const ConsoleWords& console_words(bool sample);

// Each with its line's end.
std::string console_greeting(const ConsoleWords& words, const std::string& queue, const std::string& url);
std::string console_prompt(const ConsoleWords& words, const std::string& queue, const std::string& id);
std::string needs_record(const ConsoleWords& words, const std::string& command);
std::string settled(const ConsoleWords& words, const std::string& command, const std::string& id);

}  // namespace freshet::cli
