#include "app/cli/priority_words.h"

#include <filesystem>

#include "base/plain_text.h"

namespace freshet::cli {
namespace {

constexpr ConsoleWords kOwn{
    false,
    "Connected.\n",
    "There is no connection; `connect` tries again.\n",
    "     There is no connection; `connect` tries again.\n",
    "     There is no such command; `help` lists what there is.\n",
    "     No record is the current one any more.\n",
    "     `stat` needs a current record (`id <id>`); `qstat` shows the queue.\n",
    "",
    "     The table has no records.\n",
    "     The table has no records to delete.\n",
    "     The first 10 records:\n",
    "     Deleted records:\n",
    "System info, begun anew:",
    "     `update` needs a status: READY_TO_SHIP.\n",
    "Bye.\n",
};
constexpr ConsoleWords kSample{
    true,
    " ... AWS session is properly established!\n",
    " ... AWS session could not be established!\n",
    "     Need first to run 'aws' command\n",
    " ... unrecognized command!\n",
    "     Going back to standard CLI mode!\n",
    "     ERROR: 'stat' command can be only used in the ID mode. Use 'qstat' instead!\n",
    "     ERROR: 'aws <profile> [<region>]' command requires parameter(s) to be specified!\n",
    "     Shipment table is empty!\n",
    "     Shipment table is empty ... nothing to remove!\n",
    "     List of first 10 IDs:\n",
    "     List of removed IDs:\n",
    "Reseted system info:",
    "     ERROR: 'update <status>' command requires a new Stataus parameter to be specified!\n",
    ">> CLI is ending\n\n\n",
};

}  // namespace

const ConsoleWords& console_words(bool sample) {
  return sample ? kSample : kOwn;
}

std::string console_greeting(const ConsoleWords& words, const std::string& queue, const std::string& url) {
  if (!words.sample) {
    return "Freshet: priority queue '" + plain_text(queue) + "' at " + plain_text(url) +
           "\nType `help` for the commands, `quit` to end.\n";
  }
  return "===========================================================\n"
         ">> Welcome to Queueing AWS Blog Post's CLI Tool!\n"
         "===========================================================\n"
         " for help, enter one of the following: ? or h or help\n"
         " all commands in CLIs need to be typed in lowercase\n"
         " current directory is: [" +
         plain_text(std::filesystem::current_path().string()) + "/.]\n";
}

std::string console_prompt(const ConsoleWords& words, const std::string& queue, const std::string& id) {
  if (!words.sample) return plain_text(queue) + (id.empty() ? "" : " " + plain_text(id)) + "> ";
  return id.empty() ? " >> Enter command: " : "ID <" + plain_text(id) + "> >> Enter command: ";
}

std::string needs_record(const ConsoleWords& words, const std::string& command) {
  if (!words.sample) return "     `" + command + "` needs a current record; `id <id>` makes one that.\n";
  const bool system = command == "sys" || command == "system";
  return "     ERROR: " + (system ? "`system` or `sys`" : "'" + (command == "en" ? "enqueue" : command) + "'") +
         " command can be only used in the CLI's App mode. Call first `id <record-id>`\n";
}

std::string settled(const ConsoleWords& words, const std::string& command, const std::string& id) {
  if (!words.sample) {
    const char* what = command == "done"   ? "is completed and out of the queue."
                       : command == "fail" ? "is back in the queue."
                                           : "is in the dead-letter queue.";
    return "     Record " + plain_text(id) + " " + what + "\n";
  }
  const char* what = command == "done"   ? "is completed successfully! Remove from the queue!"
                     : command == "fail" ? "has failed! Put the record back to the queue!"
                                         : "has failed .. invalid data! Send record to DLQ!";
  return "     Processing for ID [" + plain_text(id) + "] " + what + "\n";
}

}  // namespace freshet::cli
