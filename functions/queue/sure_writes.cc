#include "functions/queue/sure_writes.h"

#include <utility>

#include "functions/queue/attributes.h"
#include "functions/queue/own_write.h"
#include "tables/traits.h"

namespace freshet {

namespace {

constexpr int kLooks = 8;                // Together some seconds.
constexpr milliseconds kFirstPause{20};  // Doubled from look to look.
constexpr size_t kMaxUnknown = 10'000;

bool is_unknown(const Result<WriteOutput>& answer) {
  return !answer && answer.error().code == ErrorCode::kUnknownOutcome;
}

tl::unexpected<Error> overtaken(ItemRef now) {
  auto detail = std::make_shared<ConditionFailed>();
  detail->item = std::move(now);
  return fail(ErrorCode::kConditionalCheckFailed, "The conditional request failed", std::move(detail));
}

GetItemInput by_key(const std::string& table, Value id) {
  GetItemInput get;
  get.table = table;
  get.key.set(attribute::kId, std::move(id));
  return get;
}

GetItemInput read_of(const EditItemInput& write) {
  return by_key(write.table, Value(text_of(write.seen, attribute::kId)));
}

GetItemInput read_of(const WriteInput& write) {
  const auto& put = std::get<PutItemInput>(write);
  return by_key(put.table, *put.item.find(attribute::kId));
}

Fate fate(const EditItemInput& write, const ItemRef& now) {
  return fate_of(write, now);
}

Fate fate(const WriteInput& write, const ItemRef& now) {
  return fate_of(std::get<PutItemInput>(write), now);
}

}  // namespace

SureWrites::SureWrites(Tables& tables, Scheduler& scheduler)
    : tables_(tables), scheduler_(scheduler), immediate_(tables.traits().immediate) {}

Async<std::vector<Result<WriteOutput>>> SureWrites::edit(std::vector<EditItemInput> writes) {
  if (immediate_) return tables_.edit_many(std::move(writes));
  return edit_late(std::move(writes));
}

Async<std::vector<Result<WriteOutput>>> SureWrites::edit_alike(EditItemInput write, std::vector<ItemRef> seen) {
  if (immediate_) return tables_.edit_alike(std::move(write), std::move(seen));
  std::vector<EditItemInput> writes(seen.size(), write);
  for (size_t i = 0; i < seen.size(); ++i) writes[i].seen = std::move(seen[i]);
  return edit_late(std::move(writes));
}

Async<std::vector<Result<WriteOutput>>> SureWrites::create(std::vector<WriteInput> puts) {
  if (immediate_) return tables_.write_many(std::move(puts));
  return write(std::move(puts), &Tables::write_many);
}

Async<std::vector<Result<WriteOutput>>> SureWrites::edit_late(std::vector<EditItemInput> writes) {
  for (auto& one : writes) one = recognisable(std::move(one));
  auto sent = writes;
  auto answers = co_await write(std::move(sent), &Tables::edit_many);
  for (size_t i = 0; i < answers.size(); ++i) remember(writes[i], answers[i]);
  co_return answers;
}

// Sends the writes, and looks for those whose answer never came.
template <class Input>
Async<std::vector<Result<WriteOutput>>> SureWrites::write(std::vector<Input> writes, Call<Input> call) {
  auto sent = writes;
  auto sending = (tables_.*call)(std::move(sent));
  auto answers = co_await sending;
  std::vector<size_t> unknown;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (is_unknown(answers[i])) unknown.push_back(i);
  }
  milliseconds pause = kFirstPause;
  for (int looks = 0; looks < kLooks && !unknown.empty(); ++looks) {
    if (looks > 0) co_await sleep_for(scheduler_, std::exchange(pause, 2 * pause));
    std::vector<GetItemInput> reads;
    for (const size_t i : unknown) reads.push_back(read_of(writes[i]));
    const auto found = co_await tables_.read_many(std::move(reads));
    auto looked = look(writes, unknown, found, answers);
    unknown = std::move(looked.unread);
    if (looked.not_done.empty()) continue;
    std::vector<Input> again;
    for (const size_t i : looked.not_done) again.push_back(writes[i]);
    auto sending_again = (tables_.*call)(std::move(again));
    auto more = co_await sending_again;
    for (size_t k = 0; k < more.size(); ++k) {
      const size_t i = looked.not_done[k];
      // If it is refused now, an earlier sending may be why, or may still be carried out: look again.
      if (more[k] || more[k].error().code == ErrorCode::kValidation) {
        answers[i] = std::move(more[k]);
      } else {
        unknown.push_back(i);
      }
    }
  }
  co_return answers;
}

// Answers those of `unknown` whose fate can be told by what was found.
template <class Input>
SureWrites::Looked SureWrites::look(const std::vector<Input>& writes, const std::vector<size_t>& unknown,
                                    const std::vector<Result<ReadOutput>>& found,
                                    std::vector<Result<WriteOutput>>& answers) {
  Looked out;
  for (size_t k = 0; k < unknown.size(); ++k) {
    const size_t i = unknown[k];
    if (!found[k]) {
      out.unread.push_back(i);
      continue;
    }
    const ItemRef& now = found[k]->item;
    switch (fate(writes[i], now)) {
      case Fate::kDone:
        answers[i] = WriteOutput{now, nullptr};
        break;
      case Fate::kOvertaken:
        answers[i] = overtaken(now);
        break;
      case Fate::kNotDone:
        out.not_done.push_back(i);
        break;
    }
  }
  return out;
}

void SureWrites::remember(const EditItemInput& write, Result<WriteOutput>& answer) {
  const auto failed = answer ? nullptr : std::dynamic_pointer_cast<const ConditionFailed>(answer.error().detail);
  const ItemRef now = failed ? failed->item : ItemRef();
  // Another one was faster, and the task is held all the same.
  if (now && is_heartbeat(write) && fate_of(write, now) == Fate::kDone) answer = WriteOutput{now, nullptr};
  const auto lease = lease_ended_by(write);
  if (lease.empty()) return;
  if (is_unknown(answer)) {
    if (unknown_.size() >= kMaxUnknown) unknown_.clear();
    unknown_.insert(std::string(lease));
  } else if (!answer && unknown_.contains(std::string(lease))) {
    if (ended_the_same(write, now)) answer = WriteOutput{now, nullptr};
  }
}

}  // namespace freshet
