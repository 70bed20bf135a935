#include "wire/dynamodb/input.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/limits.h"
#include "tables/expression/expression.h"
#include "wire/dynamodb/tag_text.h"

namespace freshet::dynamodb {

namespace {

constexpr size_t kMaxViolations = 10;  // The service names no more than that.
constexpr size_t kShown = 1024;        // The most bytes of a request's name or value in a message.

// Stands before and behind a client's own key in a path: its letters are left alone.
constexpr char kKeyMark = '\x01';

// A path as messages show it, each member with a small first letter if that is asked for.
std::string shown_path(std::string_view path, bool small) {
  std::string out;
  out.reserve(path.size());
  bool in_key = false;
  bool first = true;
  for (const char c : path) {
    if (c == kKeyMark) {
      in_key = !in_key;
      continue;
    }
    const bool lowered = small && first && !in_key && c >= 'A' && c <= 'Z';
    out += lowered ? static_cast<char>(c + ('a' - 'A')) : c;
    first = c == '.' && !in_key;
  }
  return out;
}

bool is_name(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  });
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) {
    if (!out.empty()) out += ", ";
    out += part;
  }
  return out;
}

}  // namespace

void Checks::add(Error error) {
  std::optional<Error>& place = error.code == ErrorCode::kSerialization ? serialization_ : validation_;
  if (!place) place = std::move(error);
}

void Checks::missing(std::string_view name) {
  if (missing_) return;
  missing_ = Error{ErrorCode::kValidation,
                   "The parameter '" + std::string(name) + "' is required but was not present in the request", nullptr};
}

void Checks::violated(std::optional<std::string_view> value, const std::string& path, const std::string& rule) {
  unsatisfied(value, path, "Member must " + rule);
}

void Checks::unsatisfied(std::optional<std::string_view> value, const std::string& path, const std::string& rule) {
  if (violations_.size() >= kMaxViolations) return;
  const std::string shown = value ? "'" + std::string(value->substr(0, kShown)) + "'" : "null";
  violations_.push_back("Value " + shown + " at '" + path + "' failed to satisfy constraint: " + rule);
}

void Checks::out_of_bounds(const std::string& path, const std::string& rule) {
  if (violations_.size() >= kMaxViolations) return;
  violations_.push_back("Value at '" + path + "' failed to satisfy constraint: Member must " + rule);
}

Result<void> Checks::result() const {
  if (serialization_) return fail(*serialization_);
  if (missing_) return fail(*missing_);
  if (!violations_.empty()) {
    const size_t count = violations_.size();
    std::string message =
        std::to_string(count) + " validation error" + (count == 1 ? "" : "s") + " detected: " + violations_[0];
    for (size_t i = 1; i < count; ++i) message += "; " + violations_[i];
    return invalid(std::move(message));
  }
  if (validation_) return fail(*validation_);
  return {};
}

Input::Input(JsonView object, Checks& checks, std::string path)
    : object_(object), checks_(checks), path_(std::move(path)) {
  if (auto fine = object_.as_object(); !fine) checks_.add(fine.error());
}

std::string Input::full_path(std::string_view name) const {
  std::string out = path_;
  if (!out.empty()) out += '.';
  return out.append(name.substr(0, kShown));  // The name of a map's entry is the client's.
}

std::string Input::path_of(std::string_view name) const {
  return shown_path(full_path(name), true);
}

void Input::break_bound(std::string_view shown, std::string_view name, const std::string& rule) const {
  if (checks_.plane() == Checks::Plane::kItems) {
    checks_.out_of_bounds(shown_path(full_path(name), false), rule);
  } else {
    checks_.violated(shown, path_of(name), rule);
  }
}

std::optional<JsonView> Input::need(std::string_view name, Need need) const {
  std::optional<JsonView> member = object_.find(name);
  if (!member && need == Need::kRequired) checks_.violated(std::nullopt, path_of(name), "not be null");
  return member;
}

void Input::check_length(std::string_view value, std::string_view name, Range length) const {
  const auto size = static_cast<int64_t>(value.size());
  check_size(size, name, length, value, value);
}

void Input::check_size(int64_t size, std::string_view name, Range length, std::string_view none,
                       std::string_view some) const {
  if (size < length.least) {
    break_bound(none, name, "have length greater than or equal to " + std::to_string(length.least));
  }
  if (size > length.most) {
    break_bound(some, name, "have length less than or equal to " + std::to_string(length.most));
  }
}

std::string Input::text(std::string_view name, Need needed, Range length) const {
  const auto member = need(name, needed);
  if (!member) return {};
  const auto value = member->as_string();
  if (!value) {
    checks_.add(value.error());
    return {};
  }
  check_length(*value, name, length);
  return std::string(*value);
}

std::string Input::pattern_text(std::string_view name, Need needed, Range length) const {
  std::string value = text(name, needed, length);
  if (!is_name(value)) {
    checks_.violated(value, path_of(name), "satisfy regular expression pattern: [a-zA-Z0-9_.-]+");
  }
  return value;
}

std::string Input::tag_text(std::string_view name, Range characters) const {
  std::string value = text(name, Need::kRequired);
  if (has(name)) check_size(count_characters(value), name, characters, value, value);
  if (!is_tag_text(value)) {
    checks_.violated(value, path_of(name), "satisfy regular expression pattern: " + std::string(kTagPattern));
  }
  return value;
}

bool Input::flag(std::string_view name, bool fallback) const {
  const auto value = object_.bool_or(name, fallback);
  if (value) return *value;
  checks_.add(value.error());
  return fallback;
}

std::optional<int64_t> Input::number(std::string_view name, Range range) const {
  const auto member = object_.find(name);
  if (!member) return std::nullopt;
  const auto value = member->as_int();
  if (!value) {
    checks_.add(value.error());
    return std::nullopt;
  }
  const std::string shown = std::to_string(*value);
  if (*value < range.least) {
    break_bound(shown, name, "have value greater than or equal to " + std::to_string(range.least));
  }
  if (*value > range.most) {
    break_bound(shown, name, "have value less than or equal to " + std::to_string(range.most));
  }
  return *value;
}

std::optional<WallTime> Input::time(std::string_view name) const {
  const auto member = object_.find(name);
  if (!member) return std::nullopt;
  const std::string text(member->text());
  constexpr double kFarthest = 1e13;  // Seconds; still fits as milliseconds.
  const double value = member->is(JsonKind::kNumber) ? std::strtod(text.c_str(), nullptr) : 2 * kFarthest;
  if (std::abs(value) > kFarthest) {
    checks_.add({ErrorCode::kSerialization, member->path() + " must be a time in epoch seconds", nullptr});
    return std::nullopt;
  }
  return WallTime(milliseconds(std::llround(value * 1000)));
}

std::string Input::choice(std::string_view name, std::initializer_list<std::string_view> values, Need needed) const {
  if (!need(name, needed)) return {};
  std::string value = text(name);
  if (std::find(values.begin(), values.end(), value) == values.end()) {
    checks_.violated(value, path_of(name), "satisfy enum value set: [" + joined(values) + "]");
  }
  return value;
}

std::string Input::expression(std::string_view name, ExpressionKind kind) const {
  if (!has(name)) return {};
  std::string value = text(name);
  if (value.empty()) {
    checks_.add({ErrorCode::kValidation,
                 "Invalid " + std::string(expression_name(kind)) + ": The expression can not be empty;", nullptr});
  }
  return value;
}

Item Input::item(std::string_view name, Need needed) const {
  const auto member = need(name, needed);
  if (!member) return {};
  Result<Item> value = item_of(*member);
  if (value) return std::move(*value);
  checks_.add(std::move(value.error()));
  return {};
}

std::optional<Value> Input::value(std::string_view name) const {
  const auto member = object_.find(name);
  if (!member) return std::nullopt;
  Result<Value> value = attribute_of(*member);
  if (value) return std::move(*value);
  checks_.add(std::move(value.error()));
  return std::nullopt;
}

std::vector<Value> Input::values(std::string_view name) const {
  std::vector<Value> out;
  const auto list = array(name, Need::kOptional, {});
  if (!list) return out;
  for (const JsonView element : *list) {
    Result<Value> value = attribute_of(element);
    if (value) {
      out.push_back(std::move(*value));
    } else {
      checks_.add(std::move(value.error()));
      if (checks_.is_decided()) break;
    }
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> Input::names() const {
  std::vector<std::pair<std::string, std::string>> out;
  const auto member = object_.find("ExpressionAttributeNames");
  if (!member) return out;
  if (auto fine = member->as_object(); !fine) {
    checks_.add(fine.error());
    return out;
  }
  if (member->size() == 0) {
    checks_.add({ErrorCode::kValidation, "ExpressionAttributeNames must not be empty", nullptr});
  }
  for (const JsonView entry : *member) {
    const auto value = entry.as_string();
    if (!value) {
      checks_.add(value.error());
      return out;
    }
    out.emplace_back(entry.name(), *value);
  }
  return out;
}

namespace {
// Which of these values is none, as the service says it.
std::string first_wrong(const JsonView& values) {
  for (const JsonView value : values) {
    if (!attribute_of(value)) return " for key " + std::string(value.name());
  }
  return {};
}
}  // namespace

Placeholders Input::placeholders() const {
  Placeholders out;
  out.names = names();
  const auto member = object_.find("ExpressionAttributeValues");
  if (!member) return out;
  Result<Item> values = item_of(*member);
  if (!values) {
    Error error = std::move(values.error());
    if (error.code == ErrorCode::kValidation) {
      error.message = "ExpressionAttributeValues contains invalid value: " + error.message + first_wrong(*member);
    }
    checks_.add(std::move(error));
  } else if (values->empty()) {
    checks_.add({ErrorCode::kValidation, "ExpressionAttributeValues must not be empty", nullptr});
  } else {
    out.values = std::move(*values);
  }
  return out;
}

std::optional<std::string> table_name_of(std::string_view arn) {
  const size_t service = arn.starts_with("arn:") ? arn.find(':', 4) : std::string_view::npos;
  if (service == std::string_view::npos || !arn.substr(service).starts_with(":dynamodb:")) return std::nullopt;
  const size_t start = arn.find(":table/", service);
  const std::string_view name = start == std::string_view::npos ? std::string_view{} : arn.substr(start + 7);
  if (name.empty() || !is_name(name)) return std::nullopt;
  return std::string(name);
}

std::optional<std::string> Input::table_of_arn() const {
  const auto member = object_.find("TableName");
  return member && member->is(JsonKind::kString) ? table_name_of(member->text()) : std::nullopt;
}

std::string Input::table() const {
  if (auto name = table_of_arn()) return std::move(*name);
  std::string name = pattern_text("TableName", Need::kRequired, {1, INT64_MAX});
  if (name.size() > limits::kMaxTableNameBytes) {  // With the value, also where items are read and written.
    checks_.violated(name, path_of("TableName"),
                     "have length less than or equal to " + std::to_string(limits::kMaxTableNameBytes));
  }
  return name;
}

std::string Input::managed_table() const {
  if (auto name = table_of_arn()) return std::move(*name);
  if (!has("TableName")) checks_.missing("TableName");
  return pattern_text(
      "TableName", Need::kOptional,
      {static_cast<int64_t>(limits::kMinTableNameBytes), static_cast<int64_t>(limits::kMaxTableNameBytes)});
}

std::optional<Input> Input::structure(std::string_view name, Need needed) const {
  const auto member = need(name, needed);
  if (!member) return std::nullopt;
  return Input(*member, checks_, full_path(name));
}

std::optional<JsonView> Input::array(std::string_view name, Need needed, Range length) const {
  const auto member = need(name, needed);
  if (!member) return std::nullopt;
  const auto value = member->as_array();
  if (!value) {
    checks_.add(value.error());
    return std::nullopt;
  }
  check_size(static_cast<int64_t>(value->size()), name, length, "[]", "[...]");
  return *value;
}

std::optional<JsonView> Input::object(std::string_view name, Need needed, Range length) const {
  const auto member = need(name, needed);
  if (!member) return std::nullopt;
  const auto value = member->as_object();
  if (!value) {
    checks_.add(value.error());
    return std::nullopt;
  }
  check_size(static_cast<int64_t>(value->size()), name, length, "{}", "{...}");
  return *value;
}

std::vector<Input> Input::list(std::string_view name, Need needed, Range length) const {
  std::vector<Input> out;
  const auto value = array(name, needed, length);
  if (!value) return out;
  const std::string path = full_path(name);
  for (const JsonView element : *value) {
    if (out.size() == kMostStructures || checks_.is_decided()) break;
    out.emplace_back(element, checks_, path + "." + std::to_string(out.size() + 1) + ".member");
  }
  return out;
}

std::vector<std::string> Input::texts(std::string_view name, Range length) const {
  std::vector<std::string> out;
  const auto value = array(name, Need::kOptional, length);
  if (!value) return out;
  for (const JsonView element : *value) {
    const auto text = element.as_string();
    if (!text) {
      checks_.add(text.error());
      return out;
    }
    out.emplace_back(*text);
  }
  return out;
}

std::vector<Item> Input::items(std::string_view name, Range length) const {
  std::vector<Item> out;
  const auto value = array(name, Need::kRequired, length);
  if (!value) return out;
  for (const JsonView element : *value) {
    Result<Item> item = item_of(element);
    if (!item) {
      checks_.add(std::move(item.error()));
      return out;
    }
    out.push_back(std::move(*item));
  }
  return out;
}

std::vector<std::pair<std::string, Input>> Input::map(std::string_view name, Need needed, Range length) const {
  std::vector<std::pair<std::string, Input>> out;
  const auto value = object(name, needed, length);
  if (!value) return out;
  const std::string path = full_path(name) + "." + kKeyMark;
  for (const JsonView entry : *value) {
    if (out.size() == kMostStructures || checks_.is_decided()) break;
    const std::string key(entry.name());
    out.emplace_back(key, Input(entry, checks_, path + key.substr(0, kShown) + kKeyMark + ".member"));
  }
  return out;
}

std::vector<std::pair<std::string, std::vector<Input>>> Input::lists(std::string_view name, Range length) const {
  std::vector<std::pair<std::string, std::vector<Input>>> out;
  const auto value = object(name, Need::kRequired, length);
  if (!value) return out;
  const Input tables(*value, checks_, full_path(name));
  for (const JsonView entry : *value) {
    if (out.size() == kMostStructures || checks_.is_decided()) break;
    std::string key(entry.name());
    std::vector<Input> list = tables.list(key, Need::kRequired, {});
    if (entry.is(JsonKind::kArray) && (list.empty() || list.size() > limits::kMaxBatchWrites)) {
      checks_.unsatisfied(
          "{" + key.substr(0, kShown) + (list.empty() ? "=[]}" : "=[...]}"), path_of(name),
          "Map value must satisfy constraint: [Member must have length less than or equal to 25, Member "
          "must have length greater than or equal to 1]");
    }
    out.emplace_back(std::move(key), std::move(list));
  }
  return out;
}

bool Input::is_empty(std::string_view name) const {
  const auto member = object_.find(name);
  return member && (member->is(JsonKind::kObject) || member->is(JsonKind::kArray)) && member->size() == 0;
}

void Input::refuse(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    if (!has(name)) continue;
    checks_.add(
        {ErrorCode::kValidation, "The parameter " + std::string(name) + " is not supported by this server", nullptr});
  }
}

void Input::check_table_names(std::string_view member) const {
  const auto fits = [](std::string_view name) {
    const bool fit_length = name.size() <= limits::kMaxTableNameBytes && name.size() >= limits::kMinTableNameBytes;
    return table_name_of(name) || (fit_length && is_name(name));
  };
  const auto tables = object(member, Need::kOptional, {});
  if (!tables) return;
  for (const JsonView entry : *tables) {
    if (fits(entry.name())) continue;
    checks_.unsatisfied("{" + std::string(entry.name().substr(0, kShown)) + "=...}", path_of(member),
                        "Map keys must satisfy constraint: [Member must have length less than or equal to 255, Member "
                        "must have length greater than or equal to 3, Member must satisfy regular expression pattern: "
                        "[a-zA-Z0-9_.-]+]");
    return;
  }
}

void refuse_parameter(const Input& in, std::string_view text) {
  in.checks().add({ErrorCode::kValidation, "One or more parameter values were invalid: " + std::string(text), nullptr});
}

ReturnValues return_values_of(const Input& input, std::initializer_list<std::string_view> allowed) {
  const std::string value = input.choice("ReturnValues", {"ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"});
  if (value.empty() || value == "NONE") return ReturnValues::kNone;
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    input.checks().add({ErrorCode::kValidation, "ReturnValues can only be ALL_OLD or NONE", nullptr});
  }
  if (value == "ALL_OLD") return ReturnValues::kAllOld;
  if (value == "UPDATED_OLD") return ReturnValues::kUpdatedOld;
  if (value == "ALL_NEW") return ReturnValues::kAllNew;
  return ReturnValues::kUpdatedNew;
}

bool wants_item_on_failure(const Input& input) {
  return input.choice("ReturnValuesOnConditionCheckFailure", {"ALL_OLD", "NONE"}) == "ALL_OLD";
}

bool is_system_table(std::string_view name) {
  return name.starts_with(kSystemTablePrefix);
}

}  // namespace freshet::dynamodb
