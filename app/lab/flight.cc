#include "app/lab/flight.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace freshet::lab {
namespace {

constexpr std::string_view kFlightQueue = "queue";  // The only queue in the book.

// A number as JSON writes it; 0 of another text.
double double_in(std::string_view text) {
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

std::optional<double> double_member(const JsonView& line, std::string_view name) {
  const auto member = line.find(name);
  if (!member || !member->is(JsonKind::kNumber)) return std::nullopt;
  return double_in(member->text());
}

std::optional<milliseconds> time_member(const JsonView& line, std::string_view name) {
  const auto member = line.find(name);
  if (!member) return std::nullopt;
  const auto number = member->as_int();
  return number ? std::optional(milliseconds(*number)) : std::nullopt;
}

bool flag_member(const JsonView& line, std::string_view name) {
  const auto member = line.find(name);
  return member && member->boolean();
}

std::string_view text_member(const JsonView& line, std::string_view name) {
  const auto member = line.find(name);
  return member && member->is(JsonKind::kString) ? member->text() : std::string_view();
}

int64_t int_member(const JsonView& line, std::string_view name, int64_t fallback) {
  return line.int_or(name, fallback).value_or(fallback);
}

RecordedTask about_in(const JsonView& about) {
  RecordedTask task;
  task.due_in = time_member(about, "dueInMs");
  task.due_by_ttl = text_member(about, "dueBy") == "ttl";
  task.delay = time_member(about, "delayMs");
  task.age = time_member(about, "ageMs");
  task.group = text_member(about, "group");
  task.key = text_member(about, "key");
  task.replaces = flag_member(about, "replaces");
  task.priority = static_cast<int>(int_member(about, "priority", 0));
  task.max_attempts = static_cast<int>(int_member(about, "maxAttempts", 0));
  task.cost = double_member(about, "cost");
  return task;
}

template <class Names>
size_t index_of(const Names& names, std::string_view name) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::map<std::string, std::string> settings_in(const JsonView& line) {
  std::map<std::string, std::string> out;
  const auto policy = line.find("policy");
  if (!policy) return out;
  for (const JsonView setting : *policy) out[std::string(setting.name())] = std::string(setting.text());
  return out;
}

}  // namespace

Result<void> Flight::add(std::string_view lines) {
  JsonDocument document;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    ++lines_;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    auto read = document.parse(line);
    auto added = read ? add_line(*read) : Result<void>(fail(read.error()));
    if (!added) return fail(added.error().code, "line " + std::to_string(lines_) + ": " + added.error().message);
  }
  return {};
}

Result<void> Flight::add_line(const JsonView& line) {
  if (!std::exchange(has_head_, true)) return add_head(line);
  if (!line.is(JsonKind::kObject)) return invalid("expected a JSON object");
  const auto at = line.int_or("at", -1);
  if (!at) return fail(at.error());
  if (*at < 0) return invalid("'at' must be the time in epoch milliseconds");
  if (line.find("policy")) {
    changes_.push_back({WallTime(milliseconds(*at)), settings_in(line)});
    return {};
  }
  for (const bool paused : {true, false}) {
    const std::string_view of = text_member(line, paused ? "paused" : "resumed");
    if (of.empty()) continue;
    if (of != "queue" && of != "group" && of != "key") {
      return invalid("a pause is of a queue, a group or a key, not of '" + std::string(of) + "'");
    }
    pauses_.push_back({WallTime(milliseconds(*at)), paused, std::string(of), std::string(text_member(line, "name"))});
    return {};
  }
  return add_event(line, BootTime(milliseconds(*at)));
}

Result<void> Flight::add_head(const JsonView& line) {
  if (!line.is(JsonKind::kObject) || text_member(line, "freshet") != "recording") {
    return invalid("the answer is not that of GET /queues/NAME/recording: it does not begin with a recording's head");
  }
  if (int_member(line, "version", 0) > 1) {
    return fail(ErrorCode::kUnsupportedFormat, "the daemon is newer than this program: use its own");
  }
  queue_ = text_member(line, "queue");
  from_ = WallTime(milliseconds(int_member(line, "from", 0)));
  to_ = WallTime(milliseconds(int_member(line, "to", 0)));
  policy_ = settings_in(line);
  book_->of(kFlightQueue);
  return {};
}

Result<void> Flight::add_event(const JsonView& line, BootTime at) {
  QueueRecording& queue = book_->of(kFlightQueue);
  const auto task = line.find("task");
  if (const auto waits = text_member(line, "waits"); task && !waits.empty()) {
    Waiting waiting;
    waiting.task = static_cast<uint64_t>(int_member(line, "task", 0));
    waiting.stage = stage_of(waits);
    waiting.at = at;
    if (const auto about = line.find("about")) waiting.about = about_in(*about);
    waiting.group = std::exchange(waiting.about.group, {});
    waiting.key = std::exchange(waiting.about.key, {});
    waiting_.push_back(std::move(waiting));
    return {};
  }
  if (task) {
    RecordedMove move;
    move.task = static_cast<uint64_t>(int_member(line, "task", 0));
    move.from = stage_of(text_member(line, "from"));
    move.to = stage_of(text_member(line, "to"));
    move.pulled = flag_member(line, "pulled");
    move.given_back = flag_member(line, "givenBack");
    move.by_ttl = flag_member(line, "byTtl");
    move.replaced = flag_member(line, "replaced");
    const size_t because = index_of(kShedBecauseNames, text_member(line, "because"));
    if (because < kShedBecauseNames.size()) move.because = static_cast<ShedBecause>(because);
    move.cost = double_member(line, "cost");
    if (const auto about = line.find("about")) move.about = about_in(*about);
    queue.add(move, at);
  } else if (line.find("rateLimit")) {
    queue.add(RecordedLimits{double_member(line, "rateLimit").value_or(0),
                             static_cast<uint64_t>(int_member(line, "concurrency", 0))},
              at);
  } else if (const size_t flow = index_of(kQueueFlowNames, text_member(line, "count")); flow < kQueueFlows) {
    queue.add(RecordedCount{static_cast<QueueFlow>(flow), static_cast<uint64_t>(int_member(line, "number", 0))}, at);
  } else if (const auto step = time_member(line, "clockStepMs")) {
    queue.add_clock_step(*step, at);
  }
  if (at <= BootTime(to_.time_since_epoch())) ++events_;
  return {};
}

bool is_flight(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return false;
  text.remove_prefix(begin);
  JsonDocument document;
  const auto head = document.parse(text.substr(0, text.find('\n')));
  return head && head->is(JsonKind::kObject) && text_member(*head, "freshet") == "recording";
}

Error in_file(Error error, const std::string& file) {
  constexpr std::string_view kLine = "line ";
  const bool has_line = error.message.starts_with(kLine);
  error.message = file + ":" + (has_line ? error.message.substr(kLine.size()) : " " + error.message);
  return error;
}

Result<Fixture> read_fixture_or_flight(std::string_view text, const std::string& file) {
  if (!is_flight(text)) return read_fixture(text, file);
  Flight flight;
  if (auto read = flight.add(text); !read) return fail(in_file(read.error(), file));
  return flight.fixture(flight.from());
}

}  // namespace freshet::lab
