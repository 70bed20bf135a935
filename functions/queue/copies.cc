#include "functions/queue/copies.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/crypto.h"
#include "base/limits.h"
#include "functions/queue/attributes.h"

namespace freshet {

namespace {

std::string mark_of(std::string_view batch) {
  return "-copy-" + std::string(batch);
}

std::string id_of_copy(std::string_view id, std::string_view batch) {
  const std::string mark = mark_of(batch);
  return (id.size() + mark.size() <= limits::kMaxPartitionKeyBytes ? std::string(id) : uuid_of(id)) + mark;
}

// Attributes of the task that its creator chose freely. A `cost` that no task can have is one of them.
Map own_attributes(const ItemRef& task, bool has_marks) {
  Map out = task.decode();
  std::vector<std::string> others;
  const bool has_cost = cost_of(task, 0) > 0;
  for (const auto& [name, value] : out) {
    if (is_reserved(name) || (name == attribute::kCost && has_cost) || (has_marks && is_own_mark(name)))
      others.push_back(name);
  }
  for (const auto& name : others) out.erase(name);
  return out;
}

void apply(NewTask& copy, const CopyChanges& changes) {
  const NewTask& to = changes.to;
  if (changes.has("payload")) copy.payload = to.payload;
  if (changes.has("group")) copy.group = to.group;
  if (changes.has("priority")) copy.priority = to.priority;
  if (changes.has("maxAttempts")) copy.max_attempts = to.max_attempts;
  if (changes.has("cost")) copy.cost = to.cost;
  copy.ttl = to.ttl;
  copy.deadline = to.deadline;
  copy.deadline_in = to.deadline_in;
  copy.delay = to.delay;
  if (changes.no_attributes) copy.attributes = {};
  for (const auto& [name, value] : to.attributes) copy.attributes.set(name, value);
  if (to.attributes.contains(attribute::kCost)) copy.cost.reset();
}

}  // namespace

bool is_copy_of_batch(std::string_view id, std::string_view batch) {
  const std::string mark = mark_of(batch);
  return id.size() >= mark.size() && id.substr(id.size() - mark.size()) == mark;
}

NewTask copy_of(const ItemRef& task, std::string_view batch, const CopyChanges& changes, bool has_marks) {
  NewTask copy;
  copy.id = id_of_copy(text_of(task, attribute::kId), batch);
  if (const auto payload = task.find(attribute::kPayload)) copy.payload = payload->decode();
  copy.group = text_of(task, attribute::kGroup);
  copy.priority = static_cast<int>(std::clamp<int64_t>(int_of(task, attribute::kPriority, 0), -100, 100));
  const int64_t attempts = int_of(task, attribute::kMaxAttempts, 0);
  if (attempts > 0) copy.max_attempts = static_cast<int>(std::min<int64_t>(attempts, 1'000'000));
  if (const double cost = cost_of(task, 0); cost > 0) copy.cost = cost;
  copy.attributes = own_attributes(task, has_marks);
  apply(copy, changes);
  return copy;
}

}  // namespace freshet
