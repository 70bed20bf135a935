// Tasks that clients put lack what Freshet itself gives a task: its lane (in a queue with lanes), and the `liveKey` by
// which its `key` is found. They get it when the stream shows them; those that were there before the queue followed its
// stream, or before it had lanes, get it in the background, newest first. What is wrong (a lane that there is not, the
// lane or liveKey of a task that a client ended) is put right the same way, so that nothing stands in the way of others
// or waits for ever.
#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"
#include "functions/queue/queue.h"

namespace freshet {

namespace {

constexpr uint32_t kStep = 1000;  // Tasks looked at before others get their turn.

// An update of attributes that hold no state, under what was seen of the task.
class Touch {
 public:
  Touch(const std::string& table, const ItemRef& task) : task_(task) {
    input_.table = table;
    input_.key.set(attribute::kId, Value(text_of(task, attribute::kId)));
    input_.cause = Cause::kQueue;
    unchanged(attribute::kStatus, ":s");
  }

  // `was` and `becomes` name the placeholders.
  void set(std::string_view name, std::string_view value, const char* was, const char* becomes) {
    unchanged(name, was);
    sets_.append(sets_.empty() ? "SET " : ", ").append(name).append(" = ").append(becomes);
    input_.placeholders.values.set(becomes, Value(value));
  }
  void remove(std::string_view name, const char* was) {
    unchanged(name, was);
    removes_.append(removes_.empty() ? " REMOVE " : ", ").append(name);
  }

  std::optional<UpdateItemInput> finish() && {
    if (sets_.empty() && removes_.empty()) return std::nullopt;
    input_.update = sets_ + removes_;
    return std::move(input_);
  }

 private:
  void unchanged(std::string_view name, const char* was) {
    if (!input_.condition.empty()) input_.condition += " AND ";
    if (auto seen = task_.find(name)) {
      input_.condition.append(name).append(" = ").append(was);
      input_.placeholders.values.set(was, seen->decode());
    } else {
      input_.condition.append("attribute_not_exists(").append(name).append(")");
    }
  }

  const ItemRef& task_;
  UpdateItemInput input_;
  std::string sets_;
  std::string removes_;
};

}  // namespace

std::optional<UpdateItemInput> Queue::adoption(const ItemRef& task) const {
  auto status = text_of(task, attribute::kStatus);
  Touch touch(table_, task);
  if (lanes_.lacks(task)) {
    auto lane = lanes_.known_for(task);
    if (!lane.empty() && lane != text_of(task, attribute::kLane)) touch.set(attribute::kLane, lane, ":l", ":m");
  } else if (status != state::kPending && has(task, attribute::kLane)) {
    touch.remove(attribute::kLane, ":l");
  }
  auto key = is_live(status) ? key_of(task) : std::string_view();
  if (key.empty() && has(task, attribute::kLiveKey)) {
    touch.remove(attribute::kLiveKey, ":k");
  } else if (!key.empty() && text_of(task, attribute::kLiveKey) != key) {
    touch.set(attribute::kLiveKey, key, ":k", ":n");
  }
  return std::move(touch).finish();
}

// Cheap: for every record of the stream.
bool Queue::needs_adoption(const ItemRef& task) const {
  auto status = text_of(task, attribute::kStatus);
  if (lanes_.lacks(task) || (status != state::kPending && has(task, attribute::kLane))) return true;
  auto key = is_live(status) ? key_of(task) : std::string_view();
  return key != text_of(task, attribute::kLiveKey);
}

Async<void> Queue::adopt_one(ItemRef task) {
  std::vector<ItemRef> one{std::move(task)};
  const bool given = co_await adopt(std::move(one));
  if (given) wake();
}

// True if a PENDING task got its lane, or is in one that was not known.
Async<bool> Queue::adopt(std::vector<ItemRef> tasks) {
  std::vector<std::string> names;
  const size_t known_before = lanes_.size();
  for (const auto& task : tasks) {
    if (lanes_.lacks(task)) names.push_back(lanes_.asked_by(task));
  }
  if (!names.empty()) {
    // Whatever the error is, only the names that are known by now matter.
    const auto known = co_await add_lanes(std::move(names));
    if (!known && known.error().code != ErrorCode::kLimitExceeded) adopt_again_ = true;
  }
  std::vector<WriteInput> writes;
  std::vector<ItemRef> written;
  for (auto& task : tasks) {
    auto update = adoption(task);
    if (!update) continue;
    writes.emplace_back(std::move(*update));
    written.push_back(std::move(task));
  }
  bool any = lanes_.size() > known_before;  // Of tasks that have their lane already, after a restart.
  if (writes.empty()) co_return any;
  auto answers = co_await services_.tables.write_many(std::move(writes));
  for (size_t i = 0; i < answers.size(); ++i) {
    bool pending = text_of(written[i], attribute::kStatus) == state::kPending;
    if (answers[i]) {
      if (!pending || lanes_.empty()) continue;
      lanes_.shares().filled(lanes_.known_for(written[i]), lanes_.place_of(written[i]));
      any = true;
    } else if (answers[i].error().code == ErrorCode::kValidation) {
      // It has no room for its lane, so it could never be taken.
      if (pending) scope_.spawn(set_aside(written[i], std::move(answers[i].error().message)));
    } else if (answers[i].error().code != ErrorCode::kConditionalCheckFailed) {
      adopt_again_ = true;  // The store is full, or away for a moment.
    }
  }
  co_return any;
}

// All that wait or are held.
Async<void> Queue::adopt_all() {
  if (std::exchange(adopting_all_, true)) {
    adopt_again_ = true;
    co_return;
  }
  for (auto status : {state::kPending, state::kDelayed, state::kTaken}) {
    Item start;
    do {
      QueryInput query;
      query.table = table_;
      query.index = index_;
      query.key_condition = "taskStatus = :s";
      query.placeholders.values.set(":s", Value(status));
      query.forward = settings_.order == Order::kOldestFirst;
      query.limit = kStep;
      query.exclusive_start_key = std::move(start);
      auto page = co_await read_index(std::move(query));
      if (!page) {
        adopt_again_ = true;
        break;
      }
      std::erase_if(page->items, [this](const ItemRef& task) { return !needs_adoption(task); });
      start = std::move(page->last_evaluated_key);
      if (!page->items.empty()) {
        auto given = co_await adopt(std::move(page->items));
        if (given) wake();
      }
      if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
    } while (!start.empty());
  }
  adopting_all_ = false;
}

}  // namespace freshet
