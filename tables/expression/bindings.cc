// Compilation, and the placeholders of one request.

#include <algorithm>
#include <numeric>

#include "base/limits.h"
#include "tables/expression/checks.h"
#include "tables/expression/parser.h"
#include "tables/expression/text.h"
#include "tables/tables.h"
#include "tables/value/nesting.h"

namespace freshet {
namespace expression {

std::string_view function_name(Function function) {
  constexpr std::string_view kNames[] = {
      "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size",
      "if_not_exists",    "list_append"};
  return kNames[static_cast<size_t>(function)];
}

std::string_view operator_name(Operator op) {
  constexpr std::string_view kNames[] = {"=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN", "", "AND", "OR", "NOT"};
  return kNames[static_cast<size_t>(op)];
}

namespace {

bool is_placeholder(std::string_view key, char mark) {
  return key.size() > 1 && key[0] == mark && std::all_of(key.begin() + 1, key.end(), is_word_character);
}

template <class Members>
bool is_sorted_set(const Members& members) {
  const auto out_of_order = [](const auto& a, const auto& b) { return !(a < b); };
  return !members.empty() && std::adjacent_find(members.begin(), members.end(), out_of_order) == members.end();
}

// True if normalize() would not change the value. Values of requests are normal; callers within the process may be less
// careful, and unsorted sets would compare wrongly.
bool is_normal(const Value& value, size_t depth) {
  if (const auto* set = value.get_if<StringSet>()) return is_sorted_set(set->members);
  if (const auto* set = value.get_if<NumberSet>()) return is_sorted_set(set->members);
  if (const auto* set = value.get_if<BinarySet>()) return is_sorted_set(set->members);
  const auto* map = value.get_if<Map>();
  const auto* list = value.get_if<List>();
  if ((map || list) && depth >= kMaxContainers) return false;
  if (map) {
    return std::all_of(map->begin(), map->end(), [&](const auto& entry) { return is_normal(entry.second, depth + 1); });
  }
  if (!list) return true;
  return std::all_of(list->elements.begin(), list->elements.end(),
                     [&](const Value& element) { return is_normal(element, depth + 1); });
}

std::string joined(const std::vector<std::string_view>& keys) {
  std::string out;
  for (const auto key : keys) out += concat(out.empty() ? "" : ", ", key);
  return out;
}

Error invalid_key(std::string_view field, std::string_view key) {
  return Error{ErrorCode::kValidation, concat(field, " contains invalid key: Syntax error; key: \"", key, "\""),
               nullptr};
}

}  // namespace
}  // namespace expression

using expression::Parser;

std::string_view expression_name(ExpressionKind kind) {
  constexpr std::string_view kNames[] = {"ConditionExpression", "FilterExpression", "UpdateExpression",
                                         "KeyConditionExpression", "ProjectionExpression"};
  return kNames[static_cast<size_t>(kind)];
}

Result<std::shared_ptr<const CompiledCondition>> compile_condition(std::string_view text, ExpressionKind kind) {
  if (auto fits = expression::check_text(text, kind); !fits) return fail(fits.error());
  auto compiled = std::make_shared<CompiledCondition>();
  compiled->kind = kind;
  Parser parser(text, *compiled);
  compiled->root = parser.parse_condition();
  if (auto error = parser.error()) return fail(std::move(*error));
  expression::add_checks(*compiled);
  return compiled;
}

Result<std::shared_ptr<const CompiledUpdate>> compile_update(std::string_view text) {
  if (auto fits = expression::check_text(text, ExpressionKind::kUpdate); !fits) return fail(fits.error());
  auto compiled = std::make_shared<CompiledUpdate>();
  compiled->kind = ExpressionKind::kUpdate;
  Parser parser(text, *compiled);
  compiled->actions = parser.parse_update();
  if (auto error = parser.error()) return fail(std::move(*error));
  expression::add_checks(*compiled);
  return compiled;
}

Result<std::shared_ptr<const CompiledProjection>> compile_projection(std::string_view text) {
  if (auto fits = expression::check_text(text, ExpressionKind::kProjection); !fits) return fail(fits.error());
  auto compiled = std::make_shared<CompiledProjection>();
  compiled->kind = ExpressionKind::kProjection;
  Parser parser(text, *compiled);
  compiled->paths = parser.parse_projection();
  if (auto error = parser.error()) return fail(std::move(*error));
  expression::add_checks(*compiled);
  return compiled;
}

Expressions::Expressions(ExpressionCache& cache, const Placeholders& placeholders)
    : cache_(cache),
      placeholders_(placeholders),
      used_names_(placeholders.names.size(), false),
      used_values_(placeholders.values.size(), false) {}

Result<void> Expressions::check_placeholders() {
  if (checked_) return {};
  checked_ = true;
  for (const auto& [key, name] : placeholders_.names) {
    if (!expression::is_placeholder(key, '#')) return fail(expression::invalid_key("ExpressionAttributeNames", key));
    if (name.empty()) {
      return invalid(
          expression::concat("ExpressionAttributeNames contains invalid value: Empty attribute name for key ", key));
    }
    if (name.size() > limits::kMaxAttributeNameBytes) {
      return invalid("Attribute name is too large, must be less than 65536 bytes");
    }
  }
  for (const auto& entry : placeholders_.values) {
    if (!expression::is_placeholder(entry.first, ':')) {
      return fail(expression::invalid_key("ExpressionAttributeValues", entry.first));
    }
  }
  constexpr size_t kFew = 16;
  if (placeholders_.names.size() > kFew) {
    names_in_order_.resize(placeholders_.names.size());
    std::iota(names_in_order_.begin(), names_in_order_.end(), size_t{0});
    std::sort(names_in_order_.begin(), names_in_order_.end(),
              [this](size_t a, size_t b) { return placeholders_.names[a].first < placeholders_.names[b].first; });
  }
  return {};
}

size_t Expressions::find_name(std::string_view placeholder) const {
  if (!names_in_order_.empty()) {
    const auto at =
        std::lower_bound(names_in_order_.begin(), names_in_order_.end(), placeholder,
                         [this](size_t a, std::string_view wanted) { return placeholders_.names[a].first < wanted; });
    const bool defined = at != names_in_order_.end() && placeholders_.names[*at].first == placeholder;
    return defined ? *at : placeholders_.names.size();
  }
  size_t i = 0;
  while (i < placeholders_.names.size() && placeholders_.names[i].first != placeholder) ++i;
  return i;
}

Result<void> Expressions::bind(const expression::Compiled& compiled, Bindings& out) {
  if (auto fine = check_placeholders(); !fine) return fine;
  any_ = true;
  for (const auto& placeholder : compiled.names) {
    const size_t i = find_name(placeholder);
    const bool defined = i < placeholders_.names.size();
    if (defined) used_names_[i] = true;
    out.names.push_back(defined ? std::string_view(placeholders_.names[i].second) : std::string_view());
  }
  for (const auto& placeholder : compiled.values) {
    const Value* value = placeholders_.values.find(placeholder);
    if (value) {
      // Map entries are contiguous: the value's place shows which one was used.
      const auto* first = &placeholders_.values.begin()->second;
      const auto offset = reinterpret_cast<const char*>(value) - reinterpret_cast<const char*>(first);
      used_values_[static_cast<size_t>(offset) / sizeof(Map::Entry)] = true;
    }
    if (value && !expression::is_normal(*value, 0)) {
      auto sorted = std::make_shared<Value>(*value);
      if (auto fine = normalize(*sorted, {}); !fine) {
        return invalid(expression::concat("ExpressionAttributeValues contains invalid value: ", fine.error().message,
                                          " for key ", placeholder));
      }
      out.sorted.push_back(std::move(sorted));
      value = out.sorted.back().get();
    }
    out.values.push_back(value);
  }
  return expression::run_checks(compiled, out);
}

Result<BoundCondition> Expressions::bind_condition(std::string_view text, ExpressionKind kind) {
  BoundCondition bound;
  if (text.empty()) return bound;
  if (auto fine = check_placeholders(); !fine) return fail(fine.error());
  auto compiled = cache_.condition(text, kind);
  if (!compiled) return fail(compiled.error());
  bound.compiled = std::move(*compiled);
  if (auto done = bind(*bound.compiled, bound.bindings); !done) return fail(done.error());
  return bound;
}

Result<BoundCondition> Expressions::condition(std::string_view text) {
  return bind_condition(text, ExpressionKind::kCondition);
}
Result<BoundCondition> Expressions::filter(std::string_view text) {
  return bind_condition(text, ExpressionKind::kFilter);
}
Result<BoundCondition> Expressions::key_condition(std::string_view text) {
  return bind_condition(text, ExpressionKind::kKeyCondition);
}

Result<BoundUpdate> Expressions::update(std::string_view text) {
  BoundUpdate bound;
  if (text.empty()) return bound;
  if (auto fine = check_placeholders(); !fine) return fail(fine.error());
  auto compiled = cache_.update(text);
  if (!compiled) return fail(compiled.error());
  bound.compiled = std::move(*compiled);
  if (auto done = bind(*bound.compiled, bound.bindings); !done) return fail(done.error());
  return bound;
}

Result<BoundProjection> Expressions::projection(std::string_view text) {
  BoundProjection bound;
  if (text.empty()) return bound;
  if (auto fine = check_placeholders(); !fine) return fail(fine.error());
  auto compiled = cache_.projection(text);
  if (!compiled) return fail(compiled.error());
  bound.compiled = std::move(*compiled);
  if (auto done = bind(*bound.compiled, bound.bindings); !done) return fail(done.error());
  return bound;
}

Result<void> Expressions::finish(std::string_view absent) {
  if (auto fine = check_placeholders(); !fine) return fine;
  if (!any_) {
    if (!used_names_.empty()) {
      return invalid("ExpressionAttributeNames can only be specified when using expressions");
    }
    if (used_values_.empty()) return {};
    return invalid(expression::concat("ExpressionAttributeValues can only be specified when using expressions",
                                      absent.empty() ? "" : ": ", absent));
  }
  std::vector<std::string_view> unused;
  for (size_t i = 0; i < used_names_.size(); ++i) {
    if (!used_names_[i]) unused.push_back(placeholders_.names[i].first);
  }
  if (!unused.empty()) {
    return invalid(expression::concat("Value provided in ExpressionAttributeNames unused in expressions: keys: {",
                                      expression::joined(unused), "}"));
  }
  for (size_t i = 0; i < used_values_.size(); ++i) {
    if (!used_values_[i]) unused.push_back(placeholders_.values.begin()[i].first);
  }
  if (!unused.empty()) {
    return invalid(expression::concat("Value provided in ExpressionAttributeValues unused in expressions: keys: {",
                                      expression::joined(unused), "}"));
  }
  return {};
}

}  // namespace freshet
