#include "app/cli/priority_sample.h"

#include <functional>
#include <iostream>
#include <memory>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/exact_json.h"
#include "app/cli/priority_json.h"
#include "app/cli/priority_steps.h"

#include "app/cli/subcommands.h"

namespace freshet::cli {
namespace {

struct SampleOptions {
  Remote remote;
  std::string id;
  std::string receipt;
  std::string status;
};

void print(const SampleOptions& options, const Json& document) {
  std::cout << text_of(document, options.remote.json ? -1 : 2) << '\n';
}

// One command on its way: its session, and the calls that every one of them makes.
class Step {
 public:
  explicit Step(const SampleOptions& options) : options_(options), session_(options.remote), steps_(session_) {}

  PrioritySteps& steps() { return steps_; }
  int print_answer(const Json& answer) const {
    return answer.is_null() ? session_.exit_status() : print_priority_answer(options_.remote, answer);
  }
  Json body() const {
    Json body{{"id", options_.id}};
    if (!options_.receipt.empty()) body["receipt"] = options_.receipt;
    return body;
  }
  // Shows the part of the named record that `view` picks, or says why there is none.
  int show(Json (*view)(const Json& item)) {
    const Json result = steps_.find(options_.id);
    if (!is_success(result)) return print_answer(result);
    print(options_, view(result["item"]));
    return kDone;
  }
  int put_again(const std::string& status) {
    const Json result = steps_.find(options_.id);
    return is_success(result) ? print_answer(steps_.put_again(options_.id, result["item"], status))
                              : print_answer(result);
  }
  // Ids of the first ten records after a call on each; it ends with the first that is refused.
  int for_each(const std::vector<std::string>& ids, const char* did,
               const std::function<Json(const std::string&)>& one) {
    Json done = Json::array();
    for (const auto& id : ids) {
      const Json result = one(id);
      if (!is_success(result)) return print_answer(result);
      done.push_back(id);
    }
    print(options_, Json{{did, done}});
    return kDone;
  }

 private:
  const SampleOptions& options_;
  Session session_;
  PrioritySteps steps_;
};

int create_test(const SampleOptions& options) {
  Step step(options);
  return step.for_each({std::begin(kTestIds), std::end(kTestIds)}, "created",
                       [&](const auto& id) { return step.steps().put_test(id); });
}

int purge(const SampleOptions& options) {
  Step step(options);
  const Json page = step.steps().first_ten();
  if (page.is_null()) return step.print_answer(page);
  std::vector<std::string> ids;
  for (const auto& record : page["records"]) ids.push_back(record.value("id", ""));
  return step.for_each(ids, "removed", [&](const auto& id) { return step.steps().call("delete", Json{{"id", id}}); });
}

int update(const SampleOptions& options) {
  Step step(options);
  Json body = step.body();
  body["status"] = options.status;
  return step.print_answer(step.steps().call("status", body));
}

// Out of the queue only if the status could be set: a receipt that is stale ends both.
int done(const SampleOptions& options) {
  Step step(options);
  Json body = step.body();
  body["status"] = "COMPLETED";
  const Json completed = step.steps().call("status", body);
  return is_success(completed) ? step.print_answer(step.steps().call("remove", step.body()))
                               : step.print_answer(completed);
}

class SampleCommands : public Subcommands<SampleOptions> {
 public:
  using Subcommands::Subcommands;

  Command add(const char* name, const char* what, Run run) {
    return begin(name, what, std::move(run), "Shipment", "/priority/", "Name of the priority queue");
  }
  Command add_record(const char* name, const char* what, Run run) {
    const Command command = add(name, what, std::move(run));
    command.add_option("id", options().id, "Record id").required().check(not_empty());
    return command;
  }
  Command add_settling(const char* name, const char* what, Run run) {
    const Command command = add_record(name, what, std::move(run));
    command.add_option("--receipt", options().receipt, "Receipt of the peek that this answers").check(not_empty());
    return command;
  }
};

void add_looks(SampleCommands& commands) {
  commands
      .add_record("info", "Show a record as the sample does: data and system info",
                  [](const auto& o) { return Step(o).show(sample_record); })
      .alias("id");
  commands.examples("freshet priority info A-101");
  commands
      .add_record("sys", "Show a record's system info", [](const auto& o) { return Step(o).show(sample_system_info); })
      .alias("system");
  commands.examples("freshet priority sys A-101");
  commands.add_record("data", "Show a record's data", [](const auto& o) { return Step(o).show(sample_data); });
  commands.examples("freshet priority data A-101");
  commands.add("ls", "List the first ten records", [](const auto& o) {
    Step step(o);
    return step.print_answer(step.steps().first_ten());
  });
  commands.examples("freshet priority ls");
  commands
      .add("qstat", "Show the queue as the sample does",
           [](const auto& o) {
             Session session(o.remote);
             const Json stats = session.call("GET", "/stats");
             if (stats.is_null()) return session.exit_status();
             print(o, sample_stats(stats));
             return static_cast<int>(kDone);
           })
      .alias("qstats");
  commands.examples("freshet priority qstat");
}

void add_changes(SampleCommands& commands) {
  commands.add("create-test", "Make the test records A-101, A-202, A-303 and A-404, over what is there", create_test)
      .alias("ct");
  commands.examples("freshet priority create-test");
  commands.add("purge", "Delete the first ten records", purge);
  commands.examples("freshet priority purge");
  const Command command = commands.add_record("update", "Set a record's status, as set-status does", update);
  commands.examples("freshet priority update A-101 READY_TO_SHIP");
  command.add_option("status", commands.options().status, "The status, like READY_TO_SHIP")
      .required()
      .check(not_empty());
  commands.add_record("reset", "Begin a record's system info anew, under construction",
                      [](const auto& o) { return Step(o).put_again("UNDER_CONSTRUCTION"); });
  commands.examples("freshet priority reset A-101");
  commands.add_record("ready", "Begin a record's system info anew, ready for the queue",
                      [](const auto& o) { return Step(o).put_again("READY_TO_SHIP"); });
  commands.examples("freshet priority ready A-101");
  commands.add_settling("done", "Say that a record was processed: COMPLETED, and out of the queue", done);
  commands.examples("freshet priority done A-101 --receipt \"$receipt\"");
  commands.add_settling("fail", "Say that processing failed: back into the queue", [](const auto& o) {
    Step step(o);
    return step.print_answer(step.steps().call("restore", step.body()));
  });
  commands.examples("freshet priority fail A-101 --receipt \"$receipt\"");
  commands.add_settling("invalid", "Say that a record's data is invalid: into the dead-letter queue",
                        [](const auto& o) {
                          Step step(o);
                          return step.print_answer(step.steps().call("dlq", step.body()));
                        });
  commands.examples("freshet priority invalid A-101 --receipt \"$receipt\"");
}

}  // namespace

void add_sample_commands(Command priority, int& exit_status) {
  SampleCommands commands(priority, exit_status);
  add_looks(commands);
  add_changes(commands);
}

}  // namespace freshet::cli
