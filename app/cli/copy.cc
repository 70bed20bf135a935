// freshet copy: tables from a data folder to an engine, or back.

#include <iostream>
#include <string>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/progress.h"
#include "app/engines/copier.h"
#include "app/engines/place.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

struct CopyCommand {
  std::string from;
  std::string to;
  std::vector<std::string> tables;
  std::string region;
  std::string ca;
  bool dry_run = false;
};

int print_failure(const Error& error) {
  std::cerr << "freshet: " << plain_text(error.message) << '\n';
  switch (error.code) {
    case ErrorCode::kValidation:
      return kUsage;
    case ErrorCode::kNotFound:
      return kNotFound;
    case ErrorCode::kConflict:
      return kConflict;
    case ErrorCode::kThroughputExceeded:
    case ErrorCode::kRequestLimitExceeded:
    case ErrorCode::kLimitExceeded:
      return kThrottled;
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kAccessDenied:
      return kUnreachable;
    default:
      return kFailed;
  }
}

std::string line_of(const engines::CopiedTable& table, bool dry_run) {
  std::string line = plain_text(table.table) + ": " + std::to_string(table.items) + " items, " +
                     std::to_string(table.bytes) + " bytes";
  if (!dry_run) {
    line += table.created ? "; the table was made" : "; the table was there";
    line += ", " + std::to_string(table.copied) + " items copied";
    if (table.there > 0) line += ", " + std::to_string(table.there) + " were there already";
    line += "; both sides are equal";
  }
  std::string states;
  for (const auto& [state, items] : table.states) {
    states += (states.empty() ? "" : ", ") + plain_text(state) + " " + std::to_string(items);
  }
  return states.empty() ? line : line + " (" + states + ")";
}

using Copied = Result<std::vector<engines::CopiedTable>>;

// `to` is null if the items are only counted: that needs no target, which need not be there yet.
Async<void> copy(engines::Place& from, engines::Place* to, engines::CopyOptions options, Copied& out) {
  auto reached = co_await from.reach();
  if (reached && to != nullptr) reached = co_await to->reach();
  if (!reached) {
    out = fail(reached.error());
    co_return;
  }
  Tables& target = to != nullptr ? to->tables() : from.tables();
  auto copied = co_await engines::copy_tables(from.tables(), target, std::move(options));
  out = std::move(copied);
}

int run(const CopyCommand& command) {
  auto loop = engines::StoreLoop::make(command.ca);
  if (!loop) return print_failure(loop.error());
  engines::PlaceOptions options;
  options.region = command.region;
  auto from = engines::Place::open(command.from, options, **loop);
  if (!from) return print_failure(from.error());
  options.writable = true;
  Result<std::unique_ptr<engines::Place>> to;
  if (!command.dry_run) to = engines::Place::open(command.to, options, **loop);
  if (!to) return print_failure(to.error());
  hear_interrupts();
  Progress progress("reading");
  engines::CopyOptions copying;
  copying.tables = command.tables;
  copying.only_count = command.dry_run;
  copying.scheduler = &(*loop)->loop();
  copying.is_stopped = [] { return interrupted(); };
  copying.on_progress = [&](const std::string& table, const std::string& doing, uint64_t items) {
    progress.show(plain_text(table) + ": " + std::to_string(items) + " items " + doing);
  };
  Copied copied;
  (*loop)->run(copy(**from, to->get(), std::move(copying), copied));
  progress.end();
  if (!copied && copied.error().code == ErrorCode::kCancelled) {
    std::cerr << "freshet: stopped" << (command.dry_run ? "" : ": the same command goes on where this one ended")
              << '\n';
    return kFailed;
  }
  if (!copied) return print_failure(copied.error());
  int status = kDone;
  for (const auto& table : *copied) {
    std::cout << line_of(table, command.dry_run) << '\n';
    if (table.without_ttl) status = print_failure(*table.without_ttl);
  }
  if (copied->empty()) std::cout << "there are no tables to copy\n";
  return status;
}

}  // namespace

void add_copy(Command app, int& exit_status) {
  auto options = std::make_shared<CopyCommand>();
  const Command command =
      app.add_subcommand("copy", "Copy tables from a data folder to a DynamoDB-compatible engine, or back");
  command.add_option("from", options->from, "Data folder, or http[s]://HOST[:PORT] of an engine").required();
  command.add_option("to", options->to, "The same; a folder is made if it is not there").required();
  command.add_option("--table", options->tables, "Copy this table; repeatable. Without it: all but Freshet's own")
      .one_value_each();
  command
      .add_option("--region", options->region,
                  "Region that requests to an engine are signed for; without it that of the profile, or us-east-1")
      .envname("AWS_REGION");
  command.add_option("--ca", options->ca, "PEM file of certificates to trust besides the system's").file();
  command.add_flag("--dry-run", options->dry_run, "Count the items, and copy nothing");
  command.footer(
      "Nobody may write meanwhile: stop the daemon first. Afterwards both sides are read again and compared.\n"
      "The same command goes on where one ended before. Access keys come from the environment, ~/.aws/credentials,\n"
      "~/.aws/config, or the credentials endpoint of a container or an instance.\n"
      "Examples:\n"
      "  freshet copy ./data http://127.0.0.1:8000\n"
      "  freshet copy https://dynamodb.eu-west-1.amazonaws.com ./data --region eu-west-1 --table QueueTable");
  command.callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace freshet::cli
