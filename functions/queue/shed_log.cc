#include "functions/queue/shed_log.h"

#include <algorithm>

namespace freshet {

namespace {

constexpr int64_t kHead = -1;  // The slot of what is not a line.

Item slot_key(const std::string& queue, int64_t slot) {
  Item key;
  key.set("queue", Value(queue));
  key.set("slot", Value::number(slot));
  return key;
}

Value number(uint64_t n) {
  return Value::number(static_cast<int64_t>(n));
}

uint64_t at_least_zero(int64_t n) {
  return static_cast<uint64_t>(std::max<int64_t>(n, 0));
}

}  // namespace

Async<Result<std::unique_ptr<ShedLog>>> ShedLog::open(Tables& tables, std::string queue, uint32_t capacity) {
  std::string name(kTable);
  auto described = co_await tables.describe_table(name);
  if (!described && described.error().code != ErrorCode::kResourceNotFound) co_return fail(described.error());
  if (!described) {
    TableDefinition definition;
    definition.name = name;
    definition.keys = {{"queue", Type::kString}, KeyAttribute{"slot", Type::kNumber}};
    definition.system = true;
    auto created = co_await tables.create_table(std::move(definition));
    if (!created && created.error().code != ErrorCode::kResourceInUse) co_return fail(created.error());
  }
  std::unique_ptr<ShedLog> log(new ShedLog(tables, std::move(queue), capacity));
  auto loaded = co_await log->load();
  if (!loaded) co_return fail(loaded.error());
  co_return log;
}

Async<Result<void>> ShedLog::load() {
  GetItemInput input;
  input.table = kTable;
  input.key = slot_key(queue_, kHead);
  auto stored = co_await tables_.get_item(std::move(input));
  if (!stored) co_return fail(stored.error());
  if (!*stored) co_return Result<void>();
  Item item = stored->decode();
  // A ring of another size starts over: its lines would lie in the wrong slots.
  if (item.int_or("capacity", 0) == capacity_) written_ = at_least_zero(item.int_or("written", 0));
  position_ = saved_position_ = at_least_zero(item.int_or("position", 0));
  if (const Value* counts = item.find("counts"); counts && counts->get_if<Map>()) {
    for (const auto& [reason, count] : *counts->get_if<Map>()) {
      if (const auto* n = count.get_if<Decimal>()) counts_[reason] = at_least_zero(n->floor_int64());
    }
  }
  co_return Result<void>();
}

PutItemInput ShedLog::head() const {
  PutItemInput put;
  put.table = kTable;
  put.item = slot_key(queue_, kHead);
  put.item.set("capacity", number(capacity_));
  put.item.set("position", number(position_));
  put.item.set("written", number(written_));
  Map counts;
  for (const auto& [reason, count] : counts_) counts.set(reason, number(count));
  put.item.set("counts", Value(std::move(counts)));
  return put;
}

PutItemInput ShedLog::put_of(ShedLine line, uint64_t number_of_line) const {
  PutItemInput put;
  put.table = kTable;
  put.item = slot_key(queue_, static_cast<int64_t>(number_of_line % capacity_));
  put.item.set("ageMs", Value::number(line.age.count()));
  put.item.set("at", Value::number(epoch_ms(line.at)));
  put.item.set("by", Value(std::move(line.by)));
  put.item.set("depth", number(line.depth));
  put.item.set("number", number(number_of_line));
  put.item.set("policy", Value(std::move(line.policy)));
  put.item.set("reason", Value(std::move(line.reason)));
  if (!line.state.empty()) put.item.set("state", Value(std::move(line.state)));
  if (!line.task.empty()) put.item.set("taskId", Value(std::move(line.task)));
  if (line.untold > 0) put.item.set("untold", number(line.untold));
  put.item.set("what", Value(std::move(line.what)));
  return put;
}

Async<Result<void>> ShedLog::add(std::vector<ShedLine> lines) {
  std::vector<WriteInput> writes;
  // Of more lines than the ring holds, the first would be overwritten at once.
  size_t skip = lines.size() > capacity_ ? lines.size() - capacity_ : 0;
  writes.reserve(lines.size() - skip + 1);
  for (size_t i = 0; i < lines.size(); ++i) {
    auto& line = lines[i];
    auto place = written_++;
    if (line.what == "shed") ++counts_[line.reason];
    if (i >= skip) writes.emplace_back(put_of(std::move(line), place));
  }
  auto position = position_;
  writes.emplace_back(head());
  auto answers = co_await tables_.write_many(std::move(writes));
  for (auto& answer : answers) {
    if (!answer) co_return fail(answer.error());
  }
  saved_position_ = position;
  co_return Result<void>();
}

Async<Result<void>> ShedLog::save() {
  if (position_ == saved_position_) co_return Result<void>();
  auto position = position_;
  auto put = head();
  auto answer = co_await tables_.put_item(std::move(put));
  if (!answer) co_return fail(answer.error());
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

// Of the newest `limit` lines all, or those about `task`.
Async<Result<std::vector<ItemRef>>> ShedLog::read(uint32_t limit, std::string task) {
  constexpr uint32_t kPage = 1000;
  std::vector<ItemRef> out;
  auto left = static_cast<uint32_t>(std::min<uint64_t>({limit, written_, capacity_}));
  auto next = static_cast<int64_t>(written_ % capacity_);
  // Down from the newest slot, then down from the ring's end to it; page by page.
  for (auto [from, to] : {std::pair(int64_t{0}, next - 1), std::pair(next, int64_t{capacity_} - 1)}) {
    while (left > 0 && from <= to) {
      QueryInput query;
      query.table = kTable;
      query.key_condition = "#q = :q AND slot BETWEEN :a AND :b";
      query.placeholders.names.emplace_back("#q", "queue");
      query.placeholders.values.set(":q", Value(queue_));
      query.placeholders.values.set(":a", Value::number(from));
      query.placeholders.values.set(":b", Value::number(to));
      if (!task.empty()) {
        query.filter = "taskId = :t";
        query.placeholders.values.set(":t", Value(task));
      }
      query.forward = false;
      query.limit = std::min(left, kPage);
      auto page = co_await tables_.query(std::move(query));
      if (!page) co_return fail(page.error());
      left -= std::min(left, static_cast<uint32_t>(page->scanned));
      for (auto& line : page->items) out.push_back(std::move(line));
      if (page->last_evaluated_key.empty()) break;
      to = page->last_evaluated_key.int_or("slot", 0) - 1;
    }
  }
  co_return out;
}

}  // namespace freshet
