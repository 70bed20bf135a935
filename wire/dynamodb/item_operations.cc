// PutItem, GetItem, UpdateItem, DeleteItem.
#include <algorithm>

#include "tables/expression/expression.h"
#include "tables/value/json.h"
#include "wire/dynamodb/capacity.h"
#include "wire/dynamodb/legacy.h"
#include "wire/dynamodb/operation.h"

namespace freshet::dynamodb {

namespace {

// Shared by the three writes. `In` is the store's input, `kCall` its member function.
template <class In, Async<Result<WriteOutput>> (Tables::*kCall)(In)>
class WriteOperation final : public Operation {
 public:
  WriteOperation(In&& input, CapacityReport report, bool metrics, bool legacy)
      : input_(std::move(input)), table_(input_.table), report_(report), metrics_(metrics), legacy_(legacy) {
    input_.measure = report_ != CapacityReport::kNone || metrics_;
  }

  Async<Result<void>> run(Tables& tables) override {
    if (is_system_table(table_)) return Result<void>(item_table_not_found());
    Async<Result<WriteOutput>> answer = (tables.*kCall)(std::move(input_));
    if (answer.is_ready()) return keep(answer.take());
    return keep_later(std::move(answer));
  }

  void write(std::string& json, const ResponseScope&) const override {
    json += '{';
    if (output_.attributes) {
      json += "\"Attributes\":";
      append_item_json(json, output_.attributes);
    }
    if (report_ != CapacityReport::kNone) {
      json += json.ends_with('{') ? "\"ConsumedCapacity\":" : ",\"ConsumedCapacity\":";
      append_capacity(json, report_, table_, write_units(*output_.cost));
    }
    if (metrics_ && !output_.cost->collection.empty()) {
      json += json.ends_with('{') ? "\"ItemCollectionMetrics\":" : ",\"ItemCollectionMetrics\":";
      append_collection(json, *output_.cost);
    }
    json += '}';
  }

 private:
  Result<void> keep(Result<WriteOutput> output) {
    if (!output) return fail(legacy_ ? legacy_update_error(std::move(output.error())) : std::move(output.error()));
    output_ = std::move(*output);
    return {};
  }
  Async<Result<void>> keep_later(Async<Result<WriteOutput>> answer) {
    Result<WriteOutput> output = co_await answer;
    co_return keep(std::move(output));
  }

  In input_;
  const std::string table_;
  const CapacityReport report_;
  const bool metrics_;
  const bool legacy_;  // The update was an AttributeUpdates.
  WriteOutput output_;
};

// True if the condition of a put or delete is an Expected.
bool has_legacy_condition(const Input& in) {
  return has_legacy(in, {"Expected", "ConditionalOperator"}, {"ConditionExpression"});
}

// Parameters of all three writes beyond table, item or key, and update.
template <class In>
void read_write_parameters(const Input& in, bool legacy, In& input) {
  if (legacy) {
    input.condition = legacy_condition(in, input.placeholders);
  } else {
    input.condition = in.expression("ConditionExpression", ExpressionKind::kCondition);
    input.placeholders = in.placeholders();
  }
  input.return_item_on_failure = wants_item_on_failure(in);
}

class GetOperation final : public Operation {
 public:
  GetOperation(GetItemInput&& input, CapacityReport report)
      : input_(std::move(input)), table_(input_.table), consistent_(input_.consistent), report_(report) {}

  Async<Result<void>> run(Tables& tables) override {
    if (is_system_table(table_)) return Result<void>(item_table_not_found());
    if (report_ != CapacityReport::kNone) return run_measured(tables);
    Async<Result<ItemRef>> answer = tables.get_item(std::move(input_));
    if (answer.is_ready()) return keep(answer.take());
    return keep_later(std::move(answer));
  }

  void write(std::string& json, const ResponseScope&) const override {
    json += '{';
    if (item_) {
      json += "\"Item\":";
      append_item_json(json, item_);
    }
    if (report_ != CapacityReport::kNone) {
      json += item_ ? ",\"ConsumedCapacity\":" : "\"ConsumedCapacity\":";
      append_capacity(json, report_, table_, read_units(bytes_, consistent_));
    }
    json += '}';
  }

 private:
  Result<void> keep(Result<ItemRef> item) {
    if (!item) return fail(std::move(item.error()));
    item_ = std::move(*item);
    return {};
  }
  Async<Result<void>> run_measured(Tables& tables) {
    std::vector<GetItemInput> inputs;
    inputs.push_back(std::move(input_));
    std::vector<Result<ReadOutput>> answers = co_await tables.read_many(std::move(inputs));
    if (!answers[0]) co_return fail(std::move(answers[0].error()));
    item_ = std::move(answers[0]->item);
    bytes_ = answers[0]->bytes;
    co_return Result<void>{};
  }
  Async<Result<void>> keep_later(Async<Result<ItemRef>> answer) {
    Result<ItemRef> item = co_await answer;
    co_return keep(std::move(item));
  }

  GetItemInput input_;
  const std::string table_;
  const bool consistent_;
  const CapacityReport report_;
  ItemRef item_;
  uint64_t bytes_ = 0;  // The size of the whole item, if capacity is reported.
};

template <class In, Async<Result<WriteOutput>> (Tables::*kCall)(In)>
Parsed made(const Input& in, In&& input, bool legacy = false) {
  const CapacityReport report = capacity_report_of(in);
  const bool metrics = wants_collection_metrics(in);
  if (auto fine = in.checks().result(); !fine) return fail(fine.error());
  return std::make_unique<WriteOperation<In, kCall>>(std::move(input), report, metrics, legacy);
}

}  // namespace

Parsed parse_put_item(const JsonView& body) {
  Checks checks(Checks::Plane::kItems);
  const Input in(body, checks);
  PutItemInput input;
  input.table = in.table();
  input.item = in.item("Item", Need::kRequired);
  input.return_values = return_values_of(in, {"ALL_OLD"});
  read_write_parameters(in, has_legacy_condition(in), input);
  return made<PutItemInput, &Tables::put_item>(in, std::move(input));
}

Parsed parse_update_item(const JsonView& body) {
  Checks checks(Checks::Plane::kItems);
  const Input in(body, checks);
  UpdateItemInput input;
  input.table = in.table();
  input.key = in.item("Key", Need::kRequired);
  const bool legacy = has_legacy(in, {"AttributeUpdates", "Expected", "ConditionalOperator"},
                                 {"UpdateExpression", "ConditionExpression"});
  input.update =
      legacy ? legacy_update(in, input.placeholders) : in.expression("UpdateExpression", ExpressionKind::kUpdate);
  input.return_values = return_values_of(in, {"ALL_NEW", "UPDATED_OLD", "ALL_OLD", "UPDATED_NEW"});
  read_write_parameters(in, legacy, input);
  return made<UpdateItemInput, &Tables::update_item>(in, std::move(input), legacy);
}

Parsed parse_delete_item(const JsonView& body) {
  Checks checks(Checks::Plane::kItems);
  const Input in(body, checks);
  DeleteItemInput input;
  input.table = in.table();
  input.key = in.item("Key", Need::kRequired);
  input.return_values = return_values_of(in, {"ALL_OLD"});
  read_write_parameters(in, has_legacy_condition(in), input);
  return made<DeleteItemInput, &Tables::delete_item>(in, std::move(input));
}

Parsed parse_get_item(const JsonView& body) {
  Checks checks(Checks::Plane::kItems);
  const Input in(body, checks);
  GetItemInput input;
  input.table = in.table();
  input.key = in.item("Key", Need::kRequired);
  if (has_legacy(in, {"AttributesToGet"}, {"ProjectionExpression"})) {
    input.projection = legacy_projection(in, input.placeholders);
  } else {
    input.projection = in.expression("ProjectionExpression", ExpressionKind::kProjection);
    input.placeholders.names = in.names();
  }
  input.consistent = in.flag("ConsistentRead");
  const CapacityReport report = capacity_report_of(in);
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<GetOperation>(std::move(input), report);
}

}  // namespace freshet::dynamodb
