#include "functions/queue/attributes.h"

#include <algorithm>

namespace freshet {

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

int64_t attempt_of(const ItemRef& task) {
  return std::clamp<int64_t>(int_of(task, attribute::kAttempt, 0), 0, 1'000'000'000);
}

}  // namespace freshet
