#include "app/cli/bulk.h"

#include <unistd.h>

#include <iostream>
#include <utility>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/exact_json.h"
#include "app/cli/interrupt.h"
#include "app/cli/progress.h"
#include "app/cli/queue_name.h"
#include "base/duration_text.h"
#include "base/plain_text.h"
#include "base/terminal.h"

namespace freshet::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenLooksAtJob{200};  // Between two looks at a job.

Json request_of(const std::string& action, const BulkOptions& options, Json where) {
  Json request{{"do", action}};
  if (!options.states.empty()) request["states"] = options.states;
  if (!where.empty()) request["where"] = std::move(where);
  if (options.limit) request["limit"] = *options.limit;
  if (options.rate > 0) request["ratePerSecond"] = options.rate;
  if (options.dry_run) request["dryRun"] = true;
  if (!options.older_than.empty()) {
    const auto age = parse_duration(options.older_than, std::chrono::milliseconds(0), std::chrono::hours(24 * 366));
    if (age) request["olderThanMs"] = age->count();
  }
  return request;
}

std::string id_of(const Json& job) {
  return std::to_string(job.value("id", uint64_t{0}));
}

uint64_t count(const Json& job, const char* name) {
  return job.value(name, uint64_t{0});
}

std::string tasks(uint64_t number) {
  return std::to_string(number) + (number == 1 ? " task" : " tasks");
}

// Where the job can be looked at, and how it is stopped.
std::string pointers(const Session& session, const Json& job) {
  const std::string path = "/queues/" + path_segment(session.queue()) + "/jobs/" + id_of(job);
  return "job " + id_of(job) + " goes on in the daemon: GET " + path + " shows it, DELETE " + path + " stops it";
}

std::string progress_of(const Json& job, const std::string& done) {
  if (job.value("phase", "") == "counting") {
    return "counting: " + std::to_string(count(job, "matched")) + " match of " + std::to_string(count(job, "looked")) +
           " looked at";
  }
  return std::to_string(count(job, "changed")) + " of " + std::to_string(count(job, "matched")) + " " + done;
}

// It stops counting at the limit.
void print_dry_run(const Json& job, const BulkOptions& options, const std::string& done) {
  const uint64_t matched = count(job, "matched");
  std::cout << tasks(matched) << " would be " << done << " (--dry-run: nothing was changed)\n";
  if (options.limit && matched >= static_cast<uint64_t>(*options.limit)) {
    std::cout << "that is as many as --limit allows; more may match\n";
  }
  if (job.contains("example")) std::cout << "for example " << text_of(job["example"]) << '\n';
}

void print_end(const Json& job, const std::string& done) {
  std::cout << count(job, "changed") << " " << done;
  if (count(job, "matched") != count(job, "changed")) std::cout << ", of " << count(job, "matched") << " that matched";
  std::cout << '\n';
  if (count(job, "moved") > 0) {
    std::cout << count(job, "moved") << " had moved to another state meanwhile, and stay as they are\n";
  }
  if (count(job, "failed") > 0) {
    std::cout << count(job, "failed") << " could not be changed: " << plain_text(job.value("error", "")) << '\n';
  }
}

int report_end(const Remote& remote, const Json& job, const BulkOptions& options, const std::string& done) {
  const std::string phase = job.value("phase", "");
  const bool whole = phase == "done";
  if (remote.json) {
    const bool redriven = job.value("do", "") == "redrive" && !options.dry_run;
    std::cout << (redriven ? Json{{"redriven", count(job, "changed")}} : job).dump() << '\n';
  } else if (whole && options.dry_run) {
    print_dry_run(job, options, done);
  } else {
    print_end(job, done);
  }
  if (!whole) {
    std::cerr << "freshet: job " << id_of(job) << " has ended early, " << plain_text(phase)
              << (job.contains("error") ? ": " + plain_text(job["error"].get<std::string>()) : std::string()) << '\n';
  }
  return whole && count(job, "failed") == 0 ? kDone : kFailed;
}

}  // namespace

std::optional<Json> conditions_of(const std::vector<std::string>& where) {
  Json out = Json::object();
  for (const auto& text : where) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      std::cerr << "freshet: --where '" << plain_text(text)
                << "' must be NAME=VALUE: an attribute of the task and what it must be\n";
      return std::nullopt;
    }
    const std::string name = text.substr(0, equals);
    if (out.contains(name)) {
      std::cerr << "freshet: --where names '" << plain_text(name) << "' twice: no task can be both\n";
      return std::nullopt;
    }
    out[name] = text.substr(equals + 1);
  }
  return out;
}

void add_bulk_options(Command command, BulkOptions& options) {
  command.add_option("--where", options.where,
                     "NAME=VALUE: only tasks with this attribute; repeatable, all of them must hold");
  command.add_option("--older-than", options.older_than, "Only tasks that were created at least that long ago")
      .check(duration(std::chrono::milliseconds(0), std::chrono::hours(24 * 366)));
  command.add_option("--rate", options.rate, "Most changes per second [default: as fast as live traffic allows]")
      .check(above_zero());
  command.add_flag("--dry-run", options.dry_run, "Count the tasks and show one of them; change nothing");
  command.add_flag("--no-wait", options.no_wait, "Print the job's id once it has begun, and leave it to the daemon");
}

int run_bulk(const Remote& remote, const std::string& action, const BulkOptions& options, const std::string& done) {
  auto where = conditions_of(options.where);
  if (!where) return kUsage;
  Session session(remote);
  Json job = session.call("POST", "/jobs", request_of(action, options, std::move(*where)));
  if (job.is_null()) return session.exit_status();
  if (options.no_wait) {
    std::cout << (remote.json ? job.dump() : id_of(job)) << '\n';
    return kDone;
  }
  hear_interrupts();
  Progress progress(progress_of(job, done));
  for (;;) {
    const std::string phase = job.value("phase", "");
    if (phase != "counting" && phase != "changing") break;
    if (!wait_for(kBetweenLooksAtJob)) {
      progress.end();
      std::cerr << "freshet: " << pointers(session, job) << '\n';
      return kFailed;
    }
    Json now = session.call("GET", "/jobs/" + id_of(job));
    if (now.is_null()) {
      progress.end();
      std::cerr << "freshet: " << pointers(session, job) << '\n';
      return session.exit_status();
    }
    job = std::move(now);
    progress.show(progress_of(job, done));
  }
  progress.end();
  return report_end(remote, job, options, done);
}

namespace {

struct PurgeOptions {
  Remote remote;
  BulkOptions bulk;
  bool yes = false;
};

// A person at a terminal must type the queue's name first.
bool is_meant(const PurgeOptions& options) {
  if (options.yes || options.bulk.dry_run) return true;
  if (!screen_of(STDIN_FILENO).terminal) {
    std::cerr << "freshet: a purge deletes tasks for good: confirm it with --yes (--dry-run counts them)\n";
    return false;
  }
  std::cerr << "This deletes tasks of queue '" << plain_text(options.remote.queue)
            << "' for good. Type its name to go on: " << std::flush;
  std::string typed;
  std::getline(std::cin, typed);
  if (typed == options.remote.queue) return true;
  std::cerr << "freshet: that is not its name: nothing was purged\n";
  return false;
}

}  // namespace

void add_purge(Command app, int& exit_status) {
  auto options = std::make_shared<PurgeOptions>();
  const Command command = app.add_subcommand("purge", "Delete tasks of a queue for good, by state, attribute and age");
  add_queue_name(command, options->remote);
  command
      .add_option("--state", options->bulk.states,
                  "State of the tasks: PENDING, DELAYED, DEAD, FAILURE, CANCELLED, SHED or SUCCESS; repeatable")
      .one_of({"PENDING", "DELAYED", "DEAD", "FAILURE", "CANCELLED", "SHED", "SUCCESS"})
      .one_value_each()
      .required();
  command.add_option("--limit", options->bulk.limit, "Purge at most so many").check(whole(1, 1'000'000'000'000));
  add_bulk_options(command, options->bulk);
  command.add_flag("--yes", options->yes, "Do not ask for the queue's name");
  command.footer(
      "Tasks in work cannot be purged: freshet cancel ends them. How many; then for good:\n"
      "  freshet purge jobs --state DEAD --older-than 7d --dry-run\n"
      "  freshet purge jobs --state DEAD --older-than 7d --yes\n"
      "  freshet purge jobs --state PENDING --where group=acme --rate 500 --yes");
  command.callback([options, &exit_status] {
    exit_status = is_meant(*options) ? run_bulk(options->remote, "purge", options->bulk, "purged") : kUsage;
  });
}

}  // namespace freshet::cli
