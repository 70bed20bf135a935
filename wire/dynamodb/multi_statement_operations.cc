// BatchExecuteStatement and ExecuteTransaction.
#include <algorithm>

#include "base/limits.h"
#include "tables/partiql/translate.h"
#include "tables/value/json.h"
#include "wire/dynamodb/capacity.h"
#include "wire/dynamodb/statement_input.h"

namespace freshet::dynamodb {

namespace {

using partiql::Statement;

constexpr Range kBatch{1, static_cast<int64_t>(limits::kMaxBatchWrites)};
constexpr Range kTransaction{1, static_cast<int64_t>(limits::kMaxTransactionActions)};

std::string mixed(std::string_view operation) {
  return std::string(operation) + " API does not support both read and write operations in the same request.";
}

// True if all readable statements are of one kind; `reads` says which.
template <class Members>
bool is_uniform(const Members& members, bool& reads) {
  bool any_read = false;
  bool any_write = false;
  for (const auto& member : members) {
    if (member.statement) (member.statement->reads() ? any_read : any_write) = true;
  }
  reads = any_read;
  return !(any_read && any_write);
}

// The code of one statement's error in responses.
std::string_view short_code(const Error& error) {
  if (dynamic_cast<const DuplicateItem*>(error.detail.get())) return "DuplicateItem";
  switch (error.code) {
    case ErrorCode::kValidation:
      return "ValidationError";
    case ErrorCode::kConditionalCheckFailed:
      return "ConditionalCheckFailed";
    case ErrorCode::kResourceNotFound:
      return "ResourceNotFound";
    case ErrorCode::kThroughputExceeded:
      return "ProvisionedThroughputExceeded";
    case ErrorCode::kItemCollectionSizeLimitExceeded:
      return "ItemCollectionSizeLimitExceeded";
    case ErrorCode::kRequestLimitExceeded:
      return "RequestLimitExceeded";
    case ErrorCode::kTransactionConflict:
      return "TransactionConflict";
    default:
      return "InternalServerError";
  }
}

ItemRef item_of_failure(const Error& error) {
  const ErrorDetail* detail = error.detail.get();
  if (const auto* duplicate = dynamic_cast<const DuplicateItem*>(detail)) detail = duplicate->condition.get();
  const auto* failed = dynamic_cast<const ConditionFailed*>(detail);
  return failed ? failed->item : ItemRef();
}

// --- BatchExecuteStatement ---

struct BatchMember {
  std::optional<Statement> statement;
  bool consistent = false;
  bool item_on_failure = false;
  bool table_found = false;
  std::optional<Error> error;
  ItemRef item;
};

class BatchStatements final : public Operation {
 public:
  BatchStatements(std::vector<BatchMember> members, bool reads, CapacityReport report)
      : members_(std::move(members)), reads_(reads), capacities_(report) {}

  Async<Result<void>> run(Tables& tables) override {
    StatementTables known(tables);
    std::vector<GetItemInput> gets;
    std::vector<WriteInput> writes;
    std::vector<BatchMember*> running;
    for (BatchMember& member : members_) {
      if (!member.statement) continue;
      std::string name = member.statement->table;
      const TableDefinition* table = co_await known.find(std::move(name));
      member.table_found = table != nullptr;
      if (table ? prepare(member, *table, gets, writes) : refuse(member, no_such_table())) running.push_back(&member);
    }
    if (reads_) {
      std::vector<Result<ReadOutput>> outputs = co_await tables.read_many(std::move(gets));
      for (size_t i = 0; i < running.size(); ++i) keep(*running[i], std::move(outputs[i]));
    } else {
      std::vector<Result<WriteOutput>> outputs = co_await tables.write_many(std::move(writes));
      for (size_t i = 0; i < running.size(); ++i) keep(*running[i], std::move(outputs[i]));
    }
    co_return Result<void>{};
  }

  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"Responses\":[";
    for (const BatchMember& member : members_) {
      if (!json.ends_with('[')) json += ',';
      json += '{';
      if (member.error) {
        append_error(json, *member.error);
      } else if (member.item) {
        json += "\"Item\":";
        append_row(json, *member.statement, partiql::has_paths(*member.statement), member.item);
      }
      if (member.table_found) {
        json += json.ends_with('{') ? "\"TableName\":" : ",\"TableName\":";
        append_json_string(json, member.statement->table);
      }
      json += '}';
    }
    json += ']';
    capacities_.append(json);
    json += '}';
  }

 private:
  static void append_error(std::string& json, const Error& error) {
    json += "\"Error\":{\"Code\":\"";
    json += short_code(error);
    json += "\",\"Message\":";
    append_json_string(json, error.message);
    if (const ItemRef item = item_of_failure(error)) {
      json += ",\"Item\":";
      append_item_json(json, item);
    }
    json += '}';
  }

  static bool refuse(BatchMember& member, Error error) {
    member.error = std::move(error);
    return false;
  }

  // Returns true if the statement should be carried out.
  bool prepare(BatchMember& member, const TableDefinition& table, std::vector<GetItemInput>& gets,
               std::vector<WriteInput>& writes) const {
    if (reads_) {
      auto get = partiql::get_of(*member.statement, table, partiql::Within::kBatch);
      if (!get) return refuse(member, std::move(get.error()));
      get->consistent = member.consistent;
      gets.push_back(std::move(*get));
      return true;
    }
    auto write = partiql::write_of(*member.statement, table, false);
    if (!write) return refuse(member, std::move(write.error()));
    const auto set = [&](auto& action) {
      action.measure = capacities_.wanted();
      action.return_item_on_failure = member.item_on_failure;
    };
    std::visit(set, *write);
    writes.push_back(std::move(*write));
    return true;
  }

  void keep(BatchMember& member, Result<ReadOutput> output) {
    if (!output) {
      member.error = statement_error(std::move(output.error()), false);
      return;
    }
    capacities_.add(member.statement->table, read_units(output->bytes, member.consistent));
    member.item = std::move(output->item);
  }
  void keep(BatchMember& member, Result<WriteOutput> output) {
    if (!output) {
      const bool insert = member.statement->kind == Statement::Kind::kInsert;
      member.error = statement_error(std::move(output.error()), insert);
      return;
    }
    if (output->cost) capacities_.add(member.statement->table, write_units(*output->cost));
    member.item = std::move(output->attributes);
  }

  std::vector<BatchMember> members_;
  const bool reads_;
  CapacitySums capacities_;
};

// --- ExecuteTransaction ---

struct TransactionMember {
  std::optional<Statement> statement;  // Always set.
  bool item_on_failure = false;
};

Error in_member(size_t index, Error error) {
  error.message = "Validation failed in TransactStatements[" + std::to_string(index) + "]: " + error.message;
  return error;
}

// The steps of both kinds of transactions before they read or write.
class TransactionStatements : public Operation {
 public:
  TransactionStatements(std::vector<TransactionMember> members, CapacityReport report, UnitKind kind)
      : members_(std::move(members)), capacities_(report, kind) {}

  Async<Result<void>> run(Tables& tables) override {
    StatementTables known(tables);
    auto cancelled = std::make_shared<TransactionCanceled>();
    std::string codes;
    bool missing = false;
    for (size_t i = 0; i < members_.size(); ++i) {
      std::string name = members_[i].statement->table;
      const TableDefinition* table = co_await known.find(std::move(name));
      const Error none = no_such_table();
      missing = missing || !table;
      cancelled->reasons.push_back(table ? TransactionCanceled::Reason{}
                                         : TransactionCanceled::Reason{"ResourceNotFound", none.message, {}});
      codes += (codes.empty() ? "" : ", ") + cancelled->reasons.back().code;
      if (!table) continue;
      if (auto ok = add(members_[i], *table); !ok) co_return fail(in_member(i, ok.error()));
    }
    if (missing) {
      co_return fail(ErrorCode::kTransactionCanceled,
                     "Transaction cancelled, please refer cancellation reasons for specific reasons [" + codes + "]",
                     std::move(cancelled));
    }
    Async<Result<void>> work = carry_out(tables);
    Result<void> outcome = co_await work;
    co_return outcome;
  }

 protected:
  virtual Result<void> add(const TransactionMember& member, const TableDefinition& table) = 0;
  virtual Async<Result<void>> carry_out(Tables& tables) = 0;

  std::vector<TransactionMember> members_;
  CapacitySums capacities_;
};

class ReadTransaction final : public TransactionStatements {
 public:
  ReadTransaction(std::vector<TransactionMember> members, CapacityReport report)
      : TransactionStatements(std::move(members), report, UnitKind::kRead) {}

  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"Responses\":[";
    for (size_t i = 0; i < outputs_.size(); ++i) {
      json += i == 0 ? "{" : ",{";
      if (outputs_[i].item) {
        json += "\"Item\":";
        append_row(json, *members_[i].statement, partiql::has_paths(*members_[i].statement), outputs_[i].item);
      }
      json += '}';
    }
    json += ']';
    capacities_.append(json);
    json += '}';
  }

 private:
  Result<void> add(const TransactionMember& member, const TableDefinition& table) override {
    auto get = partiql::get_of(*member.statement, table, partiql::Within::kTransaction);
    if (!get) return fail(get.error());
    gets_.push_back(std::move(*get));
    return {};
  }
  Async<Result<void>> carry_out(Tables& tables) override {
    Result<std::vector<ReadOutput>> outputs = co_await tables.transact_get(std::move(gets_));
    if (!outputs) co_return fail(statement_error(std::move(outputs.error()), false));
    outputs_ = std::move(*outputs);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      capacities_.add(members_[i].statement->table, transaction_units(read_units(outputs_[i].bytes, true)));
    }
    co_return Result<void>{};
  }

  std::vector<GetItemInput> gets_;
  std::vector<ReadOutput> outputs_;
};

class WriteTransaction final : public TransactionStatements {
 public:
  WriteTransaction(std::vector<TransactionMember> members, CapacityReport report, std::string token)
      : TransactionStatements(std::move(members), report, UnitKind::kWrite) {
    input_.token = std::move(token);
  }

  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"Responses\":[]";
    capacities_.append(json);
    json += '}';
  }

 private:
  Result<void> add(const TransactionMember& member, const TableDefinition& table) override {
    if (member.statement->returning) return invalid("RETURNING clause is not supported in ExecuteTransaction.");
    auto write = partiql::write_of(*member.statement, table, true);
    if (!write) return fail(write.error());
    const auto set = [&](auto& action) {
      action.measure = capacities_.wanted();
      action.return_item_on_failure = member.item_on_failure;
    };
    std::visit(set, *write);
    input_.actions.push_back(std::move(*write));
    return {};
  }

  Async<Result<void>> carry_out(Tables& tables) override {
    Result<TransactWriteOutput> output = co_await tables.transact_write(std::move(input_));
    if (!output) co_return fail(with_duplicates(std::move(output.error())));
    if (output->repeated) capacities_.set_kind(UnitKind::kRead);
    for (size_t i = 0; i < output->outputs.size(); ++i) {
      const auto& cost = output->outputs[i].cost;
      if (!cost) continue;
      const Units units = output->repeated ? read_units(cost->bytes, true) : write_units(*cost);
      capacities_.add(members_[i].statement->table, transaction_units(units));
    }
    co_return Result<void>{};
  }

  // The store gives the reasons in its own terms.
  Error with_duplicates(Error error) const {
    const auto* cancelled = dynamic_cast<const TransactionCanceled*>(error.detail.get());
    if (!cancelled) return statement_error(std::move(error), false);
    auto detail = std::make_shared<TransactionCanceled>(*cancelled);
    std::string codes;
    for (size_t i = 0; i < detail->reasons.size(); ++i) {
      auto& reason = detail->reasons[i];
      const bool insert = members_[i].statement->kind == Statement::Kind::kInsert;
      if (reason.code == "ConditionalCheckFailed") {
        const Error translated = statement_error({ErrorCode::kConditionalCheckFailed, reason.message, nullptr}, insert);
        reason.code = short_code(translated);
        reason.message = translated.message;
      }
      codes += (codes.empty() ? "" : ", ") + reason.code;
    }
    error.message = "Transaction cancelled, please refer cancellation reasons for specific reasons [" + codes + "]";
    error.detail = std::move(detail);
    return error;
  }

  TransactWriteInput input_;
};

}  // namespace

Parsed parse_batch_execute_statement(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  const CapacityReport report = capacity_report_of(in);
  std::vector<ListedStatement> listed = read_statements(body, in, "Statements", kBatch);
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  std::vector<BatchMember> members;
  for (ListedStatement& one : listed) {
    BatchMember& member = members.emplace_back();
    member.consistent = one.consistent;
    member.item_on_failure = one.input.item_on_failure;
    member.error = std::move(one.invalid);
    if (member.error) continue;
    Result<Statement> statement = partiql::parse_statement(one.input.text, std::move(one.input.parameters));
    if (statement) {
      member.statement = std::move(*statement);
    } else {
      member.error = std::move(statement.error());
    }
  }
  bool reads = false;
  if (!is_uniform(members, reads)) return invalid(mixed("BatchExecuteStatement"));
  return std::make_unique<BatchStatements>(std::move(members), reads, report);
}

Parsed parse_execute_transaction(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  std::string token = in.text("ClientRequestToken", Need::kOptional, {1, 36});
  const CapacityReport report = capacity_report_of(in);
  std::vector<ListedStatement> listed = read_statements(body, in, "TransactStatements", kTransaction);
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  for (const ListedStatement& one : listed) {
    if (one.invalid) return fail(*one.invalid);
  }
  std::vector<TransactionMember> members;
  for (ListedStatement& one : listed) {
    Result<Statement> statement = partiql::parse_statement(one.input.text, std::move(one.input.parameters));
    if (!statement) return fail(in_member(members.size(), std::move(statement.error())));
    members.push_back({std::move(*statement), one.input.item_on_failure});
  }
  bool reads = false;
  if (!is_uniform(members, reads)) return invalid(mixed("ExecuteTransaction"));
  if (reads) return std::make_unique<ReadTransaction>(std::move(members), report);
  return std::make_unique<WriteTransaction>(std::move(members), report, std::move(token));
}

}  // namespace freshet::dynamodb
