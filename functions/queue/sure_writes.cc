#include "functions/queue/sure_writes.h"

#include <algorithm>
#include <utility>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/own_write.h"
#include "tables/traits.h"

namespace freshet {

namespace {

constexpr milliseconds kFirstPause{20};  // The first pause between two looks; it doubles each time.

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

// True if the task already has what a refused write wanted: an earlier call made the same settlement, or a newer
// heartbeat came.
void accept_what_is_there(const EditItemInput& write, Result<WriteOutput>& answer) {
  const auto failed = answer ? nullptr : std::dynamic_pointer_cast<const ConditionFailed>(answer.error().detail);
  if (!failed || !failed->item) return;
  const auto [lease, end] = claim_end(write);
  const bool is_done =
      is_heartbeat(write) ? fate_of(write, failed->item) == Fate::kDone : ended_so(failed->item, lease, end);
  if (is_done && !FRESHET_PLANTED("fleet-own-settle-taken-for-foreign")) answer = WriteOutput{failed->item, nullptr};
}

}  // namespace

SureWrites::SureWrites(Tables& tables, Scheduler& scheduler, std::string writer, const TaskLayout& layout)
    : tables_(tables),
      scheduler_(scheduler),
      immediate_(tables.traits().immediate),
      writer_(std::move(writer) + ":w"),
      layout_(layout) {}

Async<std::vector<Result<WriteOutput>>> SureWrites::edit(std::vector<EditItemInput> writes, Ends ends,
                                                         milliseconds patience) {
  if (immediate_) return tables_.edit_many(std::move(writes));
  return edit_late(std::move(writes), std::move(ends), Limits{patience});
}

Async<std::vector<Result<WriteOutput>>> SureWrites::edit_alike(EditItemInput write, std::vector<ItemRef> seen) {
  if (immediate_) return tables_.edit_alike(std::move(write), std::move(seen));
  std::vector<EditItemInput> writes(seen.size(), write);
  for (size_t i = 0; i < seen.size(); ++i) writes[i].seen = std::move(seen[i]);
  return edit_late(std::move(writes), {}, Limits{kHurry});
}

Async<std::vector<Result<WriteOutput>>> SureWrites::claim(std::vector<EditItemInput> writes, milliseconds patience) {
  if (immediate_) return tables_.edit_many(std::move(writes));
  return edit_late(std::move(writes), {}, Limits{patience, true});
}

Async<std::vector<Result<WriteOutput>>> SureWrites::create(std::vector<WriteInput> puts) {
  if (immediate_) return tables_.write_many(std::move(puts));
  for (auto& put : puts) put = recognisable(std::move(put), token());
  return write(std::move(puts), &Tables::write_many, Limits{kPatience});
}

Async<std::vector<Result<WriteOutput>>> SureWrites::edit_late(std::vector<EditItemInput> writes, Ends ends,
                                                              Limits limits) {
  for (size_t i = 0; i < writes.size(); ++i) {
    writes[i] = layout_.placed(std::move(writes[i]));
    writes[i] = recognisable(std::move(writes[i]), token(), i < ends.size() ? ends[i] : std::string_view());
  }
  auto sent = writes;
  auto answers = co_await write(std::move(sent), &Tables::edit_many, limits);
  for (size_t i = 0; i < answers.size(); ++i) accept_what_is_there(writes[i], answers[i]);
  co_return answers;
}

// Sends the writes, and looks at the tasks of those that were not answered.
template <class Input>
Async<std::vector<Result<WriteOutput>>> SureWrites::write(std::vector<Input> writes, Call<Input> call, Limits limits) {
  auto sent = writes;
  auto sending = (tables_.*call)(std::move(sent));
  auto answers = co_await sending;
  std::vector<size_t> unknown;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (is_unknown(answers[i]) && FRESHET_PLANTED("fleet-unknown-taken-for-refusal")) answers[i] = overtaken({});
    if (is_unknown(answers[i])) unknown.push_back(i);
  }
  const auto is_done = [](const Result<WriteOutput>& answer) { return answer.has_value(); };
  const BootTime answered = scheduler_.clock().boot();
  BootTime end = answered + limits.patience;
  for (milliseconds pause = kFirstPause; !unknown.empty(); pause *= 2) {
    std::vector<GetItemInput> reads;
    for (const size_t i : unknown) reads.push_back(read_of(writes[i]));
    const auto found = co_await tables_.read_many(std::move(reads));
    auto looked = look(writes, unknown, found, answers);
    unknown = std::move(looked.unread);
    if (!looked.not_done.empty()) {
      std::vector<Input> again;
      for (const size_t i : looked.not_done) again.push_back(writes[i]);
      auto sending_again = (tables_.*call)(std::move(again));
      auto more = co_await sending_again;
      for (size_t k = 0; k < more.size(); ++k) {
        const size_t i = looked.not_done[k];
        // If it is refused now, an earlier sending may be the reason, or may still be carried out. So look again.
        if (more[k] || more[k].error().code == ErrorCode::kValidation) {
          answers[i] = std::move(more[k]);
        } else {
          unknown.push_back(i);
        }
      }
    }
    const BootTime now = scheduler_.clock().boot();
    const bool hurry = limits.hurries_once_one_is_done && std::any_of(answers.begin(), answers.end(), is_done);
    if (hurry) end = std::min(end, answered + kHurry);
    if (unknown.empty() || now >= end) break;
    co_await sleep_for(scheduler_, std::min<nanoseconds>(pause, end - now));
  }
  co_return answers;
}

// Answers those of `unknown` whose fate follows from what was found. If nothing can ever show it, the answer stays
// kUnknownOutcome.
template <class Input>
SureWrites::Looked SureWrites::look(const std::vector<Input>& writes, const std::vector<size_t>& unknown,
                                    const std::vector<Result<ReadOutput>>& found,
                                    std::vector<Result<WriteOutput>>& answers) {
  Looked out;
  for (size_t k = 0; k < unknown.size(); ++k) {
    const size_t i = unknown[k];
    if (!found[k]) {
      FRESHET_REACHED("a look for a write has no answer");
      out.unread.push_back(i);
      continue;
    }
    const ItemRef& now = found[k]->item;
    switch (fate_of(writes[i], now)) {
      case Fate::kDone:
        FRESHET_REACHED("a write without an answer was done");
        answers[i] = WriteOutput{now, nullptr};
        break;
      case Fate::kOvertaken:
        FRESHET_REACHED("a write without an answer was overtaken");
        answers[i] = overtaken(now);
        if (FRESHET_PLANTED("fleet-overtaken-taken-for-done")) answers[i] = WriteOutput{now, nullptr};
        break;
      case Fate::kNotDone:
        if (FRESHET_PLANTED("fleet-lost-write-taken-for-done")) {
          answers[i] = WriteOutput{now, nullptr};
          break;
        }
        FRESHET_REACHED("a write without an answer is sent again");
        out.not_done.push_back(i);
        break;
      case Fate::kUnknown:
        FRESHET_REACHED("nothing shows what became of a write");
        break;
    }
  }
  return out;
}

}  // namespace freshet
