#include "functions/queue/policy/where.h"

#include <algorithm>
#include <array>

#include "functions/queue/attributes.h"
#include "tables/value/json.h"

namespace freshet {

namespace {

constexpr std::array kNumbers = {attribute::kCreated,   attribute::kUpdated,     attribute::kTaken,
                                 attribute::kTtl,       attribute::kDeadline,    attribute::kAttempt,
                                 attribute::kLeaseMs,   attribute::kMaxAttempts, attribute::kPriority,
                                 attribute::kLeaseBeat, attribute::kNotBefore,   attribute::kTaskTtl};
constexpr size_t kMostNames = 16;

bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !text.empty() && text.size() <= 18 && (text == "0" || text[0] != '0');
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

}  // namespace

bool matches(const ItemRef& task, const TaskWhere& where) {
  for (const auto& [name, wanted] : where) {
    const auto value = name == attribute::kTtl ? find_ttl(task) : task.find(name);
    if (!value) return false;
    if (value->type() == Type::kString) {
      if (value->bytes() != wanted) return false;
      continue;
    }
    std::string text;
    append_plain_json(text, value->decode());
    if (text != wanted) return false;
  }
  return true;
}

std::optional<Error> never_matches(const TaskWhere& where) {
  std::string what;
  if (where.size() > kMostNames)
    what = "'where' has " + std::to_string(where.size()) + " attributes; at most 16 may be";
  for (const auto& [name, wanted] : where) {
    if (name.empty()) {
      what = "'where' needs the name of an attribute before '='";
    } else if (name == attribute::kStatus) {
      what = "'where' cannot choose by taskStatus: the state is chosen beside it ('states', --state)";
    } else if (std::find(kNumbers.begin(), kNumbers.end(), name) != kNumbers.end() && !is_whole_number(wanted)) {
      what = "'where' " + quoted(name + "=" + wanted) + " never matches: " + quoted(name) +
             " is a whole number, as in " + name + "=5";
    }
  }
  if (what.empty()) return {};
  return Error{ErrorCode::kValidation, what, nullptr};
}

}  // namespace freshet
