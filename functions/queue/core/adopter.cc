#include "functions/queue/core/adopter.h"

#include <algorithm>
#include <utility>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/expiry.h"

namespace freshet {

namespace {

// Makes an update of attributes that hold no state, on the condition that the task is as it was read.
class Touch {
 public:
  Touch(const std::string& table, const ItemRef& task) : task_(task) {
    input_.table = table;
    input_.key.set(attribute::kId, Value(text_of(task, attribute::kId)));
    input_.cause = Cause::kQueue;
    unchanged(attribute::kStatus, ":s");
  }

  // `was` and `becomes` name the placeholders.
  void set(std::string_view name, Value value, const char* was, const char* becomes) {
    unchanged(name, was);
    sets_.append(sets_.empty() ? "SET " : ", ").append(word(name)).append(" = ").append(becomes);
    input_.placeholders.values.set(becomes, std::move(value));
  }
  void remove(std::string_view name, const char* was) {
    unchanged(name, was);
    removes_.append(removes_.empty() ? " REMOVE " : ", ").append(word(name));
  }

  // A condition: the attribute is as it was read.
  void unchanged(std::string_view name, const char* was) {
    if (!input_.condition.empty()) input_.condition += " AND ";
    if (auto seen = task_.find(name)) {
      input_.condition.append(word(name)).append(" = ").append(was);
      input_.placeholders.values.set(was, seen->decode());
    } else {
      input_.condition.append("attribute_not_exists(").append(word(name)).append(")");
    }
  }

  std::optional<UpdateItemInput> finish() && {
    if (sets_.empty() && removes_.empty()) return std::nullopt;
    input_.update = sets_ + removes_;
    return std::move(input_);
  }

 private:
  // The attribute in an expression. Expressions have TTL as a word of their own.
  std::string_view word(std::string_view name) {
    if (name != attribute::kTtl) return name;
    input_.placeholders.names = {{"#ttl", std::string(name)}};
    return "#ttl";
  }

  const ItemRef& task_;
  UpdateItemInput input_;
  std::string sets_;
  std::string removes_;
};

void give_place(Touch& touch, const TaskLayout& layout, const ItemRef& task) {
  const auto place = layout.place_of(text_of(task, attribute::kStatus));
  if (!place.empty()) {
    touch.set(attribute::kPlace, Value(place), ":p", ":q");
  } else if (has(task, attribute::kPlace)) {
    touch.remove(attribute::kPlace, ":p");
  }
  if (place.empty() || !TaskLayout::is_misranked(task)) return;
  touch.unchanged(attribute::kCreated, ":c");
  touch.set(attribute::kRank, task.find(attribute::kCreated)->decode(), ":r", ":x");
}

// A client that writes a `ttl` means it, whatever the task had before.
void rename_ttl(Touch& touch, const TaskLayout& layout, const ItemRef& task) {
  const auto right = layout.ttl_name(text_of(task, attribute::kStatus));
  touch.set(right, find_ttl(task)->decode(), ":t", ":u");
  touch.remove(right == attribute::kTtl ? attribute::kTaskTtl : attribute::kTtl, ":w");
}

}  // namespace

bool Adopter::needs_adoption(const ItemRef& task, bool lacks_lane) const {
  const auto status = text_of(task, attribute::kStatus);
  if (lacks_lane || (status != state::kPending && has(task, attribute::kLane))) return true;
  const auto key = is_live(status) ? key_of(task) : std::string_view();
  return key != text_of(task, attribute::kLiveKey) || layout_->needs_correction(task);
}

std::optional<UpdateItemInput> Adopter::adoption(const ItemRef& task, bool lacks_lane,
                                                 std::string_view known_lane) const {
  const auto status = text_of(task, attribute::kStatus);
  Touch touch(table_, task);
  if (lacks_lane) {
    if (!known_lane.empty() && known_lane != text_of(task, attribute::kLane)) {
      touch.set(attribute::kLane, Value(known_lane), ":l", ":m");
    }
  } else if (status != state::kPending && has(task, attribute::kLane)) {
    touch.remove(attribute::kLane, ":l");
  }
  const auto key = is_live(status) ? key_of(task) : std::string_view();
  if (key.empty() && has(task, attribute::kLiveKey)) {
    touch.remove(attribute::kLiveKey, ":k");
  } else if (!key.empty() && text_of(task, attribute::kLiveKey) != key) {
    touch.set(attribute::kLiveKey, Value(key), ":k", ":n");
  }
  if (layout_->is_misplaced(task)) give_place(touch, *layout_, task);
  if (layout_->has_wrong_ttl(task)) rename_ttl(touch, *layout_, task);
  return std::move(touch).finish();
}

std::optional<EditItemInput> Adopter::times_for(const ItemRef& task, bool is_new, WallTime from) const {
  const bool may_date = is_new && settings_.default_deadline && !has(task, attribute::kDeadline);
  if (!may_date && settings_.keep.is_empty()) return std::nullopt;
  const auto status = text_of(task, attribute::kStatus);
  EditItemInput edit;
  edit.table = table_;
  edit.seen = task;
  edit.cause = Cause::kQueue;
  if (may_date && (status == state::kPending || status == state::kDelayed)) {
    const int64_t now_ms = epoch_ms(from);
    const int64_t starts =
        status == state::kDelayed ? std::max(now_ms, int_of(task, attribute::kNotBefore, now_ms)) : now_ms;
    constexpr int64_t kLast = 253'402'300'799'999;  // The end of the year 9999.
    const int64_t deadline = std::min(starts, kLast) + settings_.default_deadline->count();
    edit.edits.push_back({attribute::kDeadline, Value::number(deadline)});
    edit.unchanged = {attribute::kStatus, attribute::kDeadline};
    return edit;
  }
  const auto time = settings_.keep.of(status);
  if (!time || keeps_own_ttl(task)) return std::nullopt;
  const int64_t ttl = epoch_s(stored_ttl(from, *time));
  edit.edits.push_back({attribute::kQueueTtl, Value::number(ttl)});
  edit.edits.push_back({attribute::kTtl, Value::number(ttl)});
  edit.unchanged = {attribute::kStatus, attribute::kTtl};
  return edit;
}

bool Adopter::begin_walk() {
  if (!std::exchange(walking_, true)) return true;
  again_ = true;
  return false;
}

}  // namespace freshet
