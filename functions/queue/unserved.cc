#include "functions/queue/unserved.h"

#include <algorithm>
#include <string>

#include "base/plain_text.h"
#include "functions/queue/attributes.h"

namespace freshet {

namespace {

bool is_number(const ItemRef& task, std::string_view name) {
  const auto value = task.find(name);
  return value && value->type() == Type::kNumber;
}

bool is_state(std::string_view name) {
  return std::find(state::kAll.begin(), state::kAll.end(), name) != state::kAll.end();
}

// The state that this spelling means; empty: none.
std::string_view meant_by(std::string_view spelt) {
  std::string letters;
  for (const char c : spelt) {
    if (c >= 'a' && c <= 'z') letters += static_cast<char>(c - 'a' + 'A');
    if (c >= 'A' && c <= 'Z') letters += c;
  }
  const auto* found = std::find(state::kAll.begin(), state::kAll.end(), letters);
  return found == state::kAll.end() ? std::string_view() : *found;
}

Reason none_of_ours(std::string_view status, std::string_view meant) {
  std::string names;
  for (const auto name : state::kAll) names.append(names.empty() ? "" : ", ").append(name);
  constexpr size_t kShown = 100;
  return {"unknown-status", "its taskStatus is \"" + plain_text(status.substr(0, kShown)) + "\", which is none of " +
                                names + ": nobody will take it; write " +
                                std::string(meant.empty() ? state::kPending : meant)};
}

}  // namespace

std::optional<Reason> unserved_because(const ItemRef& task) {
  const auto status = text_of(task, attribute::kStatus);
  if (is_live(status) && !is_number(task, attribute::kCreated)) {
    return Reason{"no-created",
                  "its taskCreated is no number: it is in no index, and nobody can take it; write the time in "
                  "milliseconds since 1970"};
  }
  if (status == state::kDelayed && !is_number(task, attribute::kNotBefore)) {
    return Reason{
        "no-not-before",
        "its notBefore is no number: it will never become PENDING; write the time in milliseconds since 1970"};
  }
  if (is_state(status)) return std::nullopt;
  const auto meant = meant_by(status);
  if (meant.empty()) return std::nullopt;
  return none_of_ours(status, meant);
}

std::optional<Reason> unserved_in_any_case(const ItemRef& task) {
  if (auto reason = unserved_because(task)) return reason;
  const auto value = task.find(attribute::kStatus);
  if (!value || value->type() != Type::kString) {
    return Reason{"no-status", "it has no taskStatus that is a string: nobody will take it; write PENDING"};
  }
  const auto status = text_of(task, attribute::kStatus);
  if (is_state(status)) return std::nullopt;
  return none_of_ours(status, {});
}

}  // namespace freshet
