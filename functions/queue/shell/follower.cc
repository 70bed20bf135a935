#include "functions/queue/shell/follower.h"

#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/shell/parts.h"
#include "functions/queue/unserved.h"

namespace freshet {

namespace {

constexpr milliseconds kEarlyAnswer{20};
// Without a stream, the queue looks at all tasks now and then: after this pause, or after a multiple of the time that
// the look took.
constexpr milliseconds kWalkPause{5'000};
constexpr int kWalkShare = 20;
// The same for a search of the whole table, which costs more. It doubles while searches find nothing.
constexpr seconds kSearchPause{60};
constexpr seconds kLongestSearchPause{3600};
constexpr const char* kWithoutStream =
    "a client has switched off the table's stream: until there is one again, tasks that clients put get their lane and "
    "hold their key only after a while";

}  // namespace

// The place that the last run saved, unless it is in another table's stream (a table made again under the same name).
Async<Follower::StreamPlace> Follower::first_stream() {
  StreamPlace place;
  auto described = co_await services_.tables.describe_table(table_);
  if (described) place.label = std::move(described->stream_label);
  auto bounds = co_await services_.tables.stream_bounds(table_);
  if (!bounds) co_return place;
  const uint64_t saved = parts_.sheds.log().position();
  place.from = saved > 0 && saved <= bounds->next ? std::max(saved, bounds->oldest) : bounds->next;
  co_return place;
}

// The stream after `last`, from its beginning. A client may have switched the stream off or deleted the table: then
// waits until there is one again. No stream shows the tasks that come meanwhile, so the queue looks for them.
Async<Follower::StreamPlace> Follower::next_stream(std::string last) {
  BootTime look_at{};
  bool is_off = false;
  core_.agenda.look_by(boot());  // Checks if the table still exists.
  parts_.timer.request_tick();
  for (;;) {
    auto described = co_await services_.tables.describe_table(table_);
    const bool is_there = described && described->id == parts_.table.id() && !parts_.table.gone();
    if (is_there && described->definition.stream && described->stream_label != last) {
      auto bounds = co_await services_.tables.stream_bounds(table_);
      if (is_off) log_.info("QUEUE_STREAM_BACK", {{"queue", table_}});
      scope_.spawn(parts_.adoption.adopt_all());
      co_return StreamPlace{std::move(described->stream_label), bounds ? bounds->oldest : 1};
    }
    if (is_there && !described->definition.stream && !std::exchange(is_off, true)) {
      log_.warn("QUEUE_STREAM_OFF", {{"queue", table_}, {"message", kWithoutStream}});
    }
    if (is_there && is_off && boot() >= look_at) {
      const auto began = boot();
      co_await parts_.adoption.adopt_all();
      look_at = boot() + std::max<nanoseconds>(kWalkPause, kWalkShare * (boot() - began));
    }
    co_await sleep_for(services_.scheduler, settings_.look_around);
  }
}

// True if the stream of that label will have no more records.
Async<bool> Follower::is_stream_over(std::string label) {
  const auto described = co_await services_.tables.describe_table(table_);
  if (!described) co_return described.error().code == ErrorCode::kResourceNotFound;
  co_return !described->definition.stream || described->stream_label != label;
}

// Finds what clients put. Takes find such tasks by themselves; here the tasks get what they lack (core/adopter.h).
Async<void> Follower::walk_now_and_then() {
  for (;;) {
    const auto began = boot();
    if (!parts_.table.gone()) co_await parts_.adoption.adopt_all();
    co_await sleep_for(services_.scheduler, std::max<nanoseconds>(kWalkPause, kWalkShare * (boot() - began)));
  }
}

// Finds the tasks that no index shows in their place.
Async<void> Follower::search_now_and_then() {
  seconds pause = kSearchPause;
  for (;;) {
    const auto began = boot();
    bool found = false;
    if (!parts_.table.gone()) found = co_await parts_.adoption.adopt_misplaced();
    co_await sleep_for(services_.scheduler, std::max<nanoseconds>(pause, kWalkShare * (boot() - began)));
    pause = found ? kSearchPause : std::min(2 * pause, kLongestSearchPause);
  }
}

Async<void> Follower::follow() {
  if (layout_.has_places) scope_.spawn(search_now_and_then());
  if (!can_follow(services_.tables.traits())) {
    co_await walk_now_and_then();
    co_return;
  }
  StreamPlace place = co_await first_stream();
  // Earlier records are not read, and the last run may have ended in the middle of an adoption.
  scope_.spawn(parts_.adoption.adopt_all());
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
      if (!over) co_await sleep_for(services_.scheduler, kEarlyAnswer);  // After any error: no busy loop.
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
        scope_.spawn(parts_.adoption.adopt_all());
      }
      continue;
    }
    place.from = page->next;
    co_await follow_page(std::move(*page));
    parts_.sheds.log().set_position(place.from);
    if (at_once)
      co_await sleep_for(services_.scheduler, nanoseconds(0));  // Gives other work its turn before the next page.
  }
}

Async<void> Follower::follow_page(StreamPage page) {
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
      if (!task) task = co_await read_again(record.keys);  // The view type of some streams leaves out the image.
      if (auto reason = task ? unserved_because(task) : std::nullopt) {
        if (!unserved) unserved = std::pair(std::string(text_of(task, attribute::kId)), std::move(reason->message));
        core_.adopter.count_unserved();
      }
      if (task && !core_.lanes.empty() && text_of(task, attribute::kStatus) == state::kPending) {
        core_.lanes.shares().filled(text_of(task, attribute::kLane), core_.lanes.place_of(task));
      }
      if (auto edit = task ? core_.adopter.times_for(task, record.kind == ChangeRecord::Kind::kInsert, counted_from())
                           : std::nullopt) {
        times.push_back(std::move(*edit));
      }
      if (task && parts_.adoption.needs_adoption(task)) shown.push_back(std::move(task));
    } else if (record.by_ttl && record.before) {
      auto status = text_of(record.before, attribute::kStatus);
      if (status == state::kPending || status == state::kDelayed) {
        lines.push_back(parts_.sheds.shed_line(record.before, "ttl", "sweep", now));
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
    auto given = co_await parts_.adoption.adopt(std::move(shown));
    if (given) parts_.takes.wake();
  }
  if (!times.empty()) co_await parts_.adoption.give_times(std::move(times));
  if (came && parts_.takes.anyone_waits()) parts_.takes.wake();
  if (!lines.empty()) co_await parts_.sheds.log_sheds(std::move(lines), page.next);
}

// A client has ended or deleted a held task, so nothing waits for the end of its lease.
Async<void> Follower::forget_if_ended(std::string id, Item key) {
  const std::string token = core_.claims.leases().find(id)->token;
  const auto task = co_await read_again(std::move(key));
  const bool held =
      task && text_of(task, attribute::kStatus) == state::kTaken && text_of(task, attribute::kLease) == token;
  if (!held) parts_.counts.taken_away(id, token, task);
}

Async<ItemRef> Follower::read_again(Item key) {
  GetItemInput input;
  input.table = table_;
  input.key = std::move(key);
  auto task = co_await services_.tables.get_item(std::move(input));
  co_return task ? std::move(*task) : ItemRef();
}

}  // namespace freshet
