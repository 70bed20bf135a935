#include "functions/queue/copies.h"

#include <algorithm>
#include <string>
#include <utility>

#include "functions/queue/attributes.h"

namespace freshet {

namespace {

std::string mark_of(uint64_t job) {
  return "-copy-" + std::to_string(job);
}

// Attributes of the task that its creator chose freely. One that is named `cost` and is none is such an attribute.
Map own_attributes(const ItemRef& task) {
  Map out = task.decode();
  std::vector<std::string> others;
  const bool has_marks = has(task, attribute::kBorn);
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
  for (const auto& [name, value] : to.attributes) copy.attributes.set(name, value);
}

}  // namespace

bool is_copy_by(std::string_view id, uint64_t job) {
  const std::string mark = mark_of(job);
  return id.size() >= mark.size() && id.substr(id.size() - mark.size()) == mark;
}

NewTask copy_of(const ItemRef& task, uint64_t job, const CopyChanges& changes) {
  NewTask copy;
  copy.id = std::string(text_of(task, attribute::kId)) + mark_of(job);
  if (const auto payload = task.find(attribute::kPayload)) copy.payload = payload->decode();
  copy.group = text_of(task, attribute::kGroup);
  copy.priority = static_cast<int>(std::clamp<int64_t>(int_of(task, attribute::kPriority, 0), -100, 100));
  const int64_t attempts = int_of(task, attribute::kMaxAttempts, 0);
  if (attempts > 0) copy.max_attempts = static_cast<int>(std::min<int64_t>(attempts, 1'000'000));
  if (const double cost = cost_of(task, 0); cost > 0) copy.cost = cost;
  copy.attributes = own_attributes(task);
  apply(copy, changes);
  return copy;
}

}  // namespace freshet
