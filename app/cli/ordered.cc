// freshet ordered: tables with ordered writes of a running daemon, a call each with JSON output; and the replay of a
// fixture in simulation.
#include <functional>
#include <iostream>
#include <utility>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/exact_json.h"
#include "app/cli/ordered.h"
#include "app/cli/progress.h"
#include "app/cli/refusal.h"
#include "app/cli/remote.h"
#include "app/cli/shipped.h"
#include "base/plain_text.h"
#include "base/text_file.h"
#include "functions/ordered/definition.h"
#include "functions/ordered/replay.h"
#include "runtime/replay/replay.h"

#include "app/cli/subcommands.h"

namespace freshet::cli {
namespace {

struct OrderedOptions {
  Remote remote;
  std::string document;           // An item or a key, as JSON.
  std::vector<std::string> keys;  // Several.
  std::string set = "{}";
  std::vector<std::string> remove;
  std::string timestamp;
  std::string partition;
  std::string key_condition;
  std::string index;
  std::string filter;
  std::string names;
  std::string values;
  std::string cursor;
  std::string projection;
  int64_t limit = 100;
  bool count_only = false;
  bool backward = false;
  bool tombstones = false;
  bool typed = false;
};

int status_of(const Json& document) {
  if (document.contains("item") && document["item"].is_null()) return kNotFound;
  const std::string outcome = document.value("outcome", "APPLIED");
  if (outcome == "APPLIED") return kDone;
  if (outcome == "INVALID") return kUsage;
  if (outcome == "STORE_ERROR") return exit_status_of(refusal_in(document).code);
  return kConflict;
}

// Prints the answer on standard output, and what went wrong for people on standard error.
int call_and_print(const OrderedOptions& options, const std::string& path, const Json& body) {
  Session session(options.remote);
  const Json answer = session.call("POST", path, body);
  if (answer.is_null()) return session.exit_status();
  std::cout << text_of(answer, options.remote.json ? -1 : 2) << '\n';
  if (answer.contains("detail")) std::cerr << "freshet: " << plain_text(answer.value("detail", "")) << '\n';
  return status_of(answer);
}

// The body of a request, as far as its texts are JSON.
class Body {
 public:
  explicit Body(const OrderedOptions& options) : options_(options) {
    if (options.typed) body_["typed"] = true;
    if (options.tombstones) body_["tombstones"] = true;
    if (!options.timestamp.empty()) body_["timestamp"] = number_or_text(options.timestamp);
  }
  Body& json(const char* name, const std::string& text) {
    body_[name] = parsed(text, name);
    return *this;
  }
  Body& json_if(const char* name, const std::string& text) { return text.empty() ? *this : json(name, text); }
  Body& text_if(const char* name, const std::string& text) {
    if (!text.empty()) body_[name] = text;
    return *this;
  }
  Body& set(const char* name, Json value) {
    body_[name] = std::move(value);
    return *this;
  }
  Json parsed(const std::string& text, const char* what) {
    auto value = read_argument(what, text);
    if (value) return std::move(*value);
    if (wrong_.empty()) wrong_ = value.error().message;
    return nullptr;
  }
  int call_and_print(const std::string& path) const {
    if (wrong_.empty()) return cli::call_and_print(options_, path, body_);
    std::cerr << "freshet: " << wrong_ << '\n';
    return kUsage;
  }

 private:
  // A number is one; everything else (an ISO 8601 time, a token) is a text.
  static Json number_or_text(const std::string& text) {
    Json value = parse_exact(text);
    return value.is_number() || value.is_binary() ? value : Json(text);
  }

  const OrderedOptions& options_;
  Json body_ = Json::object();
  std::string wrong_;
};

// The commands of `freshet ordered`: each adds its options and says what is asked of the daemon.
class OrderedCommands : public Subcommands<OrderedOptions> {
 public:
  using Subcommands::Subcommands;

  Command add(const char* name, const char* what, Run run) {
    Command command = begin(name, what, std::move(run));
    options().remote.queue = "Ratings";
    options().remote.option = "--table";
    options().remote.variable = "FRESHET_ORDERED_TABLE";
    options().remote.root = "/ordered/";
    options().remote.add_connection_options(command);
    options().remote.chosen_by =
        command
            .add_option("--table", options().remote.queue,
                        "Name of the definition, usually the table's; a daemon's only one needs none")
            .envname("FRESHET_ORDERED_TABLE")
            .capture_default_str();
    command.add_flag("--json", options().remote.json, "Print JSON on one line");
    command.add_flag("--typed", options().typed,
                     "Take and print items in the item store's JSON: {\"PK\": {\"S\": \"x\"}}");
    return command;
  }
  Command add_write(const char* name, const char* what, Run run) {
    Command command = add(name, what, std::move(run));
    command
        .add_option("--timestamp", options().timestamp,
                    "Timestamp of the data: a number in the definition's unit, or an ISO 8601 time. When you repeat a "
                    "write, give that of the first attempt [default: the record's own, or now]")
        .check(not_empty());
    return command;
  }
  Command add_read(const char* name, const char* what, Run run) {
    Command command = add(name, what, std::move(run));
    command.add_flag("--tombstones", options().tombstones, "Show tombstones, too");
    return command;
  }
  void add_expressions(Command command) {
    command.add_option("--filter", options().filter, "Filter expression").check(not_empty());
    command.add_option("--projection", options().projection, "Projection expression: the attributes to show")
        .check(not_empty());
    command.add_flag("--count", options().count_only, "Show only how many items there are");
    command.add_option("--names", options().names, "Names in the expressions, as JSON: {\"#n\": \"Name\"}");
    command.add_option("--values", options().values, "Values in the expressions, as JSON: {\":v\": 1}");
    command.add_option("--index", options().index, "Read this index instead of the table");
    command.add_option("--limit", options().limit, "Most items to examine").check(whole(1, 1000));
    command.add_option("--cursor", options().cursor, "Cursor of the previous answer");
  }
};

void add_writes(OrderedCommands& commands) {
  Command command = commands.add_write("put", "Write an item, unless a newer one is there", [](const auto& o) {
    return Body(o).json("item", o.document).call_and_print("/put");
  });
  commands.examples(
      "freshet ordered put '{\"PK\": \"User#1\", \"SK\": \"Movie#A\", \"Rating\": 5}'\n"
      "freshet ordered put '{\"PK\": \"User#1\", \"SK\": \"Movie#B\", \"Rating\": 1}' --timestamp "
      "2024-05-01T10:00:00Z");
  command.add_option("item", commands.options().document, "The item, as JSON").required();
  command = commands.add_write("delete", "Delete an item, unless a newer one is there",
                               [](const auto& o) { return Body(o).json("key", o.document).call_and_print("/delete"); });
  commands.examples("freshet ordered delete '{\"PK\": \"User#1\", \"SK\": \"Movie#A\"}'");
  command.add_option("key", commands.options().document, "Its key, as JSON").required();
  command = commands.add_write("update", "Set the declared attributes, unless newer ones are there", [](const auto& o) {
    return Body(o).json("key", o.document).json("set", o.set).set("remove", o.remove).call_and_print("/update");
  });
  commands.examples(
      "freshet ordered update '{\"device\": \"d1\"}' '{\"label\": \"roof\"}' --table Devices --timestamp \"$(date "
      "+%s%3N)\"");
  command.add_option("key", commands.options().document, "The item's key, as JSON").required();
  command.add_option("set", commands.options().set, "Attributes and values, as JSON");
  command.add_option("--remove", commands.options().remove, "Attribute to remove; repeatable").one_value_each();
}

void add_expressions(Body& body, const OrderedOptions& o) {
  body.json_if("names", o.names).json_if("values", o.values);
  if (o.count_only) body.set("countOnly", true);
  body.text_if("projection", o.projection);
  body.text_if("filter", o.filter).text_if("index", o.index).text_if("cursor", o.cursor).set("limit", o.limit);
}

void add_reads(OrderedCommands& commands) {
  Command command = commands.add_read(
      "get", "Show an item", [](const auto& o) { return Body(o).json("key", o.document).call_and_print("/get"); });
  commands.examples("freshet ordered get '{\"PK\": \"User#1\", \"SK\": \"Movie#A\"}'");
  command.add_option("key", commands.options().document, "Its key, as JSON").required();
  command = commands.add_read("batch-get", "Show several items", [](const auto& o) {
    Body body(o);
    Json keys = Json::array();
    for (const auto& key : o.keys) keys.push_back(body.parsed(key, "a key"));
    return body.set("keys", keys).call_and_print("/batch-get");
  });
  commands.examples(
      "freshet ordered batch-get '{\"PK\": \"User#1\", \"SK\": \"Movie#A\"}' '{\"PK\": \"User#1\", \"SK\": "
      "\"Movie#B\"}'");
  command.add_option("keys", commands.options().keys, "Their keys, as JSON").required();
  command = commands.add_read("query", "Show the items of a partition, by sort key", [](const auto& o) {
    if (o.partition.empty() && o.key_condition.empty()) {
      std::cerr << "freshet: which items? Name the key of a partition, as in freshet ordered query User#1, or give "
                   "--key-condition\n";
      return static_cast<int>(kUsage);
    }
    Body body(o);
    add_expressions(body, o);
    if (!o.partition.empty()) {
      const Json value = parse_exact(o.partition);
      body.set("partition", value.is_discarded() ? Json(o.partition) : value);
    }
    return body.text_if("keyCondition", o.key_condition).set("forward", !o.backward).call_and_print("/query");
  });
  commands.examples(
      "freshet ordered query User#1 --backward --limit 20\n"
      "freshet ordered query --key-condition 'PK = :p AND begins_with(SK, :s)' --values '{\":p\": \"User#1\", \":s\": "
      "\"Movie#\"}'");
  command.add_option("partition", commands.options().partition, "Key of the partition: a text, or JSON");
  command.add_option("--key-condition", commands.options().key_condition,
                     "Key condition expression, instead of a partition");
  command.add_flag("--backward", commands.options().backward, "Show the largest sort key first");
  commands.add_expressions(command);
  command = commands.add_read("scan", "Show the items of the table", [](const auto& o) {
    Body body(o);
    add_expressions(body, o);
    return body.call_and_print("/scan");
  });
  commands.examples("freshet ordered scan --filter 'Rating > :r' --values '{\":r\": 3}'");
  commands.add_expressions(command);
}

struct OrderedReplay {
  std::string fixture;
  std::string definition = shipped_path("config/ordered-writes.json");
  std::string table;
  std::string expect;
  ordered::ReplayOptions options;
};

int wrong(const std::string& message) {
  std::cerr << "freshet: " << plain_text(message) << '\n';
  return kUsage;
}

// The definition that is named, or that of the fixture's table, or the only one.
Result<ordered::Settings> settings_for(const OrderedReplay& command, const std::string& fixture_table) {
  auto text = read_text_file(command.definition);
  if (!text) return fail(text.error());
  auto definitions = ordered::read_definitions(*text);
  if (!definitions) return invalid(command.definition + ": " + definitions.error().message);
  const std::string& wanted = command.table.empty() ? fixture_table : command.table;
  for (auto& one : *definitions) {
    if (one.settings.name == wanted || definitions->size() == 1) return std::move(one.settings);
  }
  return invalid(command.definition + " has no definition '" + wanted + "'; --table names another one");
}

int replay_fixture(const OrderedReplay& command) {
  const auto text = read_text_file(command.fixture);
  if (!text) return wrong(text.error().message);
  const auto fixture = read_fixture(*text, command.fixture);
  if (!fixture) return wrong(fixture.error().message);
  const auto settings = settings_for(command, fixture->header.table);
  if (!settings) return wrong(settings.error().message);
  const std::string all = " of " + std::to_string(command.options.interleavings) + " interleavings";
  Progress progress("0" + all);
  ordered::ReplayOptions options = command.options;
  options.on_interleaving = [&](uint64_t number) {
    if (number % 10 != 0 && number != options.interleavings) return;
    progress.show(std::to_string(number) + all);
  };
  const auto output = ordered::replay(*fixture, *settings, options);
  progress.end();
  if (!output) return wrong(fixture->in_file(output.error()).message);
  if (output->difference) std::cerr << "freshet: " << plain_lines(*output->difference) << '\n';
  if (command.expect.empty()) {
    std::cout << output->lines;
    return output->difference ? kDifferent : kDone;
  }
  const auto expected = read_text_file(command.expect);
  if (!expected) return wrong(expected.error().message);
  const auto difference = first_difference(*expected, output->lines);
  if (!difference) return output->difference ? kDifferent : kDone;
  std::cerr << "freshet: the replay differs from " << plain_text(command.expect) << "\n"
            << plain_lines(difference->to_string()) << '\n';
  return kDifferent;
}

void add_replay_command(Command parent, int& exit_status) {
  auto command = std::make_shared<OrderedReplay>();
  Command replay = parent.add_subcommand(
      "replay", "Replay a fixture's records in random orders, repeated and late, and compare the results");
  replay.footer(
      "In simulated time, in memory. First the lines in their order, then random interleavings by parallel writers; "
      "exit\n"
      "status 7: an end is not that of the order of timestamps, and the seed that shows it is printed. The shipped "
      "one:\n"
      "  freshet ordered replay streams/fixtures/ordered-ratings.jsonl");
  replay.add_option("fixture", command->fixture, "File written by freshet record, or by hand")
      .shipped_file()
      .required();
  replay.add_option("--definition", command->definition, "File of definitions").shipped_file().capture_default_str();
  replay.add_option("--table", command->table,
                    "The definition to use [default: that of the fixture's table, or the only one]");
  replay.add_option("--interleavings", command->options.interleavings, "How many interleavings to try")
      .check(whole(0, 10'000'000))
      .capture_default_str();
  replay.add_option("--writers", command->options.writers, "How many write at the same time")
      .check(whole(1, 100))
      .capture_default_str();
  replay.add_option("--seed", command->options.seed, "Seed of the first interleaving")
      .check(seed())
      .capture_default_str();
  replay.add_option("--expect", command->expect, "Compare the output with this file instead of printing it")
      .shipped_file();
  replay.accept_flag("--json", "No effect: a replay prints JSON Lines");
  replay.callback([command, &exit_status] { exit_status = replay_fixture(*command); });
}

}  // namespace

void add_ordered(Command app, int& exit_status) {
  const Command parent = app.add_subcommand("ordered", "Work with tables whose writes are ordered by their timestamps");
  parent.require_subcommand();
  parent.footer(
      "A rating, an older one that comes late, and its removal:\n"
      "  freshet ordered put '{\"PK\": \"User#1\", \"SK\": \"Movie#A\", \"Rating\": 5}'\n"
      "  freshet ordered put '{\"PK\": \"User#1\", \"SK\": \"Movie#A\", \"Rating\": 1}' --timestamp \"$(($(date "
      "+%s%3N) - 60000))\"\n"
      "  freshet ordered delete '{\"PK\": \"User#1\", \"SK\": \"Movie#A\"}'");
  OrderedCommands commands(parent, exit_status);
  add_writes(commands);
  add_reads(commands);
  add_replay_command(parent, exit_status);
}

}  // namespace freshet::cli
