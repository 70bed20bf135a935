#include "functions/queue/shell/shed_record.h"

#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

namespace {

constexpr const char* kRefused = "refused";  // As in lines of the shed log.

}  // namespace

void ShedRecord::begin(std::unique_ptr<ShedLog> log, const std::string& table_id) {
  shed_log_ = std::move(log);
  shed_log_->count_for(table_id);
}

ShedLine ShedRecord::shed_line(const ItemRef& task, std::string_view reason, std::string_view by, WallTime at) const {
  ShedLine line;
  line.task = text_of(task, attribute::kId);
  line.reason = reason;
  line.policy = reason;
  if (reason == "deadline-margin") {
    line.policy = settings_.deadline_margin == DeadlineMargin::kP90 ? "DEADLINE_MARGIN=p90" : "DEADLINE_MARGIN=yield";
  }
  line.by = by;
  line.state = text_of(task, attribute::kStatus);
  line.at = at;
  line.age = age_of(task, at);
  return line;
}

milliseconds ShedRecord::age_of(const ItemRef& task, WallTime at) {
  const int64_t now = epoch_ms(at);
  return milliseconds(now - std::clamp<int64_t>(int_of(task, attribute::kCreated, now), 0, now));
}

Async<uint64_t> ShedRecord::pending_depth() {
  auto books = co_await services_.tables.books(table_);
  co_return books ? books->stock[std::string(state::kPending)] : 0;
}

// `position`: how far the stream that showed the sheds has been read.
Async<void> ShedRecord::log_sheds(std::vector<ShedLine> lines, std::optional<uint64_t> position) {
  parts_.counts.punctuality().ended(TaskEnd::kShed, boot(), lines.size());
  const uint64_t depth = co_await pending_depth();
  // People want to read about each shed, but not about a million.
  constexpr size_t kNamed = 16;
  auto level = lines.size() <= kNamed ? LogLevel::kInfo : LogLevel::kDebug;
  for (auto& line : lines) {
    line.depth = depth;
    if (!log_.enabled(level)) continue;
    log_.event(level, "TASK_SHED",
               {{"queue", table_},
                {"taskId", line.task},
                {"reason", line.reason},
                {"policy", line.policy},
                {"ageMs", line.age.count()},
                {"depth", depth}});
  }
  if (lines.size() > kNamed) {
    log_.info("TASKS_SHED", {{"queue", table_}, {"tasks", lines.size()}, {"by", lines[0].by}, {"depth", depth}});
  }
  if (core_.agenda.given_up()) co_return;  // Another daemon writes the ring now.
  auto added = co_await shed_log_->add(std::move(lines), position);
  if (!added) log_.warn("SHED_LOG_FAILED", {{"queue", table_}, {"message", added.error().message}});
}

// Logs bounces and refusals. Many of them become one line with a count, written once a second.
void ShedRecord::log_beside(std::vector<ShedLine> lines) {
  const auto refused =
      std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.what == kRefused; });
  if (refused > 0) parts_.counts.punctuality().refused(static_cast<uint64_t>(refused), boot());
  for (auto& line : lines) spells_.add(std::move(line), boot());
  if (!core_.agenda.given_up()) write_spells(false);
}

// `all`: also those whose line was written a moment ago.
void ShedRecord::write_spells(bool all) {
  for (Spell* spell : spells_.due(boot(), all)) scope_.spawn(write_spell(*spell));
}

// The spell does not move in memory while this writes it. The slot of its line is chosen when the write begins, because
// lines that come while the depth is read may fill the whole ring. A line that the store refuses is written again
// later.
Async<void> ShedRecord::write_spell(Spell& spell) {
  spell.writing = true;
  spell.written = boot();
  const uint64_t depth = co_await pending_depth();
  spell.changed = false;
  spell.number = shed_log_->place(spell.number);
  ShedLine line = spell.line;
  line.depth = depth;
  auto added = co_await shed_log_->put(std::move(line), *spell.number);
  spell.writing = false;
  if (added) co_return;
  spell.changed = true;
  log_.warn("SHED_LOG_FAILED", {{"queue", table_}, {"message", added.error().message}});
}

ShedLine ShedRecord::refused_line(const NewTask& task, std::string policy, std::string reason) const {
  ShedLine line;
  line.what = kRefused;
  line.task = task.id;
  line.policy = std::move(policy);
  line.reason = std::move(reason);
  line.by = "create";
  line.at = wall();
  return line;
}

bool ShedRecord::bounced(const ItemRef& task, DownstreamRefusal how, std::string_view reason, bool reachable) {
  ++bounced_;
  parts_.counts.punctuality().refused_by_downstream(how);
  const bool is_news = core_.limits.downstream().bounced(reason, reachable, wall());
  std::vector<ShedLine> lines;
  lines.push_back(shed_line(task, reason, "runner", wall()));
  lines[0].what = "bounced";
  lines[0].policy = "breaker";
  log_beside(std::move(lines));
  return is_news;
}

Async<void> ShedRecord::save() {
  auto saved = co_await shed_log_->save();
  if (!saved) log_.warn("SHED_LOG_FAILED", {{"queue", table_}, {"message", saved.error().message}});
}

Async<Result<std::vector<ItemRef>>> ShedRecord::sheds(uint32_t limit) {
  if (limit < 1 || limit > 10'000) co_return invalid("limit must be from 1 to 10000");
  auto lines = co_await shed_log_->newest(limit);
  co_return lines;
}

}  // namespace freshet
