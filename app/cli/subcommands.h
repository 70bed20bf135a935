// The commands of one group (`freshet priority`, `freshet ordered`, …): each with options of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "app/cli/options.h"

namespace freshet::cli {

template <class Options>
class Subcommands {
 public:
  using Run = std::function<int(const Options&)>;

  // `exit_status` must outlive the parse; the exit status is that of the command that runs.
  Subcommands(Command parent, int& exit_status) : parent_(parent), exit_status_(exit_status) {}

  // Begins a command. Until the next one, options() are its options.
  Command begin(const char* name, const char* what, Run run) {
    const Command command = command_ = parent_.add_subcommand(name, what);
    options_ = std::make_shared<Options>();
    command.callback([options = options_, run = std::move(run), &status = exit_status_] { status = run(*options); });
    return command;
  }
  // Begins a command on a queue, with the options for that. `queue` is the default name, `root` the path before it,
  // `of_the_queue` the description of --queue.
  Command begin(const char* name, const char* what, Run run, const char* queue, const char* root,
                const std::string& of_the_queue) {
    const Command command = begin(name, what, std::move(run));
    options_->remote.queue = queue;
    options_->remote.root = root;
    options_->remote.add_options(command);
    command.get_option("--queue").description(of_the_queue);
    return command;
  }
  Options& options() { return *options_; }
  // The end of its --help: command lines, one a line.
  void examples(const std::string& lines) {
    std::string out = lines.find('\n') == std::string::npos ? "Example:\n  " : "Examples:\n  ";
    for (const char c : lines) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
    command_.footer(out);
  }

 private:
  Command parent_;
  Command command_ = parent_;  // The last one that was begun.
  int& exit_status_;
  std::shared_ptr<Options> options_;
};

}  // namespace freshet::cli
