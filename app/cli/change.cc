// freshet cancel, redrive: changing a running daemon's queue.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <thread>
#include <utility>

#include "app/cli/bulk.h"
#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/progress.h"
#include "app/cli/remote.h"
#include "base/each_once.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

struct ChangeOptions {
  Remote remote;
  std::vector<std::string> ids;
  std::string state = "DEAD";
  std::optional<int64_t> limit;
  BulkOptions bulk;
};

constexpr size_t kMost = 1000;  // Tasks of one request.

// The part of the ids that goes into the request that begins with the one at `from`.
std::vector<std::string> request_of(const std::vector<std::string>& ids, size_t from, size_t most = kMost) {
  const auto first = ids.begin() + static_cast<ptrdiff_t>(from);
  return {first, first + static_cast<ptrdiff_t>(std::min(most, ids.size() - from))};
}

// The named ids that a command did not get to. Of a single id the error has said it already.
void print_left(const std::vector<std::string>& ids, size_t from, const std::string& why) {
  if (ids.size() == 1) return;
  std::cerr << "freshet: " << why << ": left are the ids from '" << plain_text(ids[from]) << "' on ("
            << ids.size() - from << " of " << ids.size() << ")\n";
}

// Ids name tasks one by one: options of a job in the daemon say nothing beside them. True: printed.
bool is_beside_ids(const char* option, bool given) {
  if (given) std::cerr << "freshet: " << option << " does not go with ids, which name the tasks\n";
  return given;
}
bool has_job_options(const BulkOptions& options) {
  return is_beside_ids("--older-than", !options.older_than.empty()) || is_beside_ids("--dry-run", options.dry_run) ||
         is_beside_ids("--no-wait", options.no_wait);
}

int cancel(const ChangeOptions& options) {
  if (options.ids.empty()) {
    if (options.bulk.where.empty() && options.bulk.states.empty() && options.bulk.older_than.empty()) {
      std::cerr
          << "freshet: which tasks? Name ids, or say which: --where NAME=VALUE, --state PENDING, --older-than 1h\n";
      return kUsage;
    }
    return run_bulk(options.remote, "cancel", options.bulk, "cancelled");
  }
  if (is_beside_ids("--where", !options.bulk.where.empty()) || is_beside_ids("--state", !options.bulk.states.empty()) ||
      is_beside_ids("--rate", options.bulk.rate > 0) || has_job_options(options.bulk)) {
    return kUsage;
  }
  Session session(options.remote);
  int status = kDone;
  const std::string all = " of " + std::to_string(options.ids.size()) + " asked to be cancelled";
  Progress progress("0" + all);
  for (size_t from = 0; from < options.ids.size(); from += kMost) {
    progress.show(std::to_string(from) + all);
    const Json answer = session.call("POST", "/cancel", Json{{"taskIds", request_of(options.ids, from)}});
    progress.wipe();
    if (answer.is_null()) {
      print_left(options.ids, from, "not all was cancelled");
      return session.exit_status();
    }
    for (const auto& result : answer.at("results")) {
      if (options.remote.json) std::cout << result.dump() << '\n';
      if (result.contains("error")) {
        status = exit_status_of(result["error"].value("code", ""));
        if (!options.remote.json) std::cerr << "freshet: " << plain_text(result["error"].value("message", "")) << '\n';
      } else if (!options.remote.json) {
        std::cout << plain_text(result.value("taskId", "")) << ' ' << plain_text(result.value("taskStatus", ""))
                  << '\n';
      }
    }
  }
  return status;
}

// Waits until so many at that rate have had their time.
void keep_pace(std::chrono::steady_clock::time_point begun, uint64_t done, double rate) {
  if (rate <= 0) return;
  std::this_thread::sleep_until(begun + seconds_of(static_cast<double>(done) / rate));
}

// A redrive in progress. It sends requests of bounded size, so that it can report its progress.
class Redrive {
 public:
  Redrive(const ChangeOptions& options, Json where)
      : options_(options), where_(std::move(where)), session_(options.remote) {
    if (options.limit) {
      left_ = static_cast<uint64_t>(*options.limit);
    } else if (!options.ids.empty()) {
      left_ = options.ids.size();
    }
  }

  int run() {
    const auto begun = std::chrono::steady_clock::now();
    // With a rate: ten requests a second, or one record at a time.
    const auto most =
        options_.bulk.rate > 0 ? std::clamp<uint64_t>(static_cast<uint64_t>(options_.bulk.rate / 10), 1, kMost) : kMost;
    while (!over_) {
      if (!ask(std::min(left_, most))) return session_.exit_status();
      if (over_) break;
      progress_.show(std::to_string(redriven_) + " back to PENDING");
      keep_pace(begun, redriven_, options_.bulk.rate);
    }
    progress_.end();
    if (options_.remote.json) {
      std::cout << Json{{"redriven", redriven_}}.dump() << '\n';
    } else {
      std::cout << redriven_ << " back to PENDING\n";
    }
    return options_.ids.empty() ? kDone : print_rest();
  }

 private:
  // Sends one request for at most `most` tasks. Without ids, an answer of fewer than asked for means that none is left.
  // With ids, every id of the request is put back or is in another state. False if it was refused and that was printed.
  bool ask(uint64_t most) {
    Json request{{"state", options_.state}, {"limit", most}};
    if (!where_.empty()) request["where"] = where_;
    if (!options_.ids.empty()) request["taskIds"] = request_of(options_.ids, named_, most);
    const Json answer = session_.call("POST", "/redrive", request);
    if (answer.is_null()) {
      progress_.end();
      if (redriven_ > 0) std::cerr << "freshet: " << redriven_ << " had gone back to PENDING before that\n";
      if (!options_.ids.empty()) print_left(options_.ids, named_, "not all was redriven");
      return false;
    }
    const uint64_t moved = answer.value("redriven", uint64_t{0});
    redriven_ += moved;
    left_ -= std::min(left_, moved);
    named_ = std::min<size_t>(named_ + most, options_.ids.size());
    over_ = left_ == 0 || (options_.ids.empty() ? moved < most : named_ == options_.ids.size());
    return true;
  }

  // Reports the ids that are in another state, and those that --limit left out. The exit status says if a named task
  // stays as it is, like that of a cancel. With --where some of them are expected to.
  int print_rest() const {
    if (named_ > redriven_) {
      std::cerr << "freshet: " << named_ - redriven_ << " of " << named_ << " are not " << plain_text(options_.state)
                << (where_.empty() ? "" : " or not as --where says") << ", and stay as they are"
                << (where_.empty() ? " (--state names another state)\n" : "\n");
    }
    if (named_ < options_.ids.size()) {
      print_left(options_.ids, named_, "--limit " + std::to_string(options_.limit.value_or(0)));
    }
    return named_ > redriven_ && where_.empty() ? kConflict : kDone;
  }

  const ChangeOptions& options_;
  const Json where_;
  Session session_;
  Progress progress_{"0 back to PENDING"};
  uint64_t left_ = kMost;  // The number that may still be put back.
  uint64_t redriven_ = 0;
  size_t named_ = 0;  // How many of the ids the requests so far named.
  bool over_ = false;
};

// By attribute or age the daemon does it by itself; of named ids, and of all that are in a state, request by request.
int redrive(const ChangeOptions& options) {
  auto where = conditions_of(options.bulk.where);
  if (!where) return kUsage;
  if (!options.ids.empty() && has_job_options(options.bulk)) return kUsage;
  const auto& bulk_options = options.bulk;
  const bool chosen =
      !where->empty() || !bulk_options.older_than.empty() || bulk_options.dry_run || bulk_options.no_wait;
  if (!chosen || !options.ids.empty()) return Redrive(options, std::move(*where)).run();
  BulkOptions bulk = options.bulk;
  bulk.states = {options.state};
  bulk.limit = options.limit.value_or(kMost);
  return run_bulk(options.remote, "redrive", bulk, "back to PENDING");
}

}  // namespace

void add_cancel(Command app, int& exit_status) {
  auto options = std::make_shared<ChangeOptions>();
  const Command command =
      app.add_subcommand("cancel", "Cancel tasks; one that is in work learns it at its next heartbeat");
  options->remote.add_options(command);
  command.footer(
      "freshet get ID shows what became of a task that was in work. Two tasks; those of one group; all that wait:\n"
      "  freshet cancel order-17 order-18\n"
      "  freshet cancel --where group=acme\n"
      "  freshet cancel --state PENDING --dry-run");
  command.add_option("ids", options->ids, "Task ids; without one, the tasks that the options choose")
      .check(not_empty());
  command
      .add_option("--state", options->bulk.states,
                  "Only tasks in this state: PENDING, DELAYED or TAKEN; repeatable [default: all three]")
      .one_of({"PENDING", "DELAYED", "TAKEN"})
      .one_value_each();
  add_bulk_options(command, options->bulk);
  command.callback([options, &exit_status] {
    options->ids = each_once(options->ids);
    exit_status = cancel(*options);
  });
}

void add_redrive(Command app, int& exit_status) {
  auto options = std::make_shared<ChangeOptions>();
  const Command command = app.add_subcommand("redrive", "Put dead, failed, cancelled or shed tasks back to PENDING");
  options->remote.add_options(command);
  command.footer(
      "After you have mended the cause: all dead tasks; those of one group, fifty a second; two that were cancelled:\n"
      "  freshet redrive --limit 100000\n"
      "  freshet redrive --limit 100000 --where group=eu --rate 50\n"
      "  freshet redrive --state CANCELLED order-17 order-18");
  command.add_option("ids", options->ids, "Task ids; without one, tasks in the state, as many as --limit says")
      .check(not_empty());
  command.add_option("--state", options->state, "The state that they are in: DEAD, FAILURE, CANCELLED or SHED")
      .one_of({"DEAD", "FAILURE", "CANCELLED", "SHED"})
      .capture_default_str();
  command.add_option("--limit", options->limit, "Most tasks to put back [default: 1000, or all ids that are named]")
      .check(whole(1, 4'294'967'295));
  add_bulk_options(command, options->bulk);
  command.callback([options, &exit_status] {
    options->ids = each_once(options->ids);
    exit_status = redrive(*options);
  });
}

}  // namespace freshet::cli
