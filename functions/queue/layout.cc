#include "functions/queue/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "functions/queue/attributes.h"

namespace freshet {

namespace {

constexpr TaskLayout kSampleLayout{attribute::kStatus,
                                   attribute::kCreated,
                                   "task-status-created-index",
                                   "freshet-deadline-index",
                                   "taskStatus = :s",
                                   "taskStatus = :s AND taskCreated <= :t",
                                   "taskStatus = :s AND taskCreated > :t",
                                   0,
                                   false};
// A rank lies between its `taskCreated` and the next millisecond.
constexpr TaskLayout fleet_layout(bool hides_ttl) {
  return {attribute::kPlace,
          attribute::kRank,
          "freshet-place-index",
          "freshet-place-deadline-index",
          "taskPlace = :s",
          "taskPlace = :s AND taskRank < :t",
          "taskPlace = :s AND taskRank >= :t",
          1,
          true,
          hides_ttl};
}
constexpr TaskLayout kFleetLayout = fleet_layout(true);
constexpr TaskLayout kFleetLayoutWithPromptTtl = fleet_layout(false);

using Edit = EditItemInput::Edit;

// In the order of the names, as the store wants them.
void put(EditItemInput& write, std::string_view name, std::optional<Value> value) {
  const auto at =
      std::find_if(write.edits.begin(), write.edits.end(), [&](const Edit& edit) { return edit.name > name; });
  write.edits.insert(at, Edit{name, std::move(value)});
}

// The six decimals of a rank.
uint32_t decimals_of(const ItemRef& task) {
  const auto rank = task.find(attribute::kRank);
  const std::string text = rank && rank->type() == Type::kNumber ? rank->number().to_string() : std::string();
  const size_t point = text.find('.');
  if (point == std::string::npos || text.find_first_of("eE") != std::string::npos) return 0;
  std::string digits = text.substr(point + 1, 6);
  digits.resize(6, '0');
  return static_cast<uint32_t>(std::strtoul(digits.c_str(), nullptr, 10));
}

// Without a rank a `taskTtl` counts for nothing. A task without a time never gets one, and is never served.
bool has_or_gets_rank(const ItemRef& task) {
  return has(task, attribute::kRank) || TaskLayout::is_misranked(task);
}

}  // namespace

const TaskLayout& sample_layout() {
  return kSampleLayout;
}

const TaskLayout& task_layout(Layout wanted, const StoreTraits& traits) {
  if (wanted != Layout::kFleet || traits.immediate) return kSampleLayout;
  return traits.prompt_ttl ? kFleetLayoutWithPromptTtl : kFleetLayout;
}

bool TaskLayout::indexes(std::string_view status) const {
  return !has_places || status != state::kSuccess;
}

std::string_view TaskLayout::place_of(std::string_view status) const {
  return indexes(status) ? status : std::string_view();
}

bool TaskLayout::is_misranked(const ItemRef& task) {
  const auto created = task.find(attribute::kCreated);
  const auto rank = task.find(attribute::kRank);
  if (!created || created->type() != Type::kNumber) return false;
  return !rank || rank->type() != Type::kNumber || rank->number().floor_int64() != created->number().floor_int64();
}

bool TaskLayout::has_its_place(const ItemRef& task) const {
  const auto place = place_of(text_of(task, attribute::kStatus));
  return place.empty() ? !has(task, attribute::kPlace) : text_of(task, attribute::kPlace) == place;
}

bool TaskLayout::is_misplaced(const ItemRef& task) const {
  if (!has_places) return false;
  const auto place = place_of(text_of(task, attribute::kStatus));
  if (!has_its_place(task)) return true;
  return !place.empty() && is_misranked(task);
}

std::string_view TaskLayout::ttl_name(std::string_view status) const {
  return hides_ttl && is_live(status) ? attribute::kTaskTtl : attribute::kTtl;
}

bool TaskLayout::has_wrong_ttl(const ItemRef& task) const {
  const auto right = ttl_name(text_of(task, attribute::kStatus));
  return right == attribute::kTtl ? has_task_ttl(task) : has(task, attribute::kTtl) && has_or_gets_rank(task);
}

void TaskLayout::place(Item& task, uint32_t number) const {
  if (!has_places) return;
  const auto place = place_of(task.string_or(attribute::kStatus));
  if (!place.empty()) task.set(attribute::kPlace, Value(place));
  const int64_t created = task.int_or(attribute::kCreated, 0);
  task.set(attribute::kRank, Value(*Decimal::parse(fmt::format("{}.{:06}", created, number))));
  const Value* ttl = task.find(attribute::kTtl);
  if (ttl == nullptr || ttl_name(task.string_or(attribute::kStatus)) == attribute::kTtl) return;
  task.set(attribute::kTaskTtl, Value(*ttl));
  task.erase(attribute::kTtl);
}

EditItemInput TaskLayout::placed(EditItemInput write) const {
  const auto status = std::find_if(write.edits.begin(), write.edits.end(),
                                   [](const Edit& edit) { return edit.name == attribute::kStatus; });
  const auto* to = status != write.edits.end() && status->value ? status->value->get_if<std::string>() : nullptr;
  if (!to) return write;
  const std::string state = *to;
  return with_place(with_ttl(std::move(write), state), state);
}

// In layout `sample` a task has a `taskTtl` if the layout was `fleet` before. A search may have renamed the ttl since
// the task was read, so a write that ends the task always sets `ttl` itself.
EditItemInput TaskLayout::with_ttl(EditItemInput write, std::string_view to) const {
  if (!hides_ttl && !has_task_ttl(write.seen)) return write;
  const auto name = has_or_gets_rank(write.seen) ? ttl_name(to) : attribute::kTtl;
  const bool ends = name == attribute::kTtl;
  const auto other = ends ? attribute::kTaskTtl : attribute::kTtl;
  const auto had = find_ttl(write.seen);
  const auto edited = std::find_if(write.edits.begin(), write.edits.end(),
                                   [](const Edit& edit) { return edit.name == attribute::kTtl; });
  if (edited != write.edits.end()) {
    auto ttl = std::move(edited->value);
    write.edits.erase(edited);
    put(write, name, std::move(ttl));
  } else if (had && (ends || has(write.seen, attribute::kTtl))) {
    put(write, name, had->decode());
  }
  if (ends ? had.has_value() : has(write.seen, other)) put(write, other, std::nullopt);
  return write;
}

EditItemInput TaskLayout::with_place(EditItemInput write, std::string_view to) const {
  if (!has_places) return write;
  const bool is_set_aside = std::none_of(write.edits.begin(), write.edits.end(),
                                         [](const Edit& edit) { return edit.name == attribute::kUpdated; });
  if (is_set_aside && !has(write.seen, attribute::kPlace)) return write;
  const auto place = place_of(to);
  if (place.empty()) {
    put(write, attribute::kPlace, std::nullopt);
  } else {
    put(write, attribute::kPlace, Value(place));
  }
  if (!is_set_aside && !place.empty() && is_misranked(write.seen)) {
    put(write, attribute::kRank, write.seen.find(attribute::kCreated)->decode());
  }
  return write;
}

uint32_t RankSequence::next(WallTime created) {
  number_ = created == last_ ? std::min(number_ + 1, kMost) : 0;
  last_ = created;
  return number_;
}

void RankSequence::recovered(const ItemRef& task) {
  const WallTime created(milliseconds(int_of(task, attribute::kCreated, 0)));
  if (created < last_) return;
  const uint32_t number = decimals_of(task);
  number_ = created == last_ ? std::max(number_, number) : number;
  last_ = created;
}

}  // namespace freshet
