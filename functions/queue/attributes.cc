#include "functions/queue/attributes.h"

#include <algorithm>
#include <charconv>

#include "runtime/api/task_cost.h"

namespace freshet {

bool is_reserved(std::string_view name) {
  return std::find(attribute::kReserved.begin(), attribute::kReserved.end(), name) != attribute::kReserved.end();
}

bool is_own_mark(std::string_view name) {
  return std::find(attribute::kOwnMarks.begin(), attribute::kOwnMarks.end(), name) != attribute::kOwnMarks.end();
}

bool is_live(std::string_view status) {
  return status == state::kPending || status == state::kDelayed || status == state::kTaken;
}

std::string_view key_of(const ItemRef& task) {
  auto key = text_of(task, attribute::kKey);
  return key.size() <= kMaxKeyBytes ? key : std::string_view();
}

bool comes_to_replace(const ItemRef& task) {
  const auto value = task.find(attribute::kReplace);
  return value && value->type() == Type::kBool && *value->decode().get_if<bool>();
}

std::string_view text_of(const ItemRef& task, std::string_view name) {
  auto value = task.find(name);
  return value && value->type() == Type::kString ? value->bytes() : std::string_view();
}

int64_t int_of(const ItemRef& task, std::string_view name, int64_t fallback) {
  auto value = task.find(name);
  return value && value->type() == Type::kNumber ? value->number().floor_int64() : fallback;
}

bool has(const ItemRef& task, std::string_view name) {
  return task.find(name).has_value();
}

bool has_task_ttl(const ItemRef& task) {
  return has(task, attribute::kTaskTtl) && has(task, attribute::kRank);
}

std::optional<ValueView> find_ttl(const ItemRef& task) {
  auto ttl = task.find(attribute::kTtl);
  if (!ttl && has_task_ttl(task)) ttl = task.find(attribute::kTaskTtl);
  return ttl;
}

int64_t ttl_of(const ItemRef& task) {
  const auto ttl = find_ttl(task);
  return ttl && ttl->type() == Type::kNumber ? ttl->number().floor_int64() : 0;
}

bool has_queue_ttl(const ItemRef& task) {
  const auto given = int_of(task, attribute::kQueueTtl, 0);
  return given > 0 && ttl_of(task) == given;
}

bool keeps_own_ttl(const ItemRef& task) {
  return find_ttl(task) && !has_queue_ttl(task);
}

double cost_of(const ItemRef& task, double fallback) {
  const auto value = task.find(attribute::kCost);
  if (!value || value->type() != Type::kNumber) return fallback;
  const auto text = value->number().to_string();
  double cost = 0;
  std::from_chars(text.data(), text.data() + text.size(), cost);
  return is_cost(cost) ? cost : fallback;
}

int64_t attempt_of(const ItemRef& task) {
  return std::clamp<int64_t>(int_of(task, attribute::kAttempt, 0), 0, 1'000'000'000);
}

}  // namespace freshet
