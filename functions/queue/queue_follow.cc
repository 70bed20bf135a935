// The queue as a reader of its own table's stream: what clients wrote, and what the TTL sweep removed.
#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/queue.h"
#include "functions/queue/unserved.h"

namespace freshet {

namespace {

constexpr milliseconds kEarlyAnswer{20};
constexpr const char* kRefused = "refused";  // Of a line of the shed log.
// While the table has no stream, the queue looks at all tasks now and then: after this pause, or after a multiple of
// the time that the look took.
constexpr milliseconds kWalkPause{5'000};
constexpr int kWalkShare = 20;
constexpr const char* kWithoutStream =
    "a client has switched off the table's stream: until there is one again, tasks that clients put get their lane and "
    "hold their key only after a while";

}  // namespace

// The place that the last run saved, unless it is in another table's stream (a table made again under the same name).
Async<Queue::StreamPlace> Queue::first_stream() {
  StreamPlace place;
  auto described = co_await services_.tables.describe_table(table_);
  if (described) place.label = std::move(described->stream_label);
  auto bounds = co_await services_.tables.stream_bounds(table_);
  if (!bounds) co_return place;
  const uint64_t saved = shed_log_->position();
  place.from = saved > 0 && saved <= bounds->next ? std::max(saved, bounds->oldest) : bounds->next;
  co_return place;
}

// The stream after `last`, from its beginning. A client may have switched the stream off or deleted the table: then
// waits until there is one again. No stream shows the tasks that come meanwhile, so the queue looks for them.
Async<Queue::StreamPlace> Queue::next_stream(std::string last) {
  BootTime look_at{};
  bool is_off = false;
  core_.agenda.look_by(boot());  // Checks if the table still exists.
  request_tick();
  for (;;) {
    auto described = co_await services_.tables.describe_table(table_);
    const bool is_there = described && described->id == table_id_ && !gone_;
    if (is_there && described->definition.stream && described->stream_label != last) {
      auto bounds = co_await services_.tables.stream_bounds(table_);
      if (is_off) log_.info("QUEUE_STREAM_BACK", {{"queue", table_}});
      scope_.spawn(adopt_all());
      co_return StreamPlace{std::move(described->stream_label), bounds ? bounds->oldest : 1};
    }
    if (is_there && !described->definition.stream && !std::exchange(is_off, true)) {
      log_.warn("QUEUE_STREAM_OFF", {{"queue", table_}, {"message", kWithoutStream}});
    }
    if (is_there && is_off && boot() >= look_at) {
      const auto began = boot();
      co_await adopt_all();
      look_at = boot() + std::max<nanoseconds>(kWalkPause, kWalkShare * (boot() - began));
    }
    co_await sleep_for(services_.scheduler, settings_.look_around);
  }
}

// True if the stream of that label will have no more records.
Async<bool> Queue::is_stream_over(std::string label) {
  const auto described = co_await services_.tables.describe_table(table_);
  if (!described) co_return described.error().code == ErrorCode::kResourceNotFound;
  co_return !described->definition.stream || described->stream_label != label;
}

Async<void> Queue::follow() {
  StreamPlace place = co_await first_stream();
  // Earlier records are not read, and the last run may have ended in the middle of an adoption.
  scope_.spawn(adopt_all());
  for (;;) {
    ReadStreamInput input;
    input.table = table_;
    input.label = place.label;
    input.from = place.from;
    input.skip.queue_writes = true;
    const auto until = boot() + seconds(60);
    input.wait_until = until;
    auto reading = services_.tables.read_stream(std::move(input));
    const bool at_once = reading.is_ready();
    auto page = co_await reading;
    bool over = !page && page.error().code == ErrorCode::kResourceNotFound;
    if (page && page->records.empty() && page->next == place.from && boot() < until) {
      over = co_await is_stream_over(place.label);
      if (!over) co_await sleep_for(services_.scheduler, kEarlyAnswer);  // Whatever the error is, avoid a hot loop.
    }
    if (over) {
      place = co_await next_stream(place.label);
      continue;
    }
    if (!page) {
      co_await sleep_for(services_.scheduler, settings_.look_around);
      auto again = co_await services_.tables.stream_bounds(table_);
      if (again && page.error().code == ErrorCode::kTrimmedDataAccess) {
        place.from = again->oldest;
        scope_.spawn(adopt_all());
      }
      continue;
    }
    place.from = page->next;
    co_await follow_page(std::move(*page));
    shed_log_->set_position(place.from);
    if (at_once)
      co_await sleep_for(services_.scheduler, nanoseconds(0));  // Gives other work its turn before the next page.
  }
}

Async<void> Queue::follow_page(StreamPage page) {
  std::vector<ShedLine> lines;
  std::vector<ItemRef> shown;
  std::vector<EditItemInput> times;
  std::optional<std::pair<std::string, std::string>> unserved;  // The first one, and why.
  const uint64_t unserved_before = core_.adopter.unserved();
  bool came = false;
  const auto now = wall();
  for (const auto& record : page.records) {
    std::string id(record.keys.string_or(attribute::kId));
    if (core_.claims.leases().find(id)) {
      Item key = record.keys;
      co_await forget_if_ended(std::move(id), std::move(key));
    }
    if (record.kind != ChangeRecord::Kind::kRemove) {
      came = true;
      auto task = record.after;
      if (!task) task = co_await read_again(record.keys);  // Some streams show no more than their view says.
      if (auto reason = task ? unserved_because(task) : std::nullopt) {
        if (!unserved) unserved = std::pair(std::string(text_of(task, attribute::kId)), std::move(reason->message));
        core_.adopter.count_unserved();
      }
      if (task && !core_.lanes.empty() && text_of(task, attribute::kStatus) == state::kPending) {
        core_.lanes.shares().filled(text_of(task, attribute::kLane), core_.lanes.place_of(task));
      }
      if (auto edit =
              task ? core_.adopter.times_for(task, record.kind == ChangeRecord::Kind::kInsert, wall()) : std::nullopt) {
        times.push_back(std::move(*edit));
      }
      if (task && needs_adoption(task)) shown.push_back(std::move(task));
    } else if (record.by_ttl && record.before) {
      auto status = text_of(record.before, attribute::kStatus);
      if (status == state::kPending || status == state::kDelayed) {
        lines.push_back(shed_line(record.before, "ttl", "sweep", now));
      }
    }
  }
  if (unserved) {
    log_.warn("TASKS_NOT_SERVED", {{"queue", table_},
                                   {"tasks", core_.adopter.unserved() - unserved_before},
                                   {"taskId", unserved->first},
                                   {"what", unserved->second}});
  }
  if (!shown.empty()) {
    auto given = co_await adopt(std::move(shown));
    if (given) wake();
  }
  if (!times.empty()) co_await give_times(std::move(times));
  if (came && !waiters_.empty()) wake();
  if (!lines.empty()) co_await log_sheds(std::move(lines), page.next);
}

// A client has ended a task that is held, or deleted it: nothing waits for the end of its lease.
Async<void> Queue::forget_if_ended(std::string id, Item key) {
  const std::string token = core_.claims.leases().find(id)->token;
  const auto task = co_await read_again(std::move(key));
  const bool held =
      task && text_of(task, attribute::kStatus) == state::kTaken && text_of(task, attribute::kLease) == token;
  if (!held) taken_away(id, token, task);
}

Async<ItemRef> Queue::read_again(Item key) {
  GetItemInput input;
  input.table = table_;
  input.key = std::move(key);
  auto task = co_await services_.tables.get_item(std::move(input));
  co_return task ? std::move(*task) : ItemRef();
}

ShedLine Queue::shed_line(const ItemRef& task, std::string_view reason, std::string_view by, WallTime at) const {
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

milliseconds Queue::age_of(const ItemRef& task, WallTime at) {
  const int64_t now = epoch_ms(at);
  return milliseconds(now - std::clamp<int64_t>(int_of(task, attribute::kCreated, now), 0, now));
}

Async<uint64_t> Queue::pending_depth() {
  auto books = co_await services_.tables.books(table_);
  co_return books ? books->stock[std::string(state::kPending)] : 0;
}

// `position`: up to where the stream that showed them has been read.
Async<void> Queue::log_sheds(std::vector<ShedLine> lines, std::optional<uint64_t> position) {
  punctuality_.ended(TaskEnd::kShed, boot(), lines.size());
  const uint64_t depth = co_await pending_depth();
  // A person wants to read of each one, but not of a million.
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
  auto added = co_await shed_log_->add(std::move(lines), position);
  if (!added) log_.warn("SHED_LOG_FAILED", {{"queue", table_}, {"message", added.error().message}});
}

// Bounces and refusals. A flood of them is one line that counts, written once a second.
void Queue::log_beside(std::vector<ShedLine> lines) {
  const auto refused =
      std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.what == kRefused; });
  if (refused > 0) punctuality_.refused(static_cast<uint64_t>(refused), boot());
  for (auto& line : lines) spells_.add(std::move(line), boot());
  write_spells(false);
}

// `all`: also those whose line was written a moment ago.
void Queue::write_spells(bool all) {
  for (Spell* spell : spells_.due(boot(), all)) scope_.spawn(write_spell(*spell));
}

// The spell stays where it is while this writes it. Its place is chosen when the write begins: lines that come while
// the depth is read may have gone round the ring. A line that the store refuses is written again later.
Async<void> Queue::write_spell(Spell& spell) {
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

ShedLine Queue::refused_line(const NewTask& task, std::string policy, std::string reason) const {
  ShedLine line;
  line.what = kRefused;
  line.task = task.id;
  line.policy = std::move(policy);
  line.reason = std::move(reason);
  line.by = "create";
  line.at = wall();
  return line;
}

bool Queue::bounced(const ItemRef& task, DownstreamRefusal how, std::string_view reason, bool reachable) {
  ++bounced_;
  punctuality_.refused_by_downstream(how);
  const bool is_news = core_.limits.downstream().bounced(reason, reachable, wall());
  std::vector<ShedLine> lines;
  lines.push_back(shed_line(task, reason, "runner", wall()));
  lines[0].what = "bounced";
  lines[0].policy = "breaker";
  log_beside(std::move(lines));
  return is_news;
}

Async<Result<std::vector<ItemRef>>> Queue::sheds(uint32_t limit) {
  if (limit < 1 || limit > 10'000) co_return invalid("limit must be from 1 to 10000");
  auto lines = co_await shed_log_->newest(limit);
  co_return lines;
}

}  // namespace freshet
