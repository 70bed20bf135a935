#include "app/saved/saved_recording.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "app/daemon/recording_lines.h"
#include "app/lab/flight.h"
#include "functions/queue/attributes.h"
#include "functions/queue/fixture_states.h"
#include "functions/queue/holder.h"
#include "functions/queue/policy/expiry.h"
#include "streams/fixture.h"

namespace freshet::saved {
namespace {

constexpr size_t kMostLines = 2'000;  // In one answer.
constexpr int64_t kLongestMs = 24 * int64_t{3'600'000};

class Answers {
 public:
  // Call it before each line.
  std::string& next() {
    if (lines_++ % kMostLines == 0) all_.emplace_back();
    return all_.back();
  }
  std::vector<std::string> take() { return std::move(all_); }

 private:
  std::vector<std::string> all_;
  size_t lines_ = 0;
};

TaskStage stage_in(const ItemRef& task) {
  return task ? stage_of(text_of(task, attribute::kStatus)) : TaskStage::kNone;
}

Result<void> check_length(const std::string& file, int64_t ms) {
  if (ms <= kLongestMs) return {};
  return invalid(file + ": it spans " + std::to_string(ms / 3'600'000) +
                 " hours, and a day is the most that can be shown: leave out the lines of other days");
}

// The lines of a fixture's changes.
class FixtureLines {
 public:
  FixtureLines(const Fixture& fixture, const std::string& file)
      : fixture_(fixture), file_(file), from_ms_(epoch_ms(fixture.header.start)), last_ms_(from_ms_) {}

  Result<SavedRecording> run() {
    if (auto states = check_states(fixture_); !states) return fail(states.error());
    find_end();
    if (auto length = check_length(file_, to_ms_ - from_ms_); !length) return fail(length.error());
    begin();
    for (const Item& item : fixture_.snapshot) {
      const ItemRef task = ItemRef::encode(item);
      if (stage_in(task) != TaskStage::kNone) known_[id_of(task)] = {++numbers_, stage_in(task), task};
    }
    for (const ChangeRecord& record : fixture_.records) {
      last_ms_ = std::max(last_ms_, epoch_ms(record.at));
      add(record);
    }
    if (fixture_.records.empty() && numbers_ == 0 && !fixture_.header.policy.empty()) {
      return invalid(file_ + ": the recording holds no changes: nothing happened while it was recorded");
    }
    if (numbers_ == 0) return invalid(file_ + ":1: no item has a 'taskStatus': this is not the recording of a queue");
    add_waiting();
    return SavedRecording{fixture_.header.table, true, answers_.take()};
  }

 private:
  struct Known {
    uint64_t number = 0;
    TaskStage stage = TaskStage::kNone;
    ItemRef from_the_start = {};  // Null once it has moved, or if it came later.
  };

  static std::string id_of(const ItemRef& task) { return std::string(text_of(task, attribute::kId)); }

  // A page shows whole seconds, so the last one must be whole.
  void find_end() {
    int64_t end = from_ms_;
    for (const ChangeRecord& record : fixture_.records) end = std::max(end, epoch_ms(record.at));
    to_ms_ = (end + 999) / 1'000 * 1'000;
  }

  void begin() {
    RecordingHead head;
    head.queue = fixture_.header.table;
    head.from = fixture_.header.start;
    head.to = WallTime(milliseconds(to_ms_));
    head.policy = std::make_shared<const QueuePolicy>(fixture_.header.policy);
    append_head(answers_.next(), head);
    for (const FixturePolicy& change : fixture_.policy_changes) {
      append_policy(answers_.next(), {change.at, std::make_shared<const QueuePolicy>(change.policy)});
    }
    for (const FixturePause& pause : fixture_.pauses) {
      for (const auto of : {Pause::Of::kQueue, Pause::Of::kGroup, Pause::Of::kKey}) {
        if (pause_kind_name(of) == pause.of) append_pause(answers_.next(), {pause.at, pause.paused, of, pause.name});
      }
    }
  }

  RecordedTask about(const ItemRef& task) const {
    RecordedTask out;
    const auto until = [this](int64_t ms) { return milliseconds(ms - last_ms_); };
    if (const auto end = ttl_end(task, false)) {
      out.due_in = until(epoch_ms(end->at));
      out.due_by_ttl = true;
    }
    const int64_t deadline = int_of(task, attribute::kDeadline, 0);
    if (deadline > 0 && (!out.due_in || until(deadline) < *out.due_in)) {
      out.due_in = until(deadline);
      out.due_by_ttl = false;
    }
    out.age = std::max(milliseconds(0), -until(int_of(task, attribute::kCreated, last_ms_)));
    out.group = text_of(task, attribute::kGroup);
    out.key = text_of(task, attribute::kKey);
    return out;
  }

  void add(const ChangeRecord& record) {
    const ItemRef& any = record.after ? record.after : record.before;
    if (!any) return;
    const TaskStage to = stage_in(record.after);
    const auto [place, is_new] = known_.try_emplace(id_of(any));
    Known& task = place->second;
    if (is_new) task = {0, stage_in(record.before)};
    if (task.stage == to) return;
    if (task.number == 0) task.number = ++numbers_;
    RecordedMove move;
    move.task = task.number;
    move.from = task.stage;
    move.to = task.stage = to;
    const bool comes = !is_living(move.from) && is_living(move.to);
    const ItemRef there = std::exchange(task.from_the_start, {});
    if (comes) {
      move.about = about(record.after);
    } else if (is_waiting(move.from) && (there || is_new)) {
      move.about = about(there ? there : record.before);
    }
    if (move.to == TaskStage::kTaken) move.pulled = text_of(record.after, attribute::kTakenBy) != kProcessorOwner;
    move.by_ttl = record.by_ttl;
    if (move.to == TaskStage::kShed) move.because = because(record.after);
    if (move.to == TaskStage::kNone) known_.erase(place);
    write(move);
  }

  static ShedBecause because(const ItemRef& task) {
    const auto reason = text_of(task, attribute::kShedReason);
    const auto known = std::find(kShedBecauseNames.begin(), kShedBecauseNames.end(), reason);
    return known == kShedBecauseNames.end() ? ShedBecause::kUnknown
                                            : static_cast<ShedBecause>(known - kShedBecauseNames.begin());
  }

  void write(const RecordedMove& move) {
    RecordedEvent event;
    event.move = move;
    append_event(answers_.next(), WallTime(milliseconds(last_ms_)), event);
  }

  // Tasks that waited all the time.
  void add_waiting() {
    last_ms_ = to_ms_;
    for (const auto& [id, known] : known_) {
      const TaskStage stage = stage_in(known.from_the_start);
      if (!is_waiting(stage)) continue;
      append_waiting(answers_.next(), WallTime(milliseconds(to_ms_)), known.number, stage, about(known.from_the_start));
    }
  }

  const Fixture& fixture_;
  const std::string& file_;
  const int64_t from_ms_;
  int64_t last_ms_;  // The time of the change that is read now: times do not fall.
  int64_t to_ms_ = 0;
  Answers answers_;
  std::unordered_map<std::string, Known> known_;
  uint64_t numbers_ = 0;
};

Result<SavedRecording> read_answers(std::string_view text, const std::string& file) {
  lab::Flight flight;
  if (auto read = flight.add(text); !read) return fail(lab::in_file(read.error(), file));
  if (auto length = check_length(file, (flight.to() - flight.from()).count()); !length) return fail(length.error());
  SavedRecording out;
  out.queue = flight.queue();
  Answers answers;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (text.substr(0, end).find_first_not_of(" \t\r") != text.npos) answers.next().append(text.substr(0, end)) += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out.answers = answers.take();
  return out;
}

}  // namespace

Result<SavedRecording> read_saved_recording(std::string_view text, const std::string& file) {
  if (lab::is_flight(text)) return read_answers(text, file);
  const auto fixture = read_fixture(text, file);
  if (!fixture) return fail(fixture.error());
  return FixtureLines(*fixture, file).run();
}

}  // namespace freshet::saved
