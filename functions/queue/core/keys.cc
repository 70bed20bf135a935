#include "functions/queue/core/keys.h"

#include "base/points.h"
#include "functions/queue/arrows.h"
#include "functions/queue/attributes.h"

namespace freshet {

void Keys::claim_sent(std::string_view key) {
  if (!key.empty()) ++claiming_[std::string(key)];
}

void Keys::claim_answered(std::string_view key) {
  const auto it = claiming_.find(key);
  if (it != claiming_.end() && --it->second == 0) claiming_.erase(it);
}

bool Keys::freed(std::string_view key) {
  const auto passed = passed_.find(key);
  if (passed == passed_.end()) return false;
  passed_.erase(passed);
  return true;
}

bool Keys::passes_over(const ItemRef& task, std::string_view key, bool held) {
  if (key.empty()) return false;
  const bool in_work = held || claiming_.contains(key) || looked_at_.contains(key);
  const bool waits = (in_work && comes_to_replace(task)) || is_replaced(task, key);
  if (waits) FRESHET_REACHED("a task passed over for its key");
  if (waits) passed_.emplace(key);
  return waits;
}

bool Keys::is_replaced(const ItemRef& task, std::string_view key) const {
  const auto known = unreplaced_.find(key);
  if (known == unreplaced_.end()) return false;
  const Unreplaced& left = known->second;
  const std::string id(text_of(task, attribute::kId));
  return left.all ? id != left.by && !left.but.contains(id) : left.ids.contains(id);
}

bool Keys::has_ended(const ItemRef& task, std::string_view key) {
  if (!is_replaced(task, key)) return false;
  FRESHET_REACHED("a task that was to be replaced has ended by itself");
  const auto known = unreplaced_.find(key);
  Unreplaced& left = known->second;
  std::string id(text_of(task, attribute::kId));
  left.ids.erase(id);
  if (left.all) left.but.insert(std::move(id));
  if (left.all || !left.ids.empty()) return false;
  unreplaced_.erase(known);
  return true;
}

std::optional<EditItemInput> Keys::replacement(const std::string& table, const ItemRef& old, const std::string& by,
                                               const KeepTimes& keep, WallTime now, WallTime keep_from) {
  if (text_of(old, attribute::kId) == by) return std::nullopt;
  if (text_of(old, attribute::kStatus) != state::kTaken) {
    return kept(end_waiting(table, old, state::kCancelled, attribute::kReplacedBy, by, now), keep, keep_from);
  }
  if (has(old, attribute::kReplacedBy)) return std::nullopt;
  FRESHET_REACHED("a task in work marked as replaced");
  return mark_replaced(table, old, by, now);
}

Replaced Keys::refused(const ItemRef& old, ErrorCode why, Unreplaced& left) {
  left.ids.emplace(text_of(old, attribute::kId));
  return why == ErrorCode::kConditionalCheckFailed ? Replaced::kMoved : Replaced::kRefused;
}

std::optional<std::string> Keys::replacing(std::string_view key) const {
  const auto known = unreplaced_.find(key);
  return known == unreplaced_.end() ? std::nullopt : std::optional(known->second.by);
}

std::vector<std::string> Keys::unreplaced_keys() const {
  std::vector<std::string> out;
  for (const auto& entry : unreplaced_) out.push_back(entry.first);
  return out;
}

bool Keys::may_replace_again() {
  if (unreplaced_.empty() || replacing_again_) return false;
  replacing_again_ = true;
  return true;
}

void Keys::table_lost() {
  passed_.clear();
  unreplaced_.clear();
}

}  // namespace freshet
