#include "functions/queue/task_life.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "functions/queue/attributes.h"
#include "functions/queue/holder.h"
#include "functions/queue/shed_words.h"

namespace freshet {

namespace {

std::optional<WallTime> time_of(int64_t ms) {
  if (ms <= 0) return std::nullopt;
  return WallTime(milliseconds(ms));
}

std::string text(std::string_view prefix, std::string_view value) {
  return std::string(prefix) + std::string(value);
}

class Life {
 public:
  Life(const ItemRef& task, std::string_view id) : task_(task), id_(id) {}

  void happened(std::optional<WallTime> at, std::string_view code, std::string message) {
    events_.push_back({at, {std::string(code), std::move(message)}});
  }

  void add_task() {
    status_ = text_of(task_, attribute::kStatus);
    happened(time_of(int_of(task_, attribute::kCreated, 0)), "created", "created");
    add_history();
    add_claim();
    add_now();
  }

  void add_line(const Item& line, bool is_named, WallTime now);
  std::vector<LifeEvent> finish() &&;

 private:
  int64_t updated() const { return int_of(task_, attribute::kUpdated, 0); }
  void add_history();
  void add_attempt(const Map& entry);
  void add_redrive(std::optional<WallTime> at);
  void add_claim();
  bool was_returned() const;
  void add_now();
  void add_waiting();
  bool waited_within(int64_t from_ms, int64_t until_ms, WallTime now) const;

  const ItemRef& task_;
  const std::string_view id_;
  std::string_view status_;
  int64_t last_attempt_ = 0;  // The last attempt in the history.
  int64_t last_taken_ = 0;
  std::vector<LifeEvent> events_;
};

void Life::add_history() {
  const auto stored = task_.find(attribute::kHistory);
  if (!stored || stored->type() != Type::kList) return;
  const Value value = stored->decode();
  for (const auto& entry : value.get_if<List>()->elements) {
    if (const Map* map = entry.get_if<Map>()) add_attempt(*map);
  }
}

// Adds an attempt that failed.
void Life::add_attempt(const Map& entry) {
  const int64_t attempt = entry.int_or("attempt", 0);
  const std::string which = "attempt " + std::to_string(attempt);
  const auto outcome = entry.string_or("outcome");
  const auto error = entry.string_or("error");
  const auto ended = time_of(entry.int_or("ended", 0));
  if (attempt <= last_attempt_) add_redrive(std::nullopt);  // Attempts are counted anew after a redrive.
  last_attempt_ = attempt;
  last_taken_ = entry.int_or("taken", 0);
  happened(time_of(last_taken_), "taken", "taken: " + which);
  if (outcome == "lease ended") {
    happened(ended, "lease-ended", which + " ended: its lease ran out, as its holder sent no heartbeat");
  } else if (outcome == "daemon died") {
    happened(ended, "daemon-died", which + " ended: the daemon died while the task was in work");
  } else {
    happened(ended, "failed", which + " failed" + (error.empty() ? "" : text(": ", error)));
  }
}

// The item does not keep the time of a redrive. It is known only if nothing has changed the item since.
void Life::add_redrive(std::optional<WallTime> at) {
  happened(at, "redriven", "put back to be tried again, with all its attempts");
}

// Adds the last attempt, if it did not fail.
void Life::add_claim() {
  const bool waits = status_ == state::kPending || status_ == state::kDelayed;
  const int64_t taken = int_of(task_, attribute::kTaken, 0);
  const bool is_another = taken != 0 && taken != last_taken_;  // This attempt is not in the history.
  const bool has_claim = is_another && (status_ == state::kTaken || status_ == state::kSuccess);
  const int64_t finished = attempt_of(task_) - (has_claim ? 1 : 0);
  if (last_attempt_ > 0 && finished < last_attempt_) {
    const bool last = status_ == state::kPending && attempt_of(task_) == 0;
    add_redrive(last ? time_of(updated()) : std::nullopt);
  }
  if (!is_another) return;
  const auto by = holder_of(task_);
  std::string message = by.empty() ? "taken" : text("taken by ", by);
  const bool returned = waits || was_returned();
  if (!returned) message += ": attempt " + std::to_string(attempt_of(task_));
  happened(time_of(taken), "taken", std::move(message));
  const auto at = waits ? time_of(updated()) : std::nullopt;  // The end of a task overwrites the time.
  if (returned) happened(at, "returned", "given back: the attempt does not count");
}

// True if a task that has ended, and was not served, had been given back before. A task is shed only while it waits;
// one that is cancelled while it is in work keeps the number of its attempt.
bool Life::was_returned() const {
  if (status_ == state::kShed) return true;
  return status_ == state::kCancelled && (attempt_of(task_) == 0 || attempt_of(task_) == last_attempt_);
}

// TASK_RUNNER=fake leaves {"fake": true} as the result.
static bool is_fake(const ItemRef& task) {
  const auto result = task.find(attribute::kResult);
  if (!result) return false;
  return result->decode() == Value(Map{{"fake", Value::boolean(true)}});
}

void Life::add_waiting() {
  const auto not_before = time_of(int_of(task_, attribute::kNotBefore, 0));
  const auto since = time_of(std::max(updated(), int_of(task_, attribute::kCreated, 0)));
  if (!not_before || !since) return;
  const auto pause = std::max(*not_before - *since, milliseconds(0));
  happened(since, "delayed", "delayed for " + in_words(pause) + ", until its notBefore");
}

// Adds how the task got into its present state.
void Life::add_now() {
  const auto at = time_of(updated());
  const auto replaced_by = text_of(task_, attribute::kReplacedBy);
  const auto error = text_of(task_, attribute::kError);
  if (status_ == state::kDelayed) {
    add_waiting();
  } else if (status_ == state::kSuccess) {
    happened(at, "succeeded", is_fake(task_) ? "done by the fake runner: nothing was really done" : "done");
  } else if (status_ == state::kFailure) {
    happened(at, "gave-up", "failed for good" + (error.empty() ? "" : text(": ", error)));
  } else if (status_ == state::kDead) {
    happened(at, "died", "given up: no attempt is left");
  } else if (status_ == state::kShed) {
    happened(at, "shed", "shed: " + shed_in_words(text_of(task_, attribute::kShedReason)));
  } else if (status_ == state::kCancelled && !replaced_by.empty()) {
    happened(at, "replaced", text("replaced by a newer task of its key: ", replaced_by));
  } else if (status_ == state::kCancelled) {
    happened(at, "cancelled", "cancelled");
  }
}

// True if the task existed and had not ended at some time between the two.
bool Life::waited_within(int64_t from_ms, int64_t until_ms, WallTime now) const {
  if (!task_) return false;
  const int64_t end = is_live(status_) ? epoch_ms(now) : updated();
  return until_ms >= int_of(task_, attribute::kCreated, 0) && from_ms <= end;
}

// `is_named`: the line names the task. Else it is an outage of the runner, which matters to all tasks that waited then.
void Life::add_line(const Item& line, bool is_named, WallTime now) {
  const auto what = line.string_or("what", "shed");
  const auto reason = line.string_or("reason");
  const int64_t at = line.int_or("at", 0);
  if (what == "bounced") {
    const int64_t until = std::max(line.int_or("until", at), at);
    if (!is_named && !waited_within(at, until, now)) return;
    const auto* tasks = line.find("tasks");
    const bool is_alone = !tasks || !tasks->get_if<List>() || tasks->get_if<List>()->elements.size() == 1;
    const auto count = line.int_or("count", 1);
    std::string message = "the task runner handed back ";
    message += !is_named ? "other tasks" : is_alone ? "this task" : "this and other tasks";
    if (count > 1) message += ", " + std::to_string(count) + " times in " + in_words(milliseconds(until - at));
    // The outage may have begun before the task came: its life begins with its creation.
    const int64_t seen = task_ ? std::max(at, int_of(task_, attribute::kCreated, 0)) : at;
    return happened(time_of(seen), "bounced", message + text(": ", reason));
  }
  if (!is_named) return;
  if (what == "refused") {
    const bool one = line.int_or("count", 1) == 1;
    const int64_t when = one || line.string_or("taskId") == id_ ? at : line.int_or("until", at);
    return happened(time_of(when), "refused",
                    "refused at its creation: " + refusal_in_words(reason, line.string_or("policy")));
  }
  if (task_ && status_ == state::kShed && updated() == at) return;  // The task itself already says this.
  const bool swept = line.string_or("by") == "sweep";
  const int64_t waiting = line.int_or("depth", 0);
  // A task that was removed is not counted, so 0 means nothing.
  const std::string depth =
      waiting > 0 ? ", while " + std::to_string(waiting) + (waiting == 1 ? " was waiting" : " were waiting") : "";
  happened(time_of(at), "shed", "shed: " + shed_in_words(reason) + depth + (swept ? "; removed from the table" : ""));
}

// Sorts the events by time. An event without a time stays behind the one before it.
std::vector<LifeEvent> Life::finish() && {
  std::vector<std::pair<WallTime, LifeEvent>> timed;
  WallTime last{};
  for (auto& event : events_) {
    last = event.at.value_or(last);
    timed.emplace_back(last, std::move(event));
  }
  std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LifeEvent> out;
  out.reserve(timed.size());
  for (auto& [at, event] : timed) out.push_back(std::move(event));
  return out;
}

}  // namespace

std::string in_words(milliseconds time) {
  const auto ms = std::abs(time.count());
  if (ms < 10'000) return std::to_string(ms) + " ms";
  if (ms < 600'000) return std::to_string(ms / 1000) + " s";
  if (ms < 36'000'000) return std::to_string(ms / 60'000) + " min";
  if (ms < 3 * 86'400'000) return std::to_string(ms / 3'600'000) + " h";
  return std::to_string(ms / 86'400'000) + " days";
}

bool names_task(const ItemRef& line, std::string_view id) {
  if (text_of(line, attribute::kId) == id) return true;
  const auto tasks = line.find("tasks");
  if (!tasks || tasks->type() != Type::kList) return false;
  const Value value = tasks->decode();
  const auto& names = value.get_if<List>()->elements;
  return std::any_of(names.begin(), names.end(), [id](const Value& name) {
    const auto* text = name.get_if<std::string>();
    return text && *text == id;
  });
}

std::vector<LifeEvent> life_of(const ItemRef& task, std::string_view id, const std::vector<ItemRef>& lines,
                               WallTime now) {
  Life life(task, id);
  if (task) life.add_task();
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    life.add_line(line->decode(), names_task(*line, id), now);
  }
  return std::move(life).finish();
}

}  // namespace freshet
