#include "app/cli/serve_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/duration_text.h"
#include "base/url.h"
#include "functions/late.h"
#include "functions/runners/program.h"
#include "functions/setting_names.h"
#include "runtime/invoke/process_command.h"
#include "tables/value/text.h"

namespace freshet::cli {
namespace {

constexpr milliseconds kLongestChoice{int64_t{366} * 86'400'000};
constexpr const char* kWhoWorks =
    "--to URL (each task is POSTed there), --exec PROGRAM (run for each task), --function FILE (called with each task) "
    "or --pull (workers take tasks)";

using Choice = std::pair<const char*, bool>;

// The names of the options that are given.
std::vector<std::string> given(std::initializer_list<Choice> options) {
  std::vector<std::string> names;
  for (const auto& [name, is_given] : options) {
    if (is_given) names.emplace_back(name);
  }
  return names;
}

Result<void> check_runner(const ServeChoices& choices) {
  const auto names = given({{"--to", choices.to.has_value()},
                            {"--exec", choices.exec.has_value()},
                            {"--function", choices.function.has_value()},
                            {"--pull", choices.pull}});
  if (names.empty()) return invalid("say who does the work: " + std::string(kWhoWorks));
  if (names.size() > 1) {
    return invalid(names[0] + " and " + names[1] + " contradict each other: a queue has one of " + kWhoWorks);
  }
  if (!choices.pull || !choices.concurrency) return {};
  return invalid(
      "--concurrency and --pull contradict each other: with --pull the workers decide how many tasks they have at "
      "once");
}

Result<std::string> runner_of(const ServeChoices& choices) {
  if (choices.pull) return std::string("none");
  if (choices.function) return std::string("function:HandlerFunction");
  const std::string& text = choices.to ? *choices.to : *choices.exec;
  if (choices.exec) {
    const std::string runner = "exec:" + text;
    const auto settings = parse_runner(runner);
    // A shell's single quotes mean nothing here, and no argument begins with one by intent.
    const bool is_quoted =
        settings && std::ranges::any_of(settings->argv, [](const std::string& word) { return word.starts_with('\''); });
    if (is_quoted) {
      return invalid("--exec: " + text +
                     ": an argument with blanks stands in double quotes, like --exec 'sh -c \"cat\"'");
    }
    if (settings) return runner;
    return invalid("--exec '" + text + "': it must name a program, with each quotation mark closed");
  }
  const auto url = parse_url(text);
  if (url) return text;
  const bool plain = text.find("://") == std::string::npos;
  return invalid("--to: " + url.error().message + (plain ? "; did you mean http://" + text + "?" : ""));
}

struct Rate {
  std::string_view unit;
  double seconds;
};
constexpr Rate kRates[] = {{"", 1}, {"/s", 1}, {"/m", 60}, {"/h", 3600}};

// Starts a second.
Result<std::string> rate_of(std::string_view text) {
  if (text == "adaptive") return std::string(text);
  const auto wrong = [&](const std::string& why) { return invalid("'" + std::string(text) + "' " + why); };
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit(end, text.data() + text.size());
  const auto known = std::ranges::find(kRates, unit, &Rate::unit);
  if (error != std::errc{} || known == std::end(kRates) || !std::isfinite(number) || number < 0) {
    return wrong("is not a rate: write starts a second, like 19 or 0.5, or 600/m, 5000/h, or adaptive");
  }
  if (number == 0) return wrong("would start nothing: to stop a queue that runs, use freshet pause NAME");
  const double rate = number / known->seconds;
  if (rate > 1e9 || rate < 1e-9) return wrong("is out of range: at most 1000000000 starts a second");
  return fmt::format("{}", rate);
}

// "1h" or "SUCCESS=10m,DEAD=7d" as KEEP_MS has it.
Result<std::string> keep_of(const std::string& text) {
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    const size_t equals = part.find('=');
    const size_t from = equals == std::string::npos ? 0 : equals + 1;
    const auto duration = parse_duration(std::string_view(part).substr(from), milliseconds(1), kLongestChoice);
    if (!duration) return fail(duration.error());
    out += (out.empty() ? "" : ",") + part.substr(0, from) + std::to_string(duration->count());
    at = comma + 1;
  }
  if (auto times = KeepTimes::parse(out); !times) {
    // It quotes the milliseconds, which nobody has written: only the reason is of use.
    const std::string& message = times.error().message;
    const size_t from = std::min(message.find("': "), message.size() - 3) + 3;
    const size_t to = message.rfind("; write milliseconds");
    return invalid(message.substr(from, to - from) +
                   "; write a duration for all ended tasks, like 1h, or by outcome, like SUCCESS=10m,DEAD=7d");
  }
  return out;
}

// "5s" as "5000".
Result<std::string> milliseconds_of(const std::string& text) {
  const auto duration = parse_duration(text, milliseconds(1), kLongestChoice);
  if (!duration) return fail(duration.error());
  return std::to_string(duration->count());
}

// Settings in the making, each with the option that it comes from.
class Settings {
 public:
  // An option sets it. Without a text nothing changes.
  void set(const char* option, const char* variable, const std::optional<std::string>& text,
           Result<std::string> (*read)(const std::string&) = nullptr) {
    if (!text || error_) return;
    auto value = read == nullptr ? Result<std::string>(*text) : read(*text);
    if (!value) {
      error_ = Error{ErrorCode::kValidation, std::string(option) + ": " + value.error().message, {}};
      return;
    }
    environment_[variable] = *value;
    options_[variable] = option;
  }
  void set_default(const char* variable, const std::string& value) { environment_.emplace(variable, value); }

  // VARIABLE=VALUE.
  Result<void> add(const std::string& text) {
    const size_t equals = text.find('=');
    const std::string variable = text.substr(0, equals);
    std::vector<std::string> known;
    for (const SettingHelp& row : setting_table()) known.emplace_back(row.name);
    if (equals == std::string::npos || variable.empty()) return invalid("--set '" + text + "' must be VARIABLE=VALUE");
    if (std::ranges::find(known, variable) == known.end()) {
      return invalid("--set '" + variable + "' is no setting of a queue" + nearest_setting(variable, known) +
                     "; docs/settings.md lists them");
    }
    for (const char* fixed : {"QUEUE_TABLE", "TRIGGER_TOPIC_ARN", "TASK_RUNNER"}) {
      if (variable == fixed) return invalid("--set " + variable + ": freshet serve sets it itself");
    }
    if (const auto option = options_.find(variable); option != options_.end()) {
      return invalid("--set " + variable + " and " + option->second + " contradict each other: give one of them");
    }
    if (!environment_.emplace(variable, text.substr(equals + 1)).second) {
      return invalid("--set " + variable + " is given twice");
    }
    return {};
  }

  // "MAX_ATTEMPTS is '0': …" as "--attempts is '0': …" if that option has set it.
  std::string in_words_of_options(const std::string& message) const {
    const size_t blank = std::min(message.find(' '), message.size());
    const auto option = options_.find(message.substr(0, blank));
    return option == options_.end() ? message : option->second + message.substr(blank);
  }

  const std::optional<Error>& error() const { return error_; }
  Environment& environment() { return environment_; }

 private:
  Environment environment_;
  std::map<std::string, std::string> options_;  // By variable.
  std::optional<Error> error_;
};

std::optional<std::string> missing_interpreter(const std::string& text) {
  const auto served = read_served_function(text);
  if (!served) return std::nullopt;  // queue_of() has said so.
  FunctionDefinition function;
  function.runtime = served->runtime;
  function.code = served->folder;
  ProgramSettings settings;
  if (const char* path = std::getenv("PATH"); path != nullptr && *path != '\0') settings.path = path;
  const std::string advice = start_advice(function, settings);
  if (advice.empty()) return std::nullopt;
  return "--function: " + advice;
}

}  // namespace

std::string wrong_rate(const std::string& text) {
  const auto rate = rate_of(text);
  return rate ? "" : rate.error().message;
}

std::string wrong_keep(const std::string& text) {
  const auto keep = keep_of(text);
  return keep ? "" : keep.error().message;
}

Result<ServedQueue> queue_of(const ServeChoices& choices) {
  if (auto named = check_queue_name(choices.name); !named) return fail(named.error());
  const std::string command = command_of(choices);
  if (std::ranges::any_of(command, [](unsigned char c) { return c < ' ' || c == 127; })) {
    return invalid("an option holds a line break, a tab or another control character: leave it out");
  }
  if (!is_utf8(command)) return invalid("an option is not UTF-8 text");
  if (auto one = check_runner(choices); !one) return fail(one.error());
  ServedQueue queue;
  queue.name = choices.name;
  if (choices.function) {
    auto function = read_served_function(*choices.function);
    if (!function) return invalid("--function: " + function.error().message);
    queue.function = std::move(*function);
  }
  Settings settings;
  settings.set("--late", "LATE", choices.late);
  settings.set("--order", "ORDER", choices.order);
  settings.set("--rate", "RATE_LIMIT", choices.rate, [](const std::string& text) { return rate_of(text); });
  settings.set("--concurrency", "CONCURRENCY", choices.concurrency);
  settings.set("--timeout", choices.pull ? "LEASE_MS" : "TASK_TIMEOUT_MS", choices.timeout, milliseconds_of);
  settings.set("--deadline", "DEFAULT_DEADLINE_MS", choices.deadline, milliseconds_of);
  settings.set("--keep", "KEEP_MS", choices.keep, keep_of);
  if (choices.attempts) settings.set("--attempts", "MAX_ATTEMPTS", std::to_string(*choices.attempts));
  if (settings.error()) return fail(*settings.error());
  for (const std::string& text : choices.settings) {
    if (auto added = settings.add(text); !added) return fail(added.error());
  }
  auto runner = runner_of(choices);
  if (!runner) return fail(runner.error());
  settings.set_default("TASK_RUNNER", *runner);
  // The rest is as in config/lifo.yaml, but that what has ended stays for an hour, and what is DEAD for a
  // week, so that somebody may see it.
  Environment& environment = settings.environment();
  if (!environment.contains("ORDER")) settings.set_default("LATE", "fades");
  const auto late = environment.find("LATE");
  const bool waits_for_ever = late != environment.end() && late->second == "fine";
  settings.set_default("CONCURRENCY", "8");
  settings.set_default("DEFAULT_TTL_S", environment.contains("DEFAULT_DEADLINE_MS") || waits_for_ever ? "0" : "3600");
  settings.set_default("KEEP_MS", "3600000,DEAD=604800000");
  settings.set_default("MAX_ACTIVE_MS", "60000");
  settings.set_default("MAX_ATTEMPTS", "5");
  settings.set_default("PAGE_LIMIT", "0");
  settings.set_default("TASK_TIMEOUT_MS", "60000");
  queue.settings = environment;
  if (auto valid = settings_of(queue); !valid) return invalid(settings.in_words_of_options(valid.error().message));
  return queue;
}

std::optional<std::string> missing_program(const ServeChoices& choices) {
  if (choices.function) return missing_interpreter(*choices.function);
  if (!choices.exec) return std::nullopt;
  const auto settings = parse_runner("exec:" + *choices.exec);
  if (!settings) return std::nullopt;
  const std::string& program = settings->argv.front();
  const auto why = cannot_start(program);
  if (!why) return std::nullopt;
  const bool is_path = program.find('/') != std::string::npos;
  if (is_path) return "--exec: " + *why + ": name a program that is there and may be executed";
  return "--exec: program '" + program + "' was not found in PATH: install it, or write its path, like --exec ./" +
         program;
}

std::string shell_word(const std::string& text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string command_of(const ServeChoices& choices) {
  std::string out = "freshet serve " + shell_word(choices.name);
  const auto add = [&](const char* option, const std::optional<std::string>& value) {
    if (value) out += std::string(" ") + option + " " + shell_word(*value);
  };
  add("--to", choices.to);
  add("--exec", choices.exec);
  add("--function", choices.function);
  if (choices.pull) out += " --pull";
  add("--rate", choices.rate);
  add("--concurrency", choices.concurrency);
  add("--deadline", choices.deadline);
  add("--late", choices.late);
  add("--order", choices.order);
  add("--keep", choices.keep);
  if (choices.attempts) add("--attempts", std::to_string(*choices.attempts));
  add("--timeout", choices.timeout);
  for (const std::string& setting : choices.settings) add("--set", setting);
  return out;
}

}  // namespace freshet::cli
