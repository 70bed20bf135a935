#include "app/cli/priority_console.h"

#include <editline/readline.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "app/cli/priority_json.h"
#include "app/cli/priority_steps.h"
#include "app/cli/priority_words.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

constexpr std::array<const char*, 29> kConsoleCommands = {
    "aws",    "connect", "create-test", "ct",    "data",    "dlq", "done",   "en",     "enqueue", "fail",
    "h",      "help",    "id",          "info",  "invalid", "ls",  "peek",   "purge",  "q",       "qstat",
    "qstats", "quit",    "ready",       "reset", "stat",    "sys", "system", "update", "?"};

constexpr const char* kHelp =
    "    > connect                        [Connect to the daemon again]\n"
    "    > qstat | qstats                 [Statistics of the queue]\n"
    "    > dlq                            [Statistics of the dead-letter queue]\n"
    "    > create-test | ct               [Make the test records A-101, A-202, A-303 and A-404, over what is there]\n"
    "    > purge                          [Delete records, 10 at a time]\n"
    "    > ls                             [List records, 10 at most]\n"
    "    > id <id>                        [Make a record the current one]\n"
    "      > sys                          [Its system info]\n"
    "      > data                         [Its data]\n"
    "      > info                         [Both]\n"
    "      > update <status>              [Set its status: READY_TO_SHIP]\n"
    "      > reset                        [Begin its system info anew]\n"
    "      > ready                        [The same, ready for the queue]\n"
    "      > enqueue | en                 [Put it into the queue]\n"
    "      > peek                         [Take the next record; it becomes the current one]\n"
    "      > done                         [It was processed: COMPLETED, out of the queue]\n"
    "      > fail                         [Processing failed: back into the queue]\n"
    "      > invalid                      [Its data is invalid: into the dead-letter queue]\n"
    "    > id                             [No current record any more]\n";

constexpr const char* kSampleHelp =
    "  ... this is CLI HELP!\n"
    "    > aws <profile> [<region>]       [Connect to the daemon again; profile and region have no effect here]\n";

char* complete(const char* text, int state) {
  static size_t next = 0;
  if (state == 0) next = 0;
  for (; next < kConsoleCommands.size(); ++next) {
    if (std::strncmp(kConsoleCommands[next], text, std::strlen(text)) == 0) return strdup(kConsoleCommands[next++]);
  }
  return nullptr;
}

// Lines of a terminal with history (kept in ~/.freshet_history) and completion, or of a pipe.
class Lines {
 public:
  Lines() : terminal_(isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0) {
    if (!terminal_) return;
    rl_completion_entry_function = complete;
    const char* home = std::getenv("HOME");
    if (home != nullptr) history_ = std::string(home) + "/.freshet_history";
    if (!history_.empty()) read_history(history_.c_str());
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() {
    if (terminal_ && !history_.empty()) write_history(history_.c_str());
  }
  std::optional<std::string> next(const std::string& prompt) {
    if (!terminal_) {
      std::cout << '\n' << prompt << std::flush;
      std::string line;
      if (!std::getline(std::cin, line)) return std::nullopt;
      return line;
    }
    std::cout << '\n' << std::flush;
    char* line = readline(prompt.c_str());
    if (line == nullptr) return std::nullopt;
    std::string text(line);
    std::free(line);
    if (!text.empty()) add_history(text.c_str());
    return text;
  }

 private:
  const bool terminal_;
  std::string history_;
};

class Console {
 public:
  Console(const Remote& remote, bool sample)
      : remote_(remote), words_(console_words(sample)), session_(remote), steps_(session_) {}

  int run() {
    session_.find_queue();
    std::cout << console_greeting(words_, session_.queue(), remote_.url);
    connect();
    Lines lines;
    for (;;) {
      const auto line = lines.next(console_prompt(words_, session_.queue(), record_.is_null() ? "" : id_));
      if (!line) break;
      std::istringstream words(*line);
      std::string command;
      if (!(words >> command)) continue;
      std::transform(command.begin(), command.end(), command.begin(), [](unsigned char c) { return std::tolower(c); });
      std::vector<std::string> arguments;
      for (std::string word; words >> word;) arguments.push_back(word);
      if (command == "quit" || command == "q") break;
      obey(command, arguments);
    }
    std::cout << words_.end;
    return session_.exit_status();
  }

 private:
  using Arguments = std::vector<std::string>;

  void connect() {
    connected_ = !session_.call("GET", "/stats").is_null();
    std::cout << (connected_ ? words_.connected : words_.not_connected);
  }
  // The result's record becomes the current one; or nothing does.
  void take(const Json& result) {
    const bool there = is_success(result) && result.contains("item");
    record_ = there ? result["item"] : Json();
    id_ = there ? result.value("id", "") : "";
  }
  // Its status in system_info; that of a new record if it has none.
  std::string status() const {
    const Json info = sample_system_info(record_);
    return info.is_object() ? info.value("status", "UNDER_CONSTRUCTION") : "UNDER_CONSTRUCTION";
  }
  void show(const std::string& title, const Json& json) {
    std::cout << "     " << plain_text(title) << '\n' << sample_pretty(json);
  }
  void show_stats(const char* title) {
    const Json stats = session_.call("GET", "/stats");
    if (!stats.is_null()) show(title, sample_stats(stats));
  }
  // For a call whose result the sample does not look at either.
  void complain(const char* method, const Json& result) {
    if (result.is_null() || is_success(result)) return;
    std::cerr << method << "() - " << plain_text(code_of(result)) << '\n'
              << plain_text(result.value("detail", "")) << '\n';
  }

  void obey(const std::string& command, const Arguments& arguments) {
    if (command == "h" || command == "?" || command == "help") {
      if (words_.sample) std::cout << kSampleHelp;
      std::cout << kHelp;
    } else if (command == "connect" || command == "aws") {
      if (command == "aws" && arguments.empty() && words_.sample) {
        std::cout << words_.connect_to_nothing;
      } else {
        connect();
      }
    } else if (command == "id" && arguments.empty()) {
      take(nullptr);
      std::cout << words_.no_current_record_now;
    } else if (!std::count(kConsoleCommands.begin(), kConsoleCommands.end(), command)) {
      std::cout << words_.unknown_command;
    } else if (!connected_) {
      std::cout << words_.connect_first;
    } else if (!obey_table(command, arguments)) {
      obey_record(command, arguments);
    }
  }

  // Commands that need no current record. False if it is none.
  bool obey_table(const std::string& command, const Arguments& arguments) {
    if (command == "id") {
      take(steps_.find(arguments[0]));
      if (!words_.sample && record_.is_null()) {
        std::cout << "     There is no record " << plain_text(arguments[0]) << ".\n";
      } else {
        show(words_.sample ? "Shipment's [" + arguments[0] + "] record dump" : "Record " + arguments[0],
             sample_record(record_));
      }
    } else if (command == "ls") {
      list();
    } else if (command == "purge") {
      purge();
    } else if (command == "create-test" || command == "ct") {
      create_test();
    } else if (command == "qstat" || command == "qstats" || (command == "stat" && !record_.is_null())) {
      show_stats("Queue status");
    } else if (command == "stat") {
      std::cout << words_.stat_without_record;
    } else if (command == "dlq") {
      const Json dead = session_.call("GET", "/dlq");
      if (!dead.is_null()) show("DLQ status", sample_dead(dead));
    } else {
      return false;
    }
    return true;
  }

  void obey_record(const std::string& command, const Arguments& arguments) {
    if (record_.is_null()) {
      std::cout << needs_record(words_, command);
    } else if (command == "sys" || command == "system") {
      show("ID's system info:", sample_system_info(record_));
      std::cout << '\n';
    } else if (command == "data") {
      show("Data info:", sample_data(record_));
    } else if (command == "info") {
      show("Record's dump:", sample_record(record_));
    } else if (command == "reset" || command == "ready") {
      put_again(command == "ready" ? "READY_TO_SHIP" : "UNDER_CONSTRUCTION");
      show(words_.reset_info, sample_system_info(record_));
    } else if (command == "enqueue" || command == "en") {
      enqueue();
    } else if (command == "peek") {
      peek();
    } else if (command == "update") {
      update(arguments);
    } else {
      settle(command);
    }
  }

  void list() {
    const Json page = steps_.first_ten();
    if (page.is_null()) return;
    std::cout << (page["records"].empty() ? words_.no_records : words_.first_records);
    for (const auto& record : page["records"]) {
      std::cout << "      >> ID : " << plain_text(record.value("id", ""))
                << " - status: " << plain_text(record.value("status", "")) << '\n';
    }
  }
  void purge() {
    const Json page = steps_.first_ten();
    if (page.is_null()) return;
    std::cout << (page["records"].empty() ? words_.no_records_to_delete : words_.deleted_records);
    for (const auto& record : page["records"]) {
      complain("delete", steps_.call("delete", Json{{"id", record.value("id", "")}}));
      std::cout << "      >> Removed ID : " << plain_text(record.value("id", "")) << '\n';
    }
  }
  void create_test() {
    for (const char* id : kTestIds) {
      complain("put", steps_.put_test(id));
      std::cout << "      >> Creating shipment with ID : " << id << '\n';
    }
  }
  void put_again(const char* status) {
    const Json result = steps_.put_again(id_, record_, status);
    complain("put", result);
    if (is_success(result)) take(result);
  }
  void enqueue() {
    const std::string id = id_;
    take(steps_.find(id));
    if (record_.is_null()) return;
    if (status() == "UNDER_CONSTRUCTION") put_again("READY_TO_SHIP");
    const Json result = steps_.call("enqueue", Json{{"id", id}});
    if (result.is_null()) return;
    take(result);
    if (is_success(result)) {
      show("Record's system info:", sample_system_info(record_));
      show_stats("Queue stats");
    } else {
      std::cout << "     Enqueue has failed!\n Error message:\n" << sample_pretty(sample_result(result, false));
    }
  }
  void peek() {
    const Json answer = steps_.call("peek", Json::object());
    if (answer.is_null()) return;
    const Json& result = result_of(answer);
    if (is_success(result)) {
      take(result);
      show("Peek was successful ... record peeked is: [" + id_ + "]", sample_system_info(record_));
      std::cout << '\n';
      show_stats("Queue stats");
    } else {
      std::cout << "     peek() has failed!\n Error message:\n" << sample_pretty(sample_result(result, true));
    }
  }
  void update(const Arguments& arguments) {
    if (arguments.empty()) {
      std::cout << words_.no_status;
      return;
    }
    std::string status = arguments[0];
    std::transform(status.begin(), status.end(), status.begin(), [](unsigned char c) { return std::toupper(c); });
    if (status != "READY_TO_SHIP") {
      std::cout << "     Status change [" << plain_text(arguments[0]) << "] is not applied!\n";
      return;
    }
    const Json result = steps_.call("status", Json{{"id", id_}, {"status", status}});
    if (result.is_null()) return;
    show("Status changed result:", sample_result(result, false));
    std::cout << '\n';
    if (is_success(result)) take(steps_.find(id_));
  }
  void settle(const std::string& command) {
    const std::string id = id_;
    const Json body{{"id", id}};
    if (command == "done") {
      complain("updateStatus", steps_.call("status", Json{{"id", id}, {"status", "COMPLETED"}}));
      complain("remove", steps_.call("remove", body));
    } else if (command == "fail") {
      complain("restore", steps_.call("restore", body));
    } else {
      complain("sendToDLQ", steps_.call("dlq", body));
    }
    take(steps_.find(id));
    std::cout << settled(words_, command, id);
    show_stats("Queue status");
  }

  const Remote& remote_;
  const ConsoleWords& words_;
  Session session_;
  PrioritySteps steps_;
  Json record_;     // The current one, as its item; null for none.
  std::string id_;  // Its id.
  bool connected_ = false;
};

}  // namespace

int run_priority_console(const Remote& remote, bool sample) {
  return Console(remote, sample).run();
}

}  // namespace freshet::cli
