#include "functions/queue/shed_log.h"

#include <algorithm>
#include <utility>

#include "functions/queue_states.h"

namespace freshet {

namespace {

constexpr int64_t kHead = -1;  // The slot of the head, which is not a line.
constexpr std::string_view kHeads = "heads";
constexpr std::string_view kBounced = "bounced";
// The bounds of one item: lines, and bytes of task ids.
constexpr size_t kMostTogether = 256;
constexpr size_t kMostIdBytes = 64u << 10;

Value count_value(uint64_t n) {
  return Value::number(static_cast<int64_t>(n));
}

uint64_t at_least_zero(int64_t n) {
  return static_cast<uint64_t>(std::max<int64_t>(n, 0));
}

std::vector<Value> elements_of(const Item& item, std::string_view name) {
  const Value* value = item.find(name);
  const List* list = value ? value->get_if<List>() : nullptr;
  return list ? list->elements : std::vector<Value>();
}

// True if the write of a head was refused because a newer head is stored. Only heads have a condition.
bool is_newer_there(const Error& error) {
  return error.code == ErrorCode::kConditionalCheckFailed;
}

// True if the two lines differ only in the task and its age.
bool alike(const ShedLine& a, const ShedLine& b) {
  return a.at == b.at && a.depth == b.depth && !a.task.empty() && !b.task.empty() && a.what == b.what &&
         a.policy == b.policy && a.reason == b.reason && a.by == b.by && a.state == b.state;
}

// Clients of before there was `count` know `untold`: those that have no line.
void set_count(Item& item, ShedLine& line) {
  item.set("count", count_value(line.count));
  item.set("until", Value::number(epoch_ms(line.until)));
  item.set("untold", count_value(line.count - 1));
  List tasks;
  for (auto& task : line.tasks) tasks.elements.emplace_back(std::move(task));
  if (!tasks.elements.empty()) item.set("tasks", Value(std::move(tasks)));
}

// The number of lines, from the first one on, that go into one item.
size_t lines_together(std::span<const ShedLine> lines) {
  size_t ids = lines[0].task.size();
  size_t count = 1;
  while (count < std::min(lines.size(), kMostTogether) && alike(lines[0], lines[count])) {
    ids += lines[count].task.size();
    if (ids > kMostIdBytes) break;
    ++count;
  }
  return count;
}

}  // namespace

Async<Result<std::unique_ptr<ShedLog>>> ShedLog::open(Tables& tables, std::string queue, uint32_t capacity) {
  auto provided = co_await provide_queue_states(tables);
  if (!provided) co_return fail(provided.error());
  std::unique_ptr<ShedLog> log(new ShedLog(tables, std::move(queue), capacity));
  auto loaded = co_await log->load();
  if (!loaded) co_return fail(loaded.error());
  co_return log;
}

Async<Result<void>> ShedLog::load() {
  GetItemInput input;
  input.table = kQueueStates;
  input.key = queue_state_key(queue_, kHead);
  auto stored = co_await tables_.get_item(std::move(input));
  if (!stored) co_return fail(stored.error());
  if (!*stored) co_return Result<void>();
  Item item = stored->decode();
  written_ = at_least_zero(item.int_or("written", 0));
  heads_ = at_least_zero(item.int_or(kHeads, 0));
  // A ring of another size starts over: its lines would lie in the wrong slots.
  first_ = item.int_or("capacity", 0) == capacity_ ? at_least_zero(item.int_or("first", 0)) : written_;
  position_ = saved_position_ = at_least_zero(item.int_or("position", 0));
  table_id_ = item.string_or("tableId");
  if (const Value* counts = item.find("counts"); counts && counts->get_if<Map>()) {
    for (const auto& [reason, count] : *counts->get_if<Map>()) {
      if (const auto* n = count.get_if<Decimal>()) counts_[reason] = at_least_zero(n->floor_int64());
    }
  }
  co_return Result<void>();
}

// Replaces no head that was made after it.
PutItemInput ShedLog::head() {
  PutItemInput put;
  put.table = kQueueStates;
  put.unhurried = true;
  put.rising = kHeads;
  put.item = queue_state_key(queue_, kHead);
  put.item.set("capacity", count_value(capacity_));
  if (first_ > 0) put.item.set("first", count_value(first_));
  put.item.set(std::string(kHeads), count_value(++heads_));
  put.item.set("position", count_value(position_));
  if (!table_id_.empty()) put.item.set("tableId", Value(table_id_));
  put.item.set("written", count_value(written_));
  Map counts;
  for (const auto& [reason, count] : counts_) counts.set(reason, count_value(count));
  put.item.set("counts", Value(std::move(counts)));
  return put;
}

// Makes one item of `lines`, which are alike; `last` is the number of the last line. The item is in the slot of the
// last line, so it is overwritten only when all its lines are.
PutItemInput ShedLog::put_of(std::span<ShedLine> lines, uint64_t last) const {
  PutItemInput put;
  put.table = kQueueStates;
  put.unhurried = true;
  put.item = queue_state_key(queue_, static_cast<int64_t>(last % capacity_));
  auto& line = lines[0];
  if (lines.size() == 1) {
    put.item.set("ageMs", Value::number(line.age.count()));
    if (!line.task.empty()) put.item.set("taskId", Value(std::move(line.task)));
  } else {
    List ages;
    List tasks;
    ages.elements.reserve(lines.size());
    tasks.elements.reserve(lines.size());
    for (auto& one : lines) {
      ages.elements.push_back(Value::number(one.age.count()));
      tasks.elements.emplace_back(std::move(one.task));
    }
    put.item.set(std::string(kAges), Value(std::move(ages)));
    put.item.set(std::string(kTasks), Value(std::move(tasks)));
  }
  put.item.set("at", Value::number(epoch_ms(line.at)));
  put.item.set("by", Value(std::move(line.by)));
  put.item.set("depth", count_value(line.depth));
  put.item.set("number", count_value(last));
  put.item.set("policy", Value(std::move(line.policy)));
  put.item.set("reason", Value(std::move(line.reason)));
  if (!line.state.empty()) put.item.set("state", Value(std::move(line.state)));
  if (line.count > 1) set_count(put.item, line);
  put.item.set("what", Value(std::move(line.what)));
  return put;
}

Async<Result<void>> ShedLog::add(std::vector<ShedLine> lines, std::optional<uint64_t> position) {
  if (position) position_ = *position;
  std::vector<WriteInput> writes;
  for (const auto& line : lines) {
    if (line.what == "shed") ++counts_[line.reason];
  }
  // The first lines would be overwritten at once if there are more than the ring holds.
  std::span<ShedLine> left(lines);
  if (left.size() > capacity_) left = left.last(capacity_);
  uint64_t next = written_ + lines.size() - left.size();
  written_ += lines.size();
  while (!left.empty()) {
    const size_t count = lines_together(left);
    next += count;
    writes.emplace_back(put_of(left.first(count), next - 1));
    left = left.subspan(count);
  }
  auto work = write(std::move(writes));
  auto written = co_await work;
  co_return written;
}

uint64_t ShedLog::place(std::optional<uint64_t> before) {
  const bool is_kept = before && *before >= first_ && written_ - *before <= capacity_;
  return is_kept ? *before : written_++;
}

Async<Result<void>> ShedLog::put(ShedLine line, uint64_t place) {
  std::vector<WriteInput> writes;
  writes.emplace_back(put_of(std::span(&line, 1), place));
  auto work = write(std::move(writes));
  auto written = co_await work;
  co_return written;
}

// Writes the head, too.
Async<Result<void>> ShedLog::write(std::vector<WriteInput> writes) {
  const auto saving = position_;
  writes.emplace_back(head());
  auto answers = co_await tables_.write_many(std::move(writes));
  for (auto& answer : answers) {
    if (!answer && !is_newer_there(answer.error())) co_return fail(answer.error());
  }
  saved_position_ = saving;
  co_return Result<void>();
}

void ShedLog::count_for(const std::string& table_id) {
  if (table_id == table_id_) return;
  if (!table_id_.empty()) counts_.clear();
  table_id_ = table_id;
}

Async<Result<void>> ShedLog::save() {
  if (position_ == saved_position_) co_return Result<void>();
  auto position = position_;
  auto put = head();
  auto answer = co_await tables_.put_item(std::move(put));
  if (!answer && !is_newer_there(answer.error())) co_return fail(answer.error());
  saved_position_ = position;
  co_return Result<void>();
}

Async<Result<std::vector<ItemRef>>> ShedLog::newest(uint32_t limit) {
  return read(limit, {});
}

Async<Result<std::vector<ItemRef>>> ShedLog::about(std::string task) {
  constexpr uint32_t kLooked = 10'000;
  return read(kLooked, std::move(task));
}

// Reads the newest `limit` lines, or those of them about `task`.
Async<Result<std::vector<ItemRef>>> ShedLog::read(uint32_t limit, std::string task) {
  Reading reading{std::max(first_, written_ - std::min<uint64_t>({limit, written_, capacity_})), written_, {}};
  if (reading.oldest >= written_) co_return std::move(reading.lines);
  const auto slot = [this](uint64_t line) { return static_cast<int64_t>(line % capacity_); };
  const int64_t newest = slot(written_ - 1);
  const int64_t oldest = slot(reading.oldest);
  // It reads down from the newest slot, and goes on at the end of the ring if older lines are there.
  std::vector<std::pair<int64_t, int64_t>> ranges;
  if (oldest <= newest) {
    ranges = {{oldest, newest}};
  } else {
    ranges = {{0, newest}, {oldest, int64_t{capacity_} - 1}};
  }
  for (auto [from, to] : ranges) {
    while (from <= to) {
      auto query = slots(from, to, task);
      auto page = co_await tables_.query(std::move(query));
      if (!page) co_return fail(page.error());
      for (const auto& item : page->items) reading.add(item, task);
      if (page->last_evaluated_key.empty()) break;
      to = page->last_evaluated_key.int_or("slot", 0) - 1;
    }
  }
  co_return std::move(reading.lines);
}

QueryInput ShedLog::slots(int64_t from, int64_t to, const std::string& task) const {
  constexpr uint32_t kPage = 1000;
  QueryInput query;
  query.table = kQueueStates;
  query.key_condition = "#q = :q AND slot BETWEEN :a AND :b";
  query.placeholders.names.emplace_back("#q", "queue");
  query.placeholders.values.set(":q", Value(queue_));
  query.placeholders.values.set(":a", Value::number(from));
  query.placeholders.values.set(":b", Value::number(to));
  if (!task.empty()) {
    query.filter = "taskId = :t OR contains(taskIds, :t) OR contains(tasks, :t) OR what = :outage";
    query.placeholders.values.set(":t", Value(task));
    query.placeholders.values.set(":outage", Value(kBounced));
  }
  query.forward = false;
  query.limit = kPage;
  return query;
}

// Adds the wanted lines of an item, newest first. Lines whose slots newer lines have taken are left out: they are older
// than `next` or `oldest` says.
void ShedLog::Reading::add(const ItemRef& stored, const std::string& task) {
  Item item = stored.decode();
  uint64_t number_of_line = at_least_zero(item.int_or("number", 0));
  if (number_of_line >= next || number_of_line < oldest) return;
  const auto ids = elements_of(item, kTasks);
  const auto ages = elements_of(item, kAges);
  if (ids.empty()) {
    next = number_of_line;
    lines.push_back(stored);
    return;
  }
  item.erase(kTasks);
  item.erase(kAges);
  for (size_t i = std::min(ids.size(), ages.size()); i-- > 0 && number_of_line >= oldest; --number_of_line) {
    next = number_of_line;
    const auto* id = ids[i].get_if<std::string>();
    if (id && (task.empty() || *id == task)) {
      item.set("ageMs", ages[i]);
      item.set("number", count_value(number_of_line));
      item.set("taskId", ids[i]);
      lines.push_back(ItemRef::encode(item));
    }
    if (number_of_line == 0) break;
  }
}

}  // namespace freshet
