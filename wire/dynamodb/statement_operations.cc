// ExecuteStatement.
#include <algorithm>

#include "base/limits.h"
#include "tables/partiql/translate.h"
#include "tables/value/json.h"
#include "wire/dynamodb/capacity.h"
#include "wire/dynamodb/statement_input.h"
#include "wire/dynamodb/statement_token.h"

namespace freshet::dynamodb {

namespace {

using partiql::SelectPlan;
using partiql::Statement;

constexpr Range kTokenLength{1, 32768};

// The parts of an answer to any statement.
class Answer {
 public:
  explicit Answer(CapacityReport report) : report_(report) {}

  std::vector<ItemRef> items;
  std::string next_token;
  Item last_key;
  Units units;

  bool reports() const { return report_ != CapacityReport::kNone; }

  void write(std::string& json, const Statement& statement) const {
    const bool paths = partiql::has_paths(statement);
    json += "{\"Items\":[";
    for (const ItemRef& item : items) {
      if (!json.ends_with('[')) json += ',';
      append_row(json, statement, paths, item);
    }
    json += ']';
    if (!next_token.empty()) {
      json += ",\"NextToken\":";
      append_json_string(json, next_token);
    }
    if (!last_key.empty()) {
      json += ",\"LastEvaluatedKey\":";
      append_item_json(json, last_key);
    }
    if (reports()) {
      json += ",\"ConsumedCapacity\":";
      append_capacity(json, report_, statement.table, units);
    }
    json += '}';
  }

 private:
  const CapacityReport report_;
};

struct ReadParameters {
  bool consistent = false;
  uint32_t limit = 0;  // Items looked at; 0 for none.
  std::string token;
  std::string fingerprint;
};

class SelectOperation final : public Operation {
 public:
  SelectOperation(Statement statement, ReadParameters parameters, CapacityReport report)
      : statement_(std::move(statement)), parameters_(std::move(parameters)), answer_(report) {}

  Async<Result<void>> run(Tables& tables) override {
    StatementTables known(tables);
    std::string name = statement_.table;
    const TableDefinition* table = co_await known.find(std::move(name));
    if (!table) co_return fail(no_such_table());
    Result<SelectPlan> plan = partiql::plan_select(statement_, *table, parameters_.consistent);
    if (!plan) co_return fail(plan.error());
    StatementPosition position;
    if (!parameters_.token.empty()) {
      Result<StatementPosition> given = read_token(parameters_.token, parameters_.fingerprint);
      if (!given) co_return fail(given.error());
      if (given->step >= plan->steps()) co_return invalid("Invalid NextToken");
      position = std::move(*given);
    }
    for (const Value& value : statement_.values) value_bytes_ += billed_size(value);
    bool more = position.step < plan->steps();
    while (more) {
      Async<Result<Page>> reading = read(tables, *plan, position);
      Result<Page> page = co_await reading;
      if (!page) co_return fail(statement_error(std::move(page.error()), false));
      more = keep(*plan, std::move(*page), position);
    }
    co_return Result<void>{};
  }

  void write(std::string& json, const ResponseScope&) const override { answer_.write(json, statement_); }

 private:
  Async<Result<Page>> read(Tables& tables, const SelectPlan& plan, const StatementPosition& position) const {
    const uint32_t limit = parameters_.limit == 0 ? 0 : parameters_.limit - static_cast<uint32_t>(scanned_);
    if (plan.scans) {
      ScanInput input = partiql::scan_of(plan);
      input.limit = limit;
      input.measure = answer_.reports();
      input.exclusive_start_key = position.start_key;
      return tables.scan(std::move(input));
    }
    QueryInput input = partiql::query_of(plan, position.step);
    input.limit = limit;
    input.measure = answer_.reports();
    input.exclusive_start_key = position.start_key;
    return tables.query(std::move(input));
  }

  // True if reading should continue at `position`. The bounds of a page hold for all reads together.
  bool keep(const SelectPlan& plan, Page page, StatementPosition& position) {
    const uint64_t halves = read_half_units(page.billed_bytes, plan.consistent);
    const uint64_t fetched = page.fetched_units * (plan.consistent ? 2 : 1);
    answer_.units.add(statement_.index.empty() ? Units{halves, {}}
                                               : Units{fetched, {{statement_.index, plan.local_index, halves}}});
    std::move(page.items.begin(), page.items.end(), std::back_inserter(answer_.items));
    scanned_ += page.scanned;
    bytes_ += page.scanned_bytes + value_bytes_;
    work_ += plan.weight * (page.scanned + page.scanned_bytes / 256);
    if (page.last_evaluated_key.empty()) {
      position = {position.step + 1, {}};
      if (position.step == plan.steps()) return false;
    } else {
      position.start_key = answer_.last_key = std::move(page.last_evaluated_key);
    }
    const bool full = (parameters_.limit != 0 && scanned_ >= parameters_.limit) || bytes_ >= limits::kMaxPageBytes ||
                      work_ >= limits::kMaxPageWork;
    if (!full && position.start_key.empty()) return true;
    answer_.next_token = write_token(parameters_.fingerprint, position);
    return false;
  }

  const Statement statement_;
  const ReadParameters parameters_;
  Answer answer_;
  uint64_t value_bytes_ = 0;  // The size of the statement's values: each read takes a copy.
  uint64_t scanned_ = 0;
  uint64_t bytes_ = 0;
  uint64_t work_ = 0;
};

class WriteStatementOperation final : public Operation {
 public:
  WriteStatementOperation(Statement statement, bool item_on_failure, CapacityReport report)
      : statement_(std::move(statement)), item_on_failure_(item_on_failure), answer_(report) {}

  Async<Result<void>> run(Tables& tables) override {
    StatementTables known(tables);
    std::string name = statement_.table;
    const TableDefinition* table = co_await known.find(std::move(name));
    if (!table) co_return fail(no_such_table());
    Result<WriteInput> input = partiql::write_of(statement_, *table, false);
    if (!input) co_return fail(input.error());
    const auto prepare = [this](auto& action) {
      action.measure = answer_.reports();
      action.return_item_on_failure = item_on_failure_;
    };
    std::visit(prepare, *input);
    std::vector<WriteInput> inputs;
    inputs.push_back(std::move(*input));
    std::vector<Result<WriteOutput>> outputs = co_await tables.write_many(std::move(inputs));
    Result<WriteOutput>& output = outputs[0];
    if (!output) {
      co_return fail(statement_error(std::move(output.error()), statement_.kind == Statement::Kind::kInsert));
    }
    if (output->attributes) answer_.items.push_back(std::move(output->attributes));
    if (output->cost) answer_.units = write_units(*output->cost);
    co_return Result<void>{};
  }

  void write(std::string& json, const ResponseScope&) const override { answer_.write(json, statement_); }

 private:
  const Statement statement_;
  const bool item_on_failure_;
  Answer answer_;
};

}  // namespace

Parsed parse_execute_statement(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  StatementInput input = read_statement(in, in);
  ReadParameters parameters;
  parameters.consistent = in.flag("ConsistentRead");
  parameters.limit = static_cast<uint32_t>(in.number("Limit", {1, INT32_MAX}).value_or(0));
  parameters.token = in.text("NextToken", Need::kOptional, kTokenLength);
  const CapacityReport report = capacity_report_of(in);
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  parameters.fingerprint = statement_fingerprint(input.text, input.parameters);
  Result<Statement> statement = partiql::parse_statement(input.text, std::move(input.parameters));
  if (!statement) return fail(statement.error());
  if (statement->reads()) {
    return std::make_unique<SelectOperation>(std::move(*statement), std::move(parameters), report);
  }
  return std::make_unique<WriteStatementOperation>(std::move(*statement), input.item_on_failure, report);
}

}  // namespace freshet::dynamodb
