#include "app/lab/trace.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "functions/queue/attributes.h"
#include "functions/queue/fixture_states.h"
#include "functions/queue/policy/expiry.h"

namespace freshet::lab {

namespace {

// A deadline that never comes, of tasks that have none.
constexpr milliseconds kNeverDue{int64_t{10} * 366 * 24 * 3600 * 1000};
constexpr std::string_view kProcessor = "process_tasks";  // As it names itself on the tasks that it takes.
constexpr milliseconds kLongestTrace{int64_t{366} * 24 * 3600 * 1000};

class Reader {
 public:
  explicit Reader(const Fixture& fixture) : fixture_(fixture) {}

  Result<Recording> read() {
    if (auto states = check_states(fixture_); !states) return fail(states.error());
    for (const auto& record : fixture_.records) records_.push_back(&record);
    std::stable_sort(records_.begin(), records_.end(),
                     [](const ChangeRecord* a, const ChangeRecord* b) { return a->sequence < b->sequence; });
    if (auto whole = check_whole(); !whole) return fail(whole.error());
    origin_ = records_.front()->at;
    if (auto policy = read_policy(); !policy) return fail(policy.error());
    if (auto seen = waiting_at_the_start(); !seen) return fail(seen.error());
    for (const auto* record : records_) {
      if (auto ok = look_at(*record); !ok) return fail(ok.error());
    }
    return finish();
  }

 private:
  struct Seen {
    nanoseconds taken{-1};
    size_t number = 0;        // Among the arrivals.
    int64_t deadline_ms = 0;  // Since the origin.
    std::string status;       // As the last change left it; empty: none has, or it is gone.
  };

  Result<void> check_whole() const {
    if (records_.empty()) return invalid("the trace holds no changes: nothing happened while it was recorded");
    for (size_t i = 1; i < records_.size(); ++i) {
      const auto before = records_[i - 1]->sequence, here = records_[i]->sequence;
      if (here == before) return wrong(*records_[i], fmt::format("the trace has change {} twice", before));
      if (here > before + 1) {
        return wrong(*records_[i],
                     fmt::format("the trace has a hole: changes {} to {} are missing", before + 1, here - 1));
      }
    }
    return {};
  }

  Result<void> read_policy() {
    out_.policy = fixture_.header.policy;
    for (const auto& change : fixture_.policy_changes) {
      if (change.at - origin_ > kLongestTrace) {
        return invalid("the policy changes more than 366 days after the first change of a task");
      }
      if (change.at <= origin_) {
        out_.policy = change.policy;
      } else {
        out_.policy_changes.push_back({change.at - origin_, change.policy});
      }
    }
    if (auto pauses = read_pauses(); !pauses) return pauses;
    out_.trace.default_cost = default_cost(out_.policy);
    costs_ = {{nanoseconds(0), out_.trace.default_cost}};
    for (const auto& step : out_.policy_changes) {
      const double cost = default_cost(step.policy);
      if (cost != costs_.rbegin()->second) costs_[step.at] = cost;
    }
    return {};
  }

  Result<void> read_pauses() {
    for (const auto& pause : fixture_.pauses) {
      if (pause.at - origin_ > kLongestTrace) {
        return invalid("a pause changes more than 366 days after the first change of a task");
      }
      const auto of = pause.of == "group" ? Pause::Of::kGroup : pause.of == "key" ? Pause::Of::kKey : Pause::Of::kQueue;
      out_.pauses.push_back({since_origin(pause.at), pause.paused, of, pause.name});
    }
    return {};
  }

  static double default_cost(const std::map<std::string, std::string>& policy) {
    const auto setting = policy.find("DEFAULT_COST");
    if (setting == policy.end()) return 1;
    const auto& text = setting->second;
    double cost = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cost);
    return error == std::errc() && end == text.data() + text.size() && cost > 0 ? cost : 1;
  }

  // The cost of a task that comes then and names none; nothing if that is the trace's default.
  std::optional<double> cost_of_unnamed(nanoseconds at) const {
    const double cost = std::prev(costs_.upper_bound(at))->second;
    return cost == out_.trace.default_cost ? std::nullopt : std::optional(cost);
  }

  // Names the line of the record.
  Result<void> wrong(const ChangeRecord& record, const std::string& what) const {
    const auto index = static_cast<size_t>(&record - fixture_.records.data());
    return invalid(fixture_.file.empty() ? what : fixture_.place_of_record(index) + ": " + what);
  }

  // From 0 to a century: nanoseconds hold no more than three.
  nanoseconds since_origin(WallTime at) const {
    constexpr std::chrono::hours kLongest{24 * 365 * 100};
    return std::clamp(at, origin_, origin_ + kLongest) - origin_;
  }

  static TraceTask details_of(const ItemRef& task, WallTime at) {
    TraceTask out;
    out.group = text_of(task, attribute::kGroup);
    out.key = key_of(task);
    out.replace = comes_to_replace(task);
    out.priority = static_cast<int>(std::clamp<int64_t>(int_of(task, attribute::kPriority, 0), -100, 100));
    if (const double cost = cost_of(task, -1); cost >= 0) out.cost = cost;
    const WallTime due{milliseconds(int_of(task, attribute::kNotBefore, 0))};
    if (text_of(task, attribute::kStatus) == state::kDelayed && due > at) out.delay = due - at;
    if (const int64_t attempts = int_of(task, attribute::kMaxAttempts, 0); attempts > 0) {
      out.max_attempts = static_cast<int>(std::min<int64_t>(attempts, 1000));
    }
    return out;
  }

  void come(const ItemRef& task, nanoseconds at) {
    Arrival arrival;
    arrival.at = at;
    auto due = origin_ + kNeverDue;
    if (auto ttl = ttl_end(task, false)) due = std::min(due, ttl->at);
    if (const int64_t deadline = int_of(task, attribute::kDeadline, 0); deadline > 0) {
      due = std::min(due, WallTime(milliseconds(deadline)));
    }
    arrival.deadline_ms = (due - origin_).count();
    Seen& seen = tasks_[std::string(text_of(task, attribute::kId))];
    seen.deadline_ms = arrival.deadline_ms;
    seen.number = arrivals_.size();
    arrivals_.emplace_back(arrival, details_of(task, origin_ + std::chrono::floor<milliseconds>(at)));
    TraceTask& details = arrivals_.back().second;
    if (!details.cost) details.cost = cost_of_unnamed(at);
    note_wait(task, seen.number, at);
  }

  // `task` is null if it has gone.
  void note_wait(const ItemRef& task, size_t number, nanoseconds at) {
    TraceWait wait;
    wait.at = at;
    wait.task = number;
    const auto status = task ? text_of(task, attribute::kStatus) : std::string_view();
    wait.waits = is_live(status) && status != state::kTaken;
    if (status == state::kDelayed) {
      wait.due = since_origin(WallTime(milliseconds(int_of(task, attribute::kNotBefore, 0))));
    }
    out_.waits.push_back(wait);
  }

  Result<void> waiting_at_the_start() {
    std::vector<ItemRef> waiting;
    for (const auto& item : fixture_.snapshot) {
      ItemRef task = ItemRef::encode(item);
      if (is_live(text_of(task, attribute::kStatus))) waiting.push_back(std::move(task));
    }
    std::stable_sort(waiting.begin(), waiting.end(), [](const ItemRef& a, const ItemRef& b) {
      return int_of(a, attribute::kCreated, 0) < int_of(b, attribute::kCreated, 0);
    });
    for (const auto& task : waiting) come(task, nanoseconds(0));
    out_.waiting = waiting.size();
    return {};
  }

  Result<void> look_at(const ChangeRecord& record) {
    const ItemRef& task = record.after ? record.after : record.before;
    if (!task)
      return wrong(record, fmt::format("change {} has no image: record it with freshet record", record.sequence));
    if (record.at - origin_ > kLongestTrace) {
      return wrong(record, fmt::format("change {} is more than 366 days after the first one", record.sequence));
    }
    // A clock that was set back a little is believed to have stood still.
    if (origin_ - record.at > kLongestTrace) {
      return wrong(record, fmt::format("change {} is more than 366 days before the first one", record.sequence));
    }
    const auto now = since_origin(record.at);
    end_ = std::max(end_, now);
    const auto status = text_of(task, attribute::kStatus);
    const auto id = std::string(text_of(task, attribute::kId));
    auto seen = tasks_.find(id);
    if (auto fits = follows(record, id, seen == tasks_.end() ? std::string_view() : seen->second.status); !fits) {
      return fits;
    }
    if (record.kind == ChangeRecord::Kind::kInsert) {
      if (!is_live(status)) return {};
      come(task, now);
      tasks_[id].status = status;
      return {};
    }
    if (seen == tasks_.end()) {
      const bool ended_before = !is_live(status) && record.kind == ChangeRecord::Kind::kRemove;
      if (ended_before || !is_live(status)) return {};
      return wrong(record, fmt::format("the trace has a hole: change {} is of task '{}', which never came",
                                       record.sequence, id));
    }
    move(record, seen->second, now);
    note_wait(record.kind == ChangeRecord::Kind::kRemove ? ItemRef() : record.after, seen->second.number, now);
    seen->second.status = record.kind == ChangeRecord::Kind::kRemove ? std::string_view() : status;
    return {};
  }

  // Checks that a change begins where the last one of its task ended, if that is known: changes may be in the snapshot
  // too.
  Result<void> follows(const ChangeRecord& record, const std::string& id, std::string_view last) const {
    if (last.empty()) return {};
    const bool comes = record.kind == ChangeRecord::Kind::kInsert;
    const auto before = record.before ? text_of(record.before, attribute::kStatus) : last;
    if (!comes && before == last) return {};
    return wrong(record, fmt::format("the trace has a hole: in change {} task '{}' {}, and it was {} before",
                                     record.sequence, id, comes ? "comes" : fmt::format("was {}", before), last));
  }

  void move(const ChangeRecord& record, Seen& task, nanoseconds now) {
    if (record.kind == ChangeRecord::Kind::kRemove) {
      out_.real.shed += record.by_ttl && is_live(text_of(record.before, attribute::kStatus));
      return;
    }
    const auto status = text_of(record.after, attribute::kStatus);
    if (status == state::kTaken) {
      if (task.taken.count() < 0) {
        task.taken = now;
        out_.real.most_in_work = std::max(out_.real.most_in_work, ++in_work_);
        out_.real.pulled += text_of(record.after, attribute::kTakenBy) != kProcessor;
      }
      return;
    }
    out_.real.shed += status == state::kShed;
    out_.real.cancelled += status == state::kCancelled && !has(record.after, attribute::kReplacedBy);
    if (task.taken.count() < 0) return;
    --in_work_;
    end_attempt(record, task, now);
    task.taken = nanoseconds(-1);
  }

  void end_attempt(const ChangeRecord& record, const Seen& task, nanoseconds now) {
    const auto status = text_of(record.after, attribute::kStatus);
    const bool done = status == state::kSuccess;
    const bool again = status == state::kPending || status == state::kDelayed;
    const bool given_back = again && int_of(record.after, attribute::kAttempt, 0) < attempt_before(record);
    out_.real.refused += given_back;
    if (!done && (status == state::kCancelled || status == state::kShed)) return;
    const bool refused = !done && given_back;
    out_.calls.push_back({task.taken, std::max(now - task.taken, nanoseconds(1)), !done && !refused, refused,
                          done ? cost_ratio(record, task) : 1});
    if (refused) return;
    if (done) done_.emplace_back(task.number, now);
    out_.real.done += done;
    out_.real.failed += !done;
    out_.real.in_time += done && now <= milliseconds(task.deadline_ms);
  }

  double cost_ratio(const ChangeRecord& record, const Seen& task) const {
    const double said = arrivals_[task.number].second.cost.value_or(out_.trace.default_cost);
    return said > 0 ? cost_of(record.after, said) / said : 1;
  }

  static int64_t attempt_before(const ChangeRecord& record) {
    return record.before ? int_of(record.before, attribute::kAttempt, 0) : 0;
  }

  Result<Recording> finish() {
    if (arrivals_.empty()) return invalid("the trace holds no task that came");
    if (out_.real.done == 0)
      return invalid(
          "the trace holds no task that was done, so how long a call takes is not known: record for longer, "
          "while tasks are done");
    std::stable_sort(out_.calls.begin(), out_.calls.end(),
                     [](const TraceCall& a, const TraceCall& b) { return a.began < b.began; });
    for (const auto& call : out_.calls) {
      if (call.refused) continue;
      out_.trace.services.push_back(call.took);
      out_.trace.failed.push_back(call.failed);
      out_.trace.cost_ratios.push_back(call.cost_ratio);
    }
    sort_arrivals();
    out_.real.tasks = out_.trace.arrivals.size();
    out_.length = end_;
    out_.start = origin_;
    return std::move(out_);
  }

  void sort_arrivals() {
    std::vector<size_t> order(arrivals_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return arrivals_[a].first.at < arrivals_[b].first.at; });
    std::vector<size_t> index(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      index[order[i]] = i;
      out_.trace.arrivals.push_back(arrivals_[order[i]].first);
      out_.trace.tasks.push_back(std::move(arrivals_[order[i]].second));
    }
    out_.done.assign(order.size(), kNeverDone);
    for (const auto& [number, at] : done_) out_.done[index[number]] = at;
    for (auto& wait : out_.waits) wait.task = index[wait.task];
    std::stable_sort(out_.waits.begin(), out_.waits.end(),
                     [](const TraceWait& a, const TraceWait& b) { return a.at < b.at; });
  }

  const Fixture& fixture_;
  std::vector<const ChangeRecord*> records_;  // The fixture's, in order.
  WallTime origin_{};
  std::map<nanoseconds, double> costs_;  // The cost of tasks that name none, each from a moment on. The first is 0.
  std::map<std::string, Seen> tasks_;
  std::vector<std::pair<Arrival, TraceTask>> arrivals_;
  std::vector<std::pair<size_t, nanoseconds>> done_;  // The numbers of tasks, and when.
  int in_work_ = 0;
  nanoseconds end_{0};
  Recording out_;
};

}  // namespace

Result<Recording> read_recording(const Fixture& fixture) {
  auto recording = Reader(fixture).read();
  if (!recording) return fail(fixture.in_file(recording.error()));
  return recording;
}

}  // namespace freshet::lab
