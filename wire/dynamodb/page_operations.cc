// Query and Scan.
#include <algorithm>

#include "tables/expression/expression.h"
#include "tables/value/json.h"
#include "wire/dynamodb/capacity.h"
#include "wire/dynamodb/legacy.h"
#include "wire/dynamodb/operation.h"

namespace freshet::dynamodb {

namespace {

enum class Select { kDefault, kAll, kProjected, kSpecific, kCount };

Select select_of(const Input& in) {
  const std::string value =
      in.choice("Select", {"SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"});
  if (value == "ALL_ATTRIBUTES") return Select::kAll;
  if (value == "ALL_PROJECTED_ATTRIBUTES") return Select::kProjected;
  if (value == "SPECIFIC_ATTRIBUTES") return Select::kSpecific;
  return value == "COUNT" ? Select::kCount : Select::kDefault;
}

void check_select(const Input& in, Select select) {
  const bool projected = in.has("AttributesToGet") || in.has("ProjectionExpression");
  const std::string specified =
      std::string("Cannot specify the ") + (in.has("AttributesToGet") ? "AttributesToGet" : "ProjectionExpression");
  const auto refuse = [&](std::string_view text) {
    in.checks().add({ErrorCode::kValidation, std::string(text), nullptr});
  };
  if (projected && select == Select::kCount) {
    refuse(specified + " when choosing to get only the Count");
  } else if (projected && select == Select::kAll) {
    refuse(specified + " when choosing to get ALL_ATTRIBUTES");
  } else if (projected && select == Select::kProjected) {
    refuse(specified + " when choosing to get ALL_PROJECTED_ATTRIBUTES");
  } else if (!projected && select == Select::kSpecific) {
    refuse("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES");
  } else if (select == Select::kProjected && !in.has("IndexName")) {
    refuse("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
  }
}

// `In` is the store's input, `kCall` its member function.
template <class In, Async<Result<Page>> (Tables::*kCall)(In)>
class PageOperation final : public Operation {
 public:
  PageOperation(In&& input, Select select, CapacityReport report, bool legacy_keys = false)
      : input_(std::move(input)),
        table_(input_.table),
        index_(input_.index),
        consistent_(input_.consistent),
        select_(select),
        report_(report),
        legacy_keys_(legacy_keys) {}

  Async<Result<void>> run(Tables& tables) override {
    if (is_system_table(table_)) return Result<void>(item_table_not_found());
    input_.all_attributes = select_ == Select::kAll;
    input_.measure = report_ != CapacityReport::kNone;
    const bool about_index =
        !index_.empty() && (select_ == Select::kAll || report_ == CapacityReport::kIndexes || legacy_keys_);
    if (about_index) return run_with_description(tables);
    Async<Result<Page>> answer = (tables.*kCall)(std::move(input_));
    if (answer.is_ready()) return keep(answer.take());
    return keep_later(std::move(answer));
  }

  void write(std::string& json, const ResponseScope&) const override {
    json += '{';
    if (select_ != Select::kCount) {
      json += "\"Items\":";
      append_items_json(json, page_.items);
      json += ',';
    }
    json += "\"Count\":" + std::to_string(page_.count) + ",\"ScannedCount\":" + std::to_string(page_.scanned);
    if (!page_.last_evaluated_key.empty()) {
      json += ",\"LastEvaluatedKey\":";
      append_item_json(json, page_.last_evaluated_key);
    }
    if (report_ != CapacityReport::kNone) {
      json += ",\"ConsumedCapacity\":";
      const uint64_t halves = read_half_units(page_.billed_bytes, consistent_);
      const uint64_t fetched = page_.fetched_units * (consistent_ ? 2 : 1);
      append_capacity(json, report_, table_,
                      index_.empty() ? Units{halves, {}} : Units{fetched, {{index_, local_, halves}}});
    }
    json += '}';
  }

 private:
  Result<void> keep(Result<Page> page) {
    if (!page) return fail(legacy_keys_ ? legacy_query_error(std::move(page.error())) : std::move(page.error()));
    page_ = std::move(*page);
    return {};
  }
  Async<Result<void>> keep_later(Async<Result<Page>> answer) {
    Result<Page> page = co_await answer;
    co_return keep(std::move(page));
  }
  Async<Result<void>> run_with_description(Tables& tables) {
    std::string name = table_;
    Result<TableDescription> table = co_await tables.describe_table(std::move(name));
    // Without a table the call says what is wrong first.
    const IndexDefinition* index = table ? table->definition.index(index_) : nullptr;
    if (index) local_ = index->local;
    if (index && !local_ && select_ == Select::kAll && index->projection != Projection::kAll) {
      co_return invalid(
          "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary "
          "index " +
          index_ + " because its projection type is not ALL");
    }
    if (index && legacy_keys_ && index->keys.is_composite()) {
      co_return invalid("One or more parameter values were invalid: KeyConditions is not supported for index " +
                        index_ + ", which has several HASH or RANGE key attributes: use KeyConditionExpression");
    }
    Result<Page> page = co_await (tables.*kCall)(std::move(input_));
    co_return keep(std::move(page));
  }

  In input_;
  const std::string table_;
  const std::string index_;
  const bool consistent_;
  const Select select_;
  const CapacityReport report_;
  const bool legacy_keys_;  // It has KeyConditions.
  bool local_ = false;
  Page page_;
};

// The key that a page goes on behind. Of most of its faults the service says whose they are.
Item start_key(const Input& in) {
  constexpr std::string_view kPlain[] = {"contains duplicates", "number set", "numeric value", "significant digits",
                                         "number with magnitude"};
  Checks own(Checks::Plane::kItems);
  Item key = Input(in, own).item("ExclusiveStartKey", Need::kOptional);
  if (auto fine = own.result(); !fine) {
    Error error = std::move(fine.error());
    const bool plain = std::any_of(std::begin(kPlain), std::end(kPlain), [&](std::string_view words) {
      return error.message.find(words) != std::string::npos;
    });
    if (error.code == ErrorCode::kValidation && !plain)
      error.message.insert(0, "The provided starting key is invalid: ");
    in.checks().add(std::move(error));
  } else if (in.has("ExclusiveStartKey") && key.empty()) {
    const bool of_index_or_query = in.has("KeyConditions") || in.has("KeyConditionExpression") || in.has("IndexName");
    in.checks().add({ErrorCode::kValidation,
                     of_index_or_query
                         ? "The provided starting key is invalid"
                         : "The provided starting key is invalid: The provided key element does not match the schema",
                     nullptr});
  }
  return key;
}

// Parameters of both.
template <class In>
void read_page_parameters(const Input& in, Select select, bool legacy, std::string_view legacy_member, In& input) {
  input.table = in.table();
  input.index = in.pattern_text("IndexName", Need::kOptional, {3, 255});
  if (legacy) {
    input.filter = legacy_filter(in, legacy_member, input.placeholders);
    input.projection = legacy_projection(in, input.placeholders);
  } else {
    input.filter = in.expression("FilterExpression", ExpressionKind::kFilter);
    input.projection = in.expression("ProjectionExpression", ExpressionKind::kProjection);
    input.placeholders = in.placeholders();
  }
  input.limit = static_cast<uint32_t>(in.number("Limit", {1, INT32_MAX}).value_or(0));
  input.exclusive_start_key = start_key(in);
  input.consistent = in.flag("ConsistentRead");
  input.count_only = select == Select::kCount;
}

// True if filter and projection are legacy parameters. KeyConditions may be used with expressions.
bool is_legacy_query(const Input& in) {
  const bool expressions = in.has("ProjectionExpression") || in.has("FilterExpression");
  if (expressions && !in.has("KeyConditionExpression")) {
    return has_legacy(in, {"AttributesToGet", "QueryFilter", "ConditionalOperator"},
                      {"ProjectionExpression", "FilterExpression"});
  }
  return has_legacy(in, {"AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"},
                    {"ProjectionExpression", "FilterExpression", "KeyConditionExpression"});
}

}  // namespace

Parsed parse_query(const JsonView& body) {
  Checks checks(Checks::Plane::kItems);
  const Input in(body, checks);
  const Select select = select_of(in);
  QueryInput input;
  const bool legacy = is_legacy_query(in);
  check_select(in, select);
  read_page_parameters(in, select, legacy, "QueryFilter", input);
  if (in.has("KeyConditions")) {
    input.key_condition = legacy_key_condition(in, input.placeholders);
  } else {
    input.key_condition = in.expression("KeyConditionExpression", ExpressionKind::kKeyCondition);
  }
  if (!in.has("KeyConditionExpression") && !in.has("KeyConditions")) {
    checks.add({ErrorCode::kValidation,
                "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
                nullptr});
  }
  input.forward = in.flag("ScanIndexForward", true);
  const CapacityReport report = capacity_report_of(in);
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<PageOperation<QueryInput, &Tables::query>>(std::move(input), select, report,
                                                                     in.has("KeyConditions"));
}

Parsed parse_scan(const JsonView& body) {
  Checks checks(Checks::Plane::kItems);
  const Input in(body, checks);
  const Select select = select_of(in);
  ScanInput input;
  const bool legacy = has_legacy(in, {"AttributesToGet", "ScanFilter", "ConditionalOperator"},
                                 {"ProjectionExpression", "FilterExpression"});
  check_select(in, select);
  read_page_parameters(in, select, legacy, "ScanFilter", input);
  const auto segment = in.number("Segment", {0, 999'999});
  const auto total = in.number("TotalSegments", {1, 1'000'000});
  if (segment && !total) {
    checks.add({ErrorCode::kValidation,
                "The TotalSegments parameter is required but was not present in the request when Segment parameter is "
                "present",
                nullptr});
  } else if (total && !segment) {
    checks.add({ErrorCode::kValidation,
                "The Segment parameter is required but was not present in the request when parameter TotalSegments is "
                "present",
                nullptr});
  }
  input.segment = static_cast<uint32_t>(segment.value_or(0));
  input.total_segments = static_cast<uint32_t>(total.value_or(1));
  const CapacityReport report = capacity_report_of(in);
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<PageOperation<ScanInput, &Tables::scan>>(std::move(input), select, report);
}

}  // namespace freshet::dynamodb
