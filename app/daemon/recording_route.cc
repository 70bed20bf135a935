#include "app/daemon/recording_route.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "app/daemon/recording_lines.h"
#include "app/daemon/recording_place.h"
#include "base/number_text.h"
#include "base/there_are.h"
#include "wire/api/calls.h"
#include "wire/http/own_error.h"
#include "wire/http/target.h"
#include "wire/tasks/answers.h"

namespace freshet {
namespace {

// Events from before the asked time that are sent, too: the starts of tasks that were young then do not describe them.
constexpr milliseconds kLead = FlightRecorder::kOldAfter + milliseconds(5000);
constexpr size_t kMostEvents = 2'000;  // In one answer: about a millisecond of the loop.
constexpr uint32_t kMostWaiting = 500;
constexpr size_t kMostPolicies = 50;
constexpr size_t kMostPauses = 500;
constexpr uint64_t kMostWaitingInAll = 200'000;

bool is_recording_path(std::string_view target) {
  constexpr std::string_view kRoot = "/queues/";
  constexpr std::string_view kEnd = "/recording";
  const std::string_view path = target.substr(0, target.find('?'));
  if (!path.starts_with(kRoot) || !path.ends_with(kEnd) || path.size() <= kRoot.size() + kEnd.size()) return false;
  const std::string_view name = path.substr(kRoot.size(), path.size() - kRoot.size() - kEnd.size());
  return name.find('/') == std::string_view::npos;
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
    const auto queue = queues_.find(name);
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
    if (auto there = check_place(name, *place); !there) co_return fail(std::move(there.error()));
    using Part = RecordingPlace::Part;
    if (place->part == Part::kHead) begin(*queue, *place);
    if (place->part == Part::kPolicies) {
      if (auto policies = read_policies(*queue, *place); !policies) co_return fail(std::move(policies.error()));
      if (place->part == Part::kPolicies) co_return std::move(*place);
    }
    if (place->part == Part::kPauses) {
      if (auto pauses = read_pauses(*queue, *place); !pauses) co_return fail(std::move(pauses.error()));
      if (place->part == Part::kPauses) co_return std::move(*place);
    }
    if (place->part == Part::kEvents) co_return read_events(name, std::move(*place));
    if (place->part == Part::kSince) co_return read_since(name, std::move(*place));
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
      const auto place = RecordingPlace::read(member->second);
      if (!place) return invalid("'place' must be the header X-Freshet-Next of the answer before");
      return *place;
    }
    RecordingPlace out;
    const RecordingBook& book = recorder_->book();
    out.run_ms = run_ms();
    out.ahead_ms = epoch_ms(book.wall_of(BootTime{}));
    const WallTime now = out.wall(clock_.boot());
    out.from_ms = epoch_ms(now - FlightRecorder::kMostAge);
    out.to_ms = epoch_ms(now);
    int64_t bound = 0;
    for (auto [name, to] : {std::pair{"from", &out.from_ms}, std::pair{"to", &out.to_ms}}) {
      const auto member = target_.query.find(name);
      if (member == target_.query.end()) continue;
      if (!read_number_in(member->second, bound))
        return invalid(std::string("'") + name + "' must be epoch milliseconds");
      bound = std::clamp(bound, -RecordingPlace::kFarthestMs, RecordingPlace::kFarthestMs);
      if (bound < 0) bound += epoch_ms(now);
      *to = name == std::string_view("from") ? std::max(*to, bound) : std::min(*to, bound);
    }
    return out;
  }

  int64_t run_ms() const { return std::chrono::floor<milliseconds>(recorder_->began().time_since_epoch()).count(); }

  // An error if the recording does not go on there without a gap.
  Result<void> check_place(const std::string& queue, const RecordingPlace& place) const {
    const QueueRecording* recording = recorder_->book().find(queue);
    const bool beyond = recording != nullptr && place.events.chunk > recording->end().chunk;
    if (place.run_ms != run_ms() || beyond) {
      return fail(ErrorCode::kConflict,
                  "'place' is of a recording that has ended: the daemon was started anew. Begin without it");
    }
    if (recording == nullptr || !recording->is_gone(place.events)) return {};
    return fail(ErrorCode::kConflict,
                "events of queue '" + queue + "' that come next have been forgotten while the recording was read: " +
                    "they were too old, their room was needed (--recording-bytes), or the queue's table was created "
                    "anew. Begin without 'place', with a later 'from'");
  }

  // The head. The changes of the policy are next.
  void begin(TaskQueue& queue, RecordingPlace& place) {
    const auto [complete_from, forgot] = recorder_->extent_of(queue.name());
    place.from_ms = std::max(place.from_ms, epoch_ms(place.wall(complete_from)));
    const PolicyChanges changes = queue.policy_changes(0);
    if (changes.missing > 0) place.from_ms = std::max(place.from_ms, wall_ms(place, changes.changes.front().boot));
    place.from_ms = std::max(place.from_ms, wall_ms(place, queue.pause_changes().complete_from));
    place.from_ms = std::min(place.from_ms, place.to_ms);
    RecordingHead head;
    head.queue = queue.name();
    head.forgot = forgot;
    head.from = WallTime(milliseconds(place.from_ms));
    head.to = WallTime(milliseconds(place.to_ms));
    head.policy = changes.first.policy;
    place.number = changes.missing;
    for (const PolicyChange& change : changes.changes) {
      if (wall_ms(place, change.boot) > place.from_ms) break;
      head.policy = change.policy;
      ++place.number;
    }
    append_head(lines_, head);
    place.part = RecordingPlace::Part::kPolicies;
    const QueueRecording* recording = recorder_->book().find(queue.name());
    place.events = recording == nullptr ? QueueRecording::Position{1, 0}
                                        : recording->position_at(place.boot(place.from_ms) - kLead);
  }

  static int64_t wall_ms(const RecordingPlace& place, BootTime at) { return epoch_ms(place.wall(at)); }

  Result<void> read_policies(TaskQueue& queue, RecordingPlace& place) {
    const PolicyChanges changes = queue.policy_changes(place.number);
    if (changes.missing > 0) {
      return fail(ErrorCode::kConflict, "changes of the policy of queue '" + queue.name() +
                                            "' have been forgotten while the recording was read. Begin without "
                                            "'place', with a later 'from'");
    }
    size_t sent = 0;
    for (PolicyChange change : changes.changes) {
      const int64_t at = wall_ms(place, change.boot);
      if (at > place.to_ms) break;
      if (sent++ == kMostPolicies) return {};
      change.at = WallTime(milliseconds(at));
      append_policy(lines_, change);
      ++place.number;
    }
    place.part = RecordingPlace::Part::kPauses;
    place.number = 0;
    return {};
  }

  // Those that were there at the beginning, with its time, and the later changes.
  Result<void> read_pauses(TaskQueue& queue, RecordingPlace& place) {
    PauseChanges changes = queue.pause_changes();
    if (std::min(wall_ms(place, changes.complete_from), place.to_ms) > place.from_ms) {
      return fail(ErrorCode::kConflict, "pauses of queue '" + queue.name() +
                                            "' have been forgotten while the recording was read. Begin without "
                                            "'place', with a later 'from'");
    }
    const auto all = pauses_between(std::move(changes), place);
    const uint64_t end = std::min<uint64_t>(all.size(), place.number + kMostPauses);
    for (; place.number < end; ++place.number) append_pause(lines_, all[place.number]);
    if (end == all.size()) place.part = RecordingPlace::Part::kEvents;
    return {};
  }

  // By time, in the recording's times.
  std::vector<PauseChange> pauses_between(PauseChanges changes, const RecordingPlace& place) const {
    std::map<std::pair<Pause::Of, std::string>, PauseChange> there;
    std::vector<PauseChange> later;
    changes.first.insert(changes.first.end(), std::make_move_iterator(changes.changes.begin()),
                         std::make_move_iterator(changes.changes.end()));
    for (PauseChange& change : changes.first) {
      const int64_t at = wall_ms(place, change.boot);
      if (at > place.to_ms) continue;
      change.at = WallTime(milliseconds(std::max(at, place.from_ms)));
      if (at > place.from_ms) {
        later.push_back(std::move(change));
      } else if (change.paused) {
        there.insert_or_assign({change.of, change.name}, change);
      } else {
        there.erase({change.of, change.name});
      }
    }
    std::vector<PauseChange> out;
    for (auto& [part, change] : there) out.push_back(std::move(change));
    std::move(later.begin(), later.end(), std::back_inserter(out));
    return out;
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
    if (over) {
      place.part = RecordingPlace::Part::kPending;
      place.number = 0;
    }
    return place;
  }

  Async<Result<std::optional<RecordingPlace>>> read_waiting(TaskQueue& queue, RecordingPlace place) {
    ListInput input;
    input.state = place.part_name();
    input.limit = kMostWaiting;
    input.cursor = place.cursor;
    auto page = co_await queue.list(std::move(input));
    if (!page) co_return fail(std::move(page.error()));
    const WallTime wall = clock_.wall();
    const WallTime at = place.wall(clock_.boot());
    const TaskStage stage = stage_of(place.part_name());
    const bool in_milliseconds = queue.ttl_in_milliseconds();
    for (const ItemRef& task : page->tasks) {
      append_waiting(lines_, at, task.creation(), stage, recorder_->about(task, stage, wall, false, in_milliseconds));
    }
    place.number += page->tasks.size();
    place.cursor = std::move(page->cursor);
    const bool over = place.number >= kMostWaitingInAll;
    if (!over && !place.cursor.empty()) co_return place;
    if (!over && place.part == RecordingPlace::Part::kPending) {
      place.part = RecordingPlace::Part::kDelayed;
      co_return place;
    }
    place.part = RecordingPlace::Part::kSince;
    place.cursor.clear();
    place.number = static_cast<uint64_t>(ms_of(clock_.boot()));
    co_return place;
  }

  // The moves from `to` until all waiting tasks were read: one that waited at `to` may have begun or ended meanwhile.
  std::optional<RecordingPlace> read_since(const std::string& queue, RecordingPlace place) {
    const QueueRecording* recording = recorder_->book().find(queue);
    if (recording == nullptr) return std::nullopt;
    bool over = false;
    place.events = recording->read(place.events, kMostEvents, [&](const RecordedEvent& event) {
      over = ms_of(event.at) > static_cast<int64_t>(place.number);
      if (!over && event.kind == RecordedEvent::Kind::kMove) append_event(lines_, place.wall(event.at), event);
      return !over;
    });
    if (over || place.events == recording->end()) return std::nullopt;
    return place;
  }

  static int64_t ms_of(BootTime at) { return std::chrono::floor<milliseconds>(at.time_since_epoch()).count(); }

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
