#include "tables/partiql/translate.h"

#include <algorithm>
#include <unordered_set>

#include "tables/engine/keys.h"
#include "tables/expression/paths.h"
#include "tables/expression/text.h"
#include "tables/expression/walk.h"
#include "tables/partiql/expression_writer.h"

namespace freshet::partiql {

using expression::concat;
using expression::Condition;
using expression::Operand;
using expression::Operator;
using expression::Path;

namespace {

constexpr const char* kInvalid = "One or more parameter values were invalid: ";

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += concat(out.empty() ? "" : ", ", name);
  return out;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (!holds(names, name)) names.push_back(name);
}

// The attributes that a SELECT reads for its columns, each once.
std::vector<std::string> projected(const Statement& statement) {
  std::vector<std::string> names;
  std::unordered_set<std::string_view> seen;
  for (const Path& path : statement.projection) {
    if (seen.insert(path[0].name).second) names.push_back(path[0].name);
  }
  return names;
}

std::string projection_text(const Statement& statement, ExpressionWriter& writer) {
  std::string out;
  for (const auto& name : projected(statement)) out += concat(out.empty() ? "" : ",", writer.name(name));
  return out;
}

// --- SELECT ---

Result<void> check_projected(const Statement& statement, const IndexDefinition& index,
                             const std::vector<std::string>& held) {
  std::vector<std::string> lacking;
  for (auto& name : projected(statement)) {
    if (!holds(held, name)) lacking.push_back(std::move(name));
  }
  if (lacking.empty() || index.local) return {};
  return invalid(concat(kInvalid, "Global secondary index ", index.name, " does not project [", joined(lacking), "]"));
}

// A read by key does not filter by what the index lacks; a scan finds that nowhere.
Result<void> check_filtered(const std::vector<KeyRead>& reads, const IndexDefinition& index,
                            const std::vector<std::string>& held) {
  for (const KeyRead& read : reads) {
    std::vector<std::string> lacking;
    for (const Condition* part : read.filter) {
      expression::each_path(*part, [&](const Path& path) {
        if (!holds(held, path[0].name)) add_once(lacking, path[0].name);
      });
    }
    if (lacking.empty()) continue;
    return invalid(concat(kInvalid, "Secondary index ", index.name,
                          " does not project one or more filter attributes: [", joined(lacking), "]"));
  }
  return {};
}

// Puts the reads into the order that the statement asks for.
Result<void> apply_order(const Statement& statement, SelectPlan& plan) {
  if (statement.order.empty()) return {};
  if (!statement.where) return invalid("Must have WHERE clause in the statement when using ORDER BY clause.");
  const OrderTerm* by_partition = nullptr;
  const OrderTerm* by_sort = nullptr;
  for (const OrderTerm& term : statement.order) {
    if (term.attribute == plan.keys.partition.name) {
      by_partition = &term;
    } else if (plan.keys.sort && term.attribute == plan.keys.sort->name) {
      by_sort = &term;
    } else {
      return invalid(concat("Attribute ", term.attribute, " in ORDER BY clause must be part of the primary key"));
    }
  }
  if (plan.scans) {
    return invalid(
        "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.");
  }
  const auto partition = [&](const KeyRead& read) -> const Value& { return statement.values[read.partition]; };
  if (!by_partition && !(partition(plan.reads.front()) == partition(plan.reads.back()))) {
    return invalid(
        "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.");
  }
  // As the service has it: ordered by the partition key alone, the sort keys fall.
  plan.forward = by_sort && !by_sort->descending;
  const bool falling = by_partition && by_partition->descending;
  if (falling) std::reverse(plan.reads.begin(), plan.reads.end());
  if (falling != plan.forward) return {};  // The reads of one partition stand in the order of their sort keys.
  for (auto first = plan.reads.begin(); first != plan.reads.end();) {
    const auto last = std::find_if(first, plan.reads.end(),
                                   [&](const KeyRead& read) { return !(partition(read) == partition(*first)); });
    std::reverse(first, last);
    first = last;
  }
  return {};
}

void append_sort(std::string& out, const SortTest& test, const std::string& name, ExpressionWriter& writer) {
  const std::string first = writer.value(test.first);
  if (test.op == Operator::kFunction) {
    out += concat(" AND begins_with(", name, ",", first, ")");
  } else if (test.op == Operator::kBetween) {
    out += concat(" AND ", name, " BETWEEN ", first, " AND ", writer.value(test.second));
  } else {
    out += concat(" AND ", name, expression::operator_name(test.op), first);
  }
}

Result<const IndexDefinition*> find_index(const Statement& statement, const TableDefinition& table, bool consistent) {
  if (statement.index.empty()) return nullptr;
  const IndexDefinition* index = table.index(statement.index);
  if (!index) return invalid("The table does not have the specified index");
  if (index->keys.is_composite()) {
    return invalid(concat("Statements cannot read index ", index->name,
                          ": a part of its key has several attributes; use Query or Scan"));
  }
  if (consistent && !index->local) {
    return invalid("Strongly consistent read is not supported on Global Secondary Indexes");
  }
  return index;
}

// --- Writes ---

struct KeyAndCondition {
  Item key;
  std::vector<const Condition*> rest;
};

void flatten(const Condition& condition, std::vector<const Condition*>& out) {
  if (condition.op != Operator::kAnd) return out.push_back(&condition);
  for (const Condition& child : condition.children) flatten(child, out);
}

// Splits the WHERE of a write: equalities name the item, the rest is its condition.
Result<KeyAndCondition> split(const Statement& statement, const KeySchema& keys, bool in_transaction) {
  KeyAndCondition out;
  if (statement.where) flatten(*statement.where, out.rest);
  for (const KeyAttribute* key : {&keys.partition, keys.sort ? &*keys.sort : nullptr}) {
    if (!key) continue;
    bool several = false;
    std::erase_if(out.rest, [&](const Condition* part) {
      const auto slot = equality_on(*part, key->name);
      if (!slot) return false;
      const Value& value = statement.values[*slot];
      const Value* known = out.key.find(key->name);
      if (known && !(*known == value)) return several = true, false;
      out.key.set(key->name, value);
      return true;
    });
    if (!several || statement.kind == Statement::Kind::kExists) continue;
    if (!in_transaction) {
      return invalid(concat("Multiple conditions on same key ", key->name,
                            ". Only single item Update/Insert/Delete are supported"));
    }
    out.key.erase(key->name);
  }
  const bool whole = out.key.size() == (keys.sort ? 2 : 1);
  if (statement.kind == Statement::Kind::kExists) {
    if (!whole || out.rest.empty()) {
      return invalid("EXISTS() must contain a single item read with additional condition");
    }
  } else if (!whole && !in_transaction) {
    return invalid("Where clause does not contain a mandatory equality on all key attributes");
  }
  return out;
}

// `attribute_exists(key) AND rest`
std::string existing(const KeyAndCondition& parts, const KeySchema& keys, ExpressionWriter& writer) {
  std::string out = concat("attribute_exists(", writer.name(keys.partition.name), ")");
  for (const Condition* part : parts.rest) {
    const std::string text = writer.condition(*part);
    out += part->op == Operator::kOr ? concat(" AND (", text, ")") : concat(" AND ", text);
  }
  return out;
}

WriteInput insert_of(const Statement& statement, const KeySchema& keys) {
  PutItemInput input;
  input.table = statement.table;
  input.item = statement.item;
  ExpressionWriter writer(statement);
  input.condition = concat("attribute_not_exists(", writer.name(keys.partition.name), ")");
  input.placeholders = writer.take();
  return input;
}

Result<WriteInput> update_of(const Statement& statement, const KeySchema& keys, bool in_transaction) {
  auto parts = split(statement, keys, in_transaction);
  if (!parts) return fail(parts.error());
  UpdateItemInput input;
  input.table = statement.table;
  ExpressionWriter writer(statement);
  input.update = writer.update(statement.actions);
  input.condition = existing(*parts, keys, writer);
  input.placeholders = writer.take();
  input.key = std::move(parts->key);
  input.return_values = statement.returning.value_or(ReturnValues::kNone);
  return input;
}

// An item that is not there is deleted already, whatever the condition.
Result<WriteInput> delete_of(const Statement& statement, const KeySchema& keys, bool in_transaction) {
  auto parts = split(statement, keys, in_transaction);
  if (!parts) return fail(parts.error());
  DeleteItemInput input;
  input.table = statement.table;
  ExpressionWriter writer(statement);
  if (!parts->rest.empty()) {
    const std::string rest = writer.conjunction(parts->rest);
    input.condition = concat("attribute_not_exists(", writer.name(keys.partition.name), ") OR ", rest);
  }
  input.placeholders = writer.take();
  input.key = std::move(parts->key);
  input.return_values = statement.returning.value_or(ReturnValues::kNone);
  return input;
}

Result<WriteInput> check_of(const Statement& statement, const TableDefinition& table) {
  if (!statement.index.empty()) return invalid("Operations on indices are not supported in transactions");
  auto parts = split(statement, table.keys, true);
  if (!parts) return fail(parts.error());
  ConditionCheckInput input;
  input.table = statement.table;
  ExpressionWriter writer(statement);
  input.condition = existing(*parts, table.keys, writer);
  input.placeholders = writer.take();
  input.key = std::move(parts->key);
  return input;
}

}  // namespace

Result<SelectPlan> plan_select(const Statement& statement, const TableDefinition& table, bool consistent) {
  auto index = find_index(statement, table, consistent);
  if (!index) return fail(index.error());
  SelectPlan plan;
  plan.statement = &statement;
  plan.keys = *index ? (*index)->keys : table.keys;
  plan.local_index = *index && (*index)->local;
  plan.consistent = consistent;
  auto reads = key_reads(statement, plan.keys);
  if (!reads) return fail(reads.error());
  plan.scans = !*reads;
  if (*reads) plan.reads = std::move(**reads);
  if (auto ok = apply_order(statement, plan); !ok) return fail(ok.error());
  if (auto ok = check_key_types(plan.reads, statement, plan.keys); !ok) return fail(ok.error());
  const auto held = *index ? held_attributes(table, **index) : std::vector<std::string>();
  if (!held.empty()) {
    if (auto ok = check_projected(statement, **index, held); !ok) return fail(ok.error());
    if (auto ok = check_filtered(plan.reads, **index, held); !ok) return fail(ok.error());
  }
  plan.weight = 1 + statement.projection.size() + (statement.where ? expression::count_operands(*statement.where) : 0);
  return plan;
}

QueryInput query_of(const SelectPlan& plan, size_t read) {
  const KeyRead& what = plan.reads[read];
  QueryInput input;
  input.table = plan.statement->table;
  input.index = plan.statement->index;
  ExpressionWriter writer(*plan.statement);
  input.key_condition = concat(writer.name(plan.keys.partition.name), "=", writer.value(what.partition));
  if (what.sort) append_sort(input.key_condition, *what.sort, writer.name(plan.keys.sort->name), writer);
  input.filter = writer.conjunction(what.filter);
  input.projection = projection_text(*plan.statement, writer);
  input.placeholders = writer.take();
  input.forward = plan.forward;
  input.consistent = plan.consistent;
  input.by_statement = true;
  return input;
}

ScanInput scan_of(const SelectPlan& plan) {
  ScanInput input;
  input.table = plan.statement->table;
  input.index = plan.statement->index;
  ExpressionWriter writer(*plan.statement);
  if (plan.statement->where) input.filter = writer.condition(*plan.statement->where);
  input.projection = projection_text(*plan.statement, writer);
  input.placeholders = writer.take();
  input.consistent = plan.consistent;
  input.by_statement = true;
  return input;
}

Result<GetItemInput> get_of(const Statement& statement, const TableDefinition& table, Within within) {
  const bool batch = within == Within::kBatch;
  if (!batch && !statement.index.empty()) {
    return invalid("Reads on indices are not supported within transactions.");
  }
  auto reads = key_reads(statement, table.keys);
  if (!reads) return fail(reads.error());
  const KeyRead* read = statement.index.empty() && *reads && (*reads)->size() == 1 ? &(**reads)[0] : nullptr;
  const bool whole =
      read && read->filter.empty() && (!table.keys.sort || (read->sort && read->sort->op == Operator::kEqual));
  if (!whole || !statement.order.empty()) {
    return invalid(concat("Select statements within ", batch ? "BatchExecuteStatement" : "ExecuteTransaction",
                          " must specify the primary key in the where clause."));
  }
  if (batch) {
    if (auto ok = check_key_types(**reads, statement, table.keys); !ok) return fail(ok.error());
  }
  GetItemInput input;
  input.table = statement.table;
  input.key.set(table.keys.partition.name, statement.values[read->partition]);
  if (read->sort) input.key.set(table.keys.sort->name, statement.values[read->sort->first]);
  ExpressionWriter writer(statement);
  input.projection = projection_text(statement, writer);
  input.placeholders = writer.take();
  return input;
}

Result<WriteInput> write_of(const Statement& statement, const TableDefinition& table, bool in_transaction) {
  switch (statement.kind) {
    case Statement::Kind::kInsert:
      return insert_of(statement, table.keys);
    case Statement::Kind::kUpdate:
      return update_of(statement, table.keys, in_transaction);
    case Statement::Kind::kDelete:
      return delete_of(statement, table.keys, in_transaction);
    default:
      if (in_transaction) return check_of(statement, table);
      return invalid("EXISTS can only be used in ExecuteTransaction write requests.");
  }
}

bool has_paths(const Statement& statement) {
  return std::any_of(statement.projection.begin(), statement.projection.end(),
                     [](const Path& path) { return path.size() > 1; });
}

Item columns_of(const Statement& statement, const ItemRef& item) {
  const Item attributes = item.decode();
  std::vector<Map::Entry> columns;
  for (const Path& path : statement.projection) {
    if (const Value* value = expression::find(path, attributes, {})) columns.emplace_back(column_name(path), *value);
  }
  return Map::from_entries(std::move(columns));
}

}  // namespace freshet::partiql
