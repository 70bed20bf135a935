// Query and Scan.
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

void check_select(const Input& in, Select select, const std::string& index, const std::string& projection) {
  const std::string specified =
      std::string("Cannot specify the ") + (in.has("AttributesToGet") ? "AttributesToGet" : "ProjectionExpression");
  const auto refuse = [&](std::string_view text) {
    in.checks().add({ErrorCode::kValidation, std::string(text), nullptr});
  };
  if (!projection.empty() && select == Select::kCount) {
    refuse(specified + " when choosing to get only the Count");
  } else if (!projection.empty() && select == Select::kAll) {
    refuse(specified + " when choosing to get ALL_ATTRIBUTES");
  } else if (!projection.empty() && select == Select::kProjected) {
    refuse(specified + " when choosing to get ALL_PROJECTED_ATTRIBUTES");
  } else if (projection.empty() && select == Select::kSpecific) {
    refuse("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES");
  } else if (select == Select::kProjected && index.empty()) {
    refuse("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
  }
}

// `In` is the store's input, `kCall` its member function.
template <class In, Async<Result<Page>> (Tables::*kCall)(In)>
class PageOperation final : public Operation {
 public:
  PageOperation(In input, Select select, CapacityReport report)
      : input_(std::move(input)),
        table_(input_.table),
        index_(input_.index),
        consistent_(input_.consistent),
        select_(select),
        report_(report) {}

  Async<Result<void>> run(Tables& tables) override {
    if (is_system_table(table_)) return Result<void>(table_not_found(table_));
    const bool about_index = !index_.empty() && (select_ == Select::kAll || report_ == CapacityReport::kIndexes);
    if (about_index) return run_with_description(tables);
    Async<Result<Page>> answer = (tables.*kCall)(std::move(input_));
    if (answer.is_ready()) return keep(answer.take());
    return keep_later(std::move(answer));
  }

  void write(std::string& json, const Place&) const override {
    json += '{';
    if (select_ != Select::kCount) {
      size_t stored = 0;
      for (const ItemRef& item : page_.items) stored += item.encoded().size();
      json.reserve(json.size() + 2 * stored);  // About what names, tags and quotes make of it.
      json += "\"Items\":[";
      bool first = true;
      for (const ItemRef& item : page_.items) {
        if (!std::exchange(first, false)) json += ',';
        append_item_json(json, item);
      }
      json += "],";
    }
    json += "\"Count\":" + std::to_string(page_.count) + ",\"ScannedCount\":" + std::to_string(page_.scanned);
    if (!page_.last_evaluated_key.empty()) {
      json += ",\"LastEvaluatedKey\":";
      append_item_json(json, page_.last_evaluated_key);
    }
    if (report_ != CapacityReport::kNone) {
      json += ",\"ConsumedCapacity\":";
      const uint64_t halves = read_half_units(page_.scanned_bytes, consistent_);
      append_capacity(json, report_, table_, index_.empty() ? Units{halves, {}} : Units{0, {{index_, local_, halves}}});
    }
    json += '}';
  }

 private:
  Result<void> keep(Result<Page> page) {
    if (!page) return fail(std::move(page.error()));
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
    if (!table) co_return fail(table.error());
    if (const IndexDefinition* index = table->definition.index(index_)) {
      local_ = index->local;
      if (select_ == Select::kAll && index->projection != Projection::kAll) {
        co_return invalid(
            "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for " +
            std::string(local_ ? "local" : "global") + " secondary index " + index_ +
            " because its projection type is not ALL");
      }
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
  bool local_ = false;
  Page page_;
};

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
  input.exclusive_start_key = in.item("ExclusiveStartKey", Need::kOptional);
  input.consistent = in.flag("ConsistentRead");
  input.count_only = select == Select::kCount;
  check_select(in, select, input.index, input.projection);
  if (in.has("ExclusiveStartKey") && input.exclusive_start_key.empty()) {
    in.checks().add({ErrorCode::kValidation, "The provided starting key is invalid", nullptr});
  }
}

}  // namespace

Parsed parse_query(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  const Select select = select_of(in);
  QueryInput input;
  const bool legacy = has_legacy(in, {"AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"},
                                 {"ProjectionExpression", "FilterExpression", "KeyConditionExpression"});
  read_page_parameters(in, select, legacy, "QueryFilter", input);
  input.key_condition = legacy ? legacy_key_condition(in, input.placeholders)
                               : in.expression("KeyConditionExpression", ExpressionKind::kKeyCondition);
  if (!in.has("KeyConditionExpression") && !in.has("KeyConditions")) {
    checks.add({ErrorCode::kValidation,
                "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
                nullptr});
  }
  input.forward = in.flag("ScanIndexForward", true);
  const CapacityReport report = capacity_report_of(in);
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<PageOperation<QueryInput, &Tables::query>>(std::move(input), select, report);
}

Parsed parse_scan(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  const Select select = select_of(in);
  ScanInput input;
  const bool legacy = has_legacy(in, {"AttributesToGet", "ScanFilter", "ConditionalOperator"},
                                 {"ProjectionExpression", "FilterExpression"});
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
