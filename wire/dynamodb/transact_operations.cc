// TransactWriteItems and TransactGetItems.
#include "base/limits.h"
#include "tables/expression/expression.h"
#include "tables/value/json.h"
#include "wire/dynamodb/capacity.h"
#include "wire/dynamodb/operation.h"

namespace freshet::dynamodb {

namespace {

constexpr Range kActions{1, static_cast<int64_t>(limits::kMaxTransactionActions)};

class TransactWrite final : public Operation {
 public:
  TransactWrite(TransactWriteInput input, CapacityReport report, bool metrics)
      : input_(std::move(input)), capacities_(report, UnitKind::kWrite), collections_(metrics) {
    const auto prepare = [this](auto& action) {
      tables_.push_back(action.table);
      action.measure = capacities_.wanted() || collections_.wanted();
    };
    for (auto& action : input_.actions) std::visit(prepare, action);
  }

  Async<Result<void>> run(Tables& tables) override {
    for (const auto& table : tables_) {
      if (is_system_table(table)) co_return item_table_not_found();
    }
    Result<TransactWriteOutput> output = co_await tables.transact_write(std::move(input_));
    if (!output) co_return fail(std::move(output.error()));
    if (output->repeated) capacities_.set_kind(UnitKind::kRead);
    for (size_t i = 0; i < output->outputs.size(); ++i) {
      const auto& cost = output->outputs[i].cost;
      if (!cost) continue;
      const Units units = output->repeated ? read_units(cost->bytes, true) : write_units(*cost);
      capacities_.add(tables_[i], transaction_units(units));
      collections_.add(tables_[i], *cost);
    }
    co_return Result<void>{};
  }

  void write(std::string& json, const ResponseScope&) const override {
    std::string members;
    capacities_.append(members);
    collections_.append(members);
    json += '{';
    json += std::string_view(members).substr(members.empty() ? 0 : 1);
    json += '}';
  }

 private:
  TransactWriteInput input_;
  std::vector<std::string> tables_;  // The table of each action.
  CapacitySums capacities_;
  CollectionList collections_;
};

class TransactGet final : public Operation {
 public:
  TransactGet(std::vector<GetItemInput> inputs, CapacityReport report)
      : inputs_(std::move(inputs)), capacities_(report, UnitKind::kRead) {}

  Async<Result<void>> run(Tables& tables) override {
    std::vector<std::string> names;
    for (const auto& input : inputs_) {
      if (is_system_table(input.table)) co_return item_table_not_found();
      names.push_back(input.table);
    }
    Result<std::vector<ReadOutput>> outputs = co_await tables.transact_get(std::move(inputs_));
    if (!outputs) co_return fail(std::move(outputs.error()));
    outputs_ = std::move(*outputs);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      capacities_.add(names[i], transaction_units(read_units(outputs_[i].bytes, true)));
    }
    co_return Result<void>{};
  }

  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"Responses\":[";
    for (const ReadOutput& output : outputs_) {
      if (!json.ends_with('[')) json += ',';
      if (!output.item) {
        json += "{}";
        continue;
      }
      json += "{\"Item\":";
      append_item_json(json, output.item);
      json += '}';
    }
    json += ']';
    capacities_.append(json);
    json += '}';
  }

 private:
  std::vector<GetItemInput> inputs_;
  std::vector<ReadOutput> outputs_;
  CapacitySums capacities_;
};

std::string required_expression(const Input& in, std::string_view name, ExpressionKind kind) {
  if (!in.has(name)) in.checks().violated(std::nullopt, in.path_of(name), "not be null");
  return in.expression(name, kind);
}

// Shared by all four actions.
template <class Action>
Action read_action(const Input& in) {
  Action action;
  action.table = in.table();
  if constexpr (requires { action.key; }) action.key = in.item("Key", Need::kRequired);
  if constexpr (requires { action.item; }) action.item = in.item("Item", Need::kRequired);
  if constexpr (requires { action.update; }) {
    action.update = required_expression(in, "UpdateExpression", ExpressionKind::kUpdate);
  }
  if constexpr (std::is_same_v<Action, ConditionCheckInput>) {
    action.condition = required_expression(in, "ConditionExpression", ExpressionKind::kCondition);
  } else {
    action.condition = in.expression("ConditionExpression", ExpressionKind::kCondition);
  }
  action.placeholders = in.placeholders();
  action.return_item_on_failure = wants_item_on_failure(in);
  return action;
}

void read_write(const Input& in, std::vector<WriteInput>& actions) {
  const auto check = in.structure("ConditionCheck");
  const auto put = in.structure("Put");
  const auto gone = in.structure("Delete");
  const auto update = in.structure("Update");
  const int count = check.has_value() + put.has_value() + gone.has_value() + update.has_value();
  if (count == 0) {
    in.checks().add({ErrorCode::kValidation,
                     "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request", nullptr});
  } else if (count > 1) {
    in.checks().add(
        {ErrorCode::kValidation, "TransactItems can only contain one of Check, Put, Update or Delete", nullptr});
  } else if (check) {
    actions.emplace_back(read_action<ConditionCheckInput>(*check));
  } else if (put) {
    actions.emplace_back(read_action<PutItemInput>(*put));
  } else if (gone) {
    actions.emplace_back(read_action<DeleteItemInput>(*gone));
  } else {
    actions.emplace_back(read_action<UpdateItemInput>(*update));
  }
}

}  // namespace

Parsed parse_transact_write_items(const JsonView& body) {
  Checks checks(Checks::Plane::kItems);
  const Input in(body, checks);
  TransactWriteInput input;
  input.token = in.text("ClientRequestToken", Need::kOptional, {1, 36});
  const CapacityReport report = capacity_report_of(in);
  const bool metrics = wants_collection_metrics(in);
  for (const Input& action : in.list("TransactItems", Need::kRequired, kActions)) read_write(action, input.actions);
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<TransactWrite>(std::move(input), report, metrics);
}

Parsed parse_transact_get_items(const JsonView& body) {
  Checks checks(Checks::Plane::kItems);
  const Input in(body, checks);
  const CapacityReport report = capacity_report_of(in);
  std::vector<GetItemInput> inputs;
  for (const Input& action : in.list("TransactItems", Need::kRequired, kActions)) {
    const auto get = action.structure("Get", Need::kRequired);
    if (!get) continue;
    GetItemInput& input = inputs.emplace_back();
    input.table = get->table();
    input.key = get->item("Key", Need::kRequired);
    input.projection = get->expression("ProjectionExpression", ExpressionKind::kProjection);
    input.placeholders.names = get->names();
  }
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<TransactGet>(std::move(inputs), report);
}

}  // namespace freshet::dynamodb
