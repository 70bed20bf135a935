#include "app/daemon/recording_route.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "app/daemon/recording_lines.h"
#include "base/there_are.h"
#include "wire/api/calls.h"
#include "wire/http/own_error.h"
#include "wire/http/target.h"
#include "wire/tasks/answers.h"

namespace freshet {
namespace {

// Events from before the asked time that are sent, too: the starts of tasks that were young then do not describe them.
constexpr milliseconds kLead = FlightRecorder::kOldAfter + milliseconds(5000);
constexpr int64_t kFarthestMs = int64_t{1} << 42;  // The year 2109. Nanoseconds hold twice that.
constexpr size_t kMostEvents = 2'000;              // In one answer: about a millisecond of the loop.
constexpr uint32_t kMostWaiting = 500;
constexpr uint64_t kMostWaitingInAll = 200'000;

bool is_recording_path(std::string_view target) {
  constexpr std::string_view kRoot = "/queues/";
  constexpr std::string_view kEnd = "/recording";
  const std::string_view path = target.substr(0, target.find('?'));
  if (!path.starts_with(kRoot) || !path.ends_with(kEnd) || path.size() <= kRoot.size() + kEnd.size()) return false;
  const std::string_view name = path.substr(kRoot.size(), path.size() - kRoot.size() - kEnd.size());
  return name.find('/') == std::string_view::npos;
}

template <class Number>
bool whole_number_in(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

// Where a recording goes on. Bounds and the clock are those of its first answer.
struct RecordingPlace {
  int64_t ahead_ms = 0;  // The wall clock beside the boot clock.
  int64_t from_ms = 0;   // Epoch milliseconds, as are `to_ms`'s.
  int64_t to_ms = 0;
  bool begins = true;
  // Either events from there on, or the tasks that wait, of this state from the cursor on.
  QueueRecording::Place events;
  std::string state;
  std::string cursor;
  uint64_t waiting = 0;  // The number of waiting tasks that were sent.

  std::string text() const {
    std::string out = std::to_string(ahead_ms) + "." + std::to_string(from_ms) + "." + std::to_string(to_ms) + ".";
    if (state.empty()) return out + std::to_string(events.chunk) + "." + std::to_string(events.event);
    return out + state + "." + std::to_string(waiting) + "." + cursor;
  }
  WallTime wall(BootTime at) const {
    return WallTime(std::chrono::floor<milliseconds>(at.time_since_epoch()) + milliseconds(ahead_ms));
  }
  BootTime boot(int64_t wall_ms) const { return BootTime(milliseconds(wall_ms - ahead_ms)); }
};

std::optional<RecordingPlace> recording_place(std::string_view text) {
  std::vector<std::string_view> parts;
  while (parts.size() < 5) {
    const size_t dot = text.find('.');
    if (dot == std::string_view::npos) break;
    parts.push_back(text.substr(0, dot));
    text.remove_prefix(dot + 1);
  }
  RecordingPlace out;
  out.begins = false;
  if (parts.size() < 4) return std::nullopt;
  const bool numbers = whole_number_in(parts[0], out.ahead_ms) && whole_number_in(parts[1], out.from_ms) &&
                       whole_number_in(parts[2], out.to_ms);
  if (!numbers) return std::nullopt;
  for (const int64_t ms : {out.ahead_ms, out.from_ms, out.to_ms}) {
    if (ms < -kFarthestMs || ms > kFarthestMs) return std::nullopt;
  }
  if (parts.size() == 4) {
    if (!whole_number_in(parts[3], out.events.chunk) || !whole_number_in(text, out.events.event)) return std::nullopt;
    return out;
  }
  if (parts[3] != "PENDING" && parts[3] != "DELAYED") return std::nullopt;
  if (!whole_number_in(parts[4], out.waiting)) return std::nullopt;
  out.state = parts[3];
  out.cursor = text;
  return out;
}

class RecordingExchange final : public Exchange {
 public:
  RecordingExchange(TaskQueues& queues, const FlightRecorder* recorder, const Clock& clock, Target target)
      : queues_(queues), recorder_(recorder), clock_(clock), target_(std::move(target)) {}

  Async<void> run() override {
    auto place = co_await read();
    if (!place) {
      response_ = tasks::error_answer(place.error());
      co_return;
    }
    response_.content_type = "application/x-ndjson";
    if (*place) response_.headers.emplace_back("X-Freshet-Next", (*place)->text());
    response_.body = std::move(lines_);
  }
  HttpResponse respond() override { return std::move(response_); }

 private:
  // Empty: this was the last answer.
  Async<Result<std::optional<RecordingPlace>>> read() {
    const std::string& name = target_.segments[1];
    TaskQueue* const queue = queues_.find(name);
    if (queue == nullptr) {
      const auto names = queues_.names();
      co_return fail(ErrorCode::kNotFound,
                     "there is no queue '" + name + "'; " +
                         (names.empty() ? "this daemon has no queues" : "of this daemon's queues " + there_are(names)));
    }
    if (recorder_ == nullptr) {
      co_return fail(ErrorCode::kNotFound, "this daemon keeps no recording: it was started with --recording-bytes 0");
    }
    auto place = first_place();
    if (!place) co_return fail(std::move(place.error()));
    if (place->begins) begin(*queue, *place);
    if (is_beyond(name, *place)) {
      co_return invalid("'place' is of a recording that has ended: the daemon was started anew. Begin without it");
    }
    if (place->state.empty()) co_return read_events(name, std::move(*place));
    co_return co_await read_waiting(*queue, std::move(*place));
  }

  Result<RecordingPlace> first_place() const {
    for (const auto& [name, value] : target_.query) {
      if (name != "from" && name != "to" && name != "place") {
        return invalid("'" + name +
                       "' in the query of a recording: there are from and to (in epoch milliseconds, or "
                       "negative: before now) and place");
      }
    }
    if (const auto member = target_.query.find("place"); member != target_.query.end()) {
      const auto place = recording_place(member->second);
      if (!place) return invalid("'place' must be the header X-Freshet-Next of the answer before");
      return *place;
    }
    RecordingPlace out;
    const RecordingBook& book = recorder_->book();
    out.ahead_ms = epoch_ms(book.wall_of(BootTime{}));
    const WallTime now = out.wall(clock_.boot());
    out.from_ms = epoch_ms(now - book.most_age());
    out.to_ms = epoch_ms(now);
    int64_t bound = 0;
    for (auto [name, to] : {std::pair{"from", &out.from_ms}, std::pair{"to", &out.to_ms}}) {
      const auto member = target_.query.find(name);
      if (member == target_.query.end()) continue;
      if (!whole_number_in(member->second, bound))
        return invalid(std::string("'") + name + "' must be epoch milliseconds");
      bound = std::clamp(bound, -kFarthestMs, kFarthestMs);
      if (bound < 0) bound += epoch_ms(now);
      *to = name == std::string_view("from") ? std::max(*to, bound) : std::min(*to, bound);
    }
    return out;
  }

  // The head, and every change of the policy until the end.
  void begin(TaskQueue& queue, RecordingPlace& place) {
    const QueueRecording* recording = recorder_->book().find(queue.name());
    RecordingHead head;
    head.queue = queue.name();
    head.forgot = recording != nullptr && recording->has_forgotten();
    const auto oldest = recording != nullptr ? recording->oldest() : std::nullopt;
    // A younger task that came before the oldest event has no move that describes it.
    if (head.forgot && oldest) {
      place.from_ms = std::max(place.from_ms, epoch_ms(place.wall(*oldest + FlightRecorder::kOldAfter)));
    } else if (oldest) {
      place.from_ms = std::max(place.from_ms, epoch_ms(place.wall(*oldest)));
    } else if (head.forgot) {
      place.from_ms = place.to_ms;  // Other queues have taken all of its room.
    }
    head.from = WallTime(milliseconds(place.from_ms));
    head.to = WallTime(milliseconds(place.to_ms));
    PolicyChanges changes = queue.policy_changes(0);
    head.policy = std::move(changes.first.policy);
    std::string later;
    for (PolicyChange& change : changes.changes) {
      change.at = place.wall(recorder_->book().boot_of(change.at));
      if (change.at <= head.from) {
        head.policy = std::move(change.policy);
      } else if (change.at <= head.to) {
        append_policy(later, change);
      }
    }
    append_head(lines_, head);
    lines_ += later;
  }

  // True if no event stands there yet.
  bool is_beyond(const std::string& queue, const RecordingPlace& place) const {
    const QueueRecording* recording = recorder_->book().find(queue);
    return recording != nullptr && place.state.empty() && place.events.chunk > recording->end().chunk;
  }

  std::optional<RecordingPlace> read_events(const std::string& queue, RecordingPlace place) {
    const QueueRecording* recording = recorder_->book().find(queue);
    bool over = recording == nullptr;
    if (recording != nullptr) {
      const BootTime from = place.boot(place.from_ms);
      const BootTime to = place.boot(place.to_ms);
      place.events = recording->read(place.events, kMostEvents, [&](const RecordedEvent& event) {
        over = event.at > to;
        if (!over && event.at >= from - kLead) append_event(lines_, place.wall(event.at), event);
        return !over;
      });
      over = over || place.events == recording->end();
    }
    if (over) place.state = "PENDING";
    return place;
  }

  Async<Result<std::optional<RecordingPlace>>> read_waiting(TaskQueue& queue, RecordingPlace place) {
    ListInput input;
    input.state = place.state;
    input.limit = kMostWaiting;
    input.cursor = place.cursor;
    auto page = co_await queue.list(std::move(input));
    if (!page) co_return fail(std::move(page.error()));
    const WallTime wall = clock_.wall();
    const WallTime at = place.wall(clock_.boot());
    const TaskStage stage = stage_of(place.state);
    for (const ItemRef& task : page->tasks) {
      append_waiting(lines_, at, task.creation(), stage, recorder_->about(task, stage, wall, false));
    }
    place.waiting += page->tasks.size();
    place.cursor = std::move(page->cursor);
    if (place.waiting >= kMostWaitingInAll) co_return std::nullopt;
    if (!place.cursor.empty()) co_return place;
    if (place.state == "DELAYED") co_return std::nullopt;
    place.state = "DELAYED";
    co_return place;
  }

  TaskQueues& queues_;
  const FlightRecorder* const recorder_;
  const Clock& clock_;
  const Target target_;
  std::string lines_;
  HttpResponse response_;
};

class RecordingRoute final : public Route {
 public:
  RecordingRoute(TaskQueues& queues, const FlightRecorder* recorder, const Clock& clock)
      : queues_(queues), recorder_(recorder), clock_(clock) {}
  bool matches(const HttpRequest& request) const override { return is_recording_path(request.target); }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    auto target = parse_target(request.target);
    if (!target) return answer_with_response(tasks::error_answer(target.error()));
    if (request.method != "GET") {
      return answer_with_response(method_not_allowed(request, api_methods(target->segments)));
    }
    return std::make_unique<RecordingExchange>(queues_, recorder_, clock_, std::move(*target));
  }

 private:
  TaskQueues& queues_;
  const FlightRecorder* const recorder_;
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<Route> make_recording_route(TaskQueues& queues, const FlightRecorder* recorder, const Clock& clock) {
  return std::make_unique<RecordingRoute>(queues, recorder, clock);
}

}  // namespace freshet
