// UpdateTable.
#include <algorithm>

#include "wire/dynamodb/operation.h"
#include "wire/dynamodb/table_input.h"
#include "wire/dynamodb/table_json.h"

namespace freshet::dynamodb {

namespace {

struct IndexChange {
  std::optional<IndexDefinition> create;
  std::string update;
  std::string remove;
  std::optional<Throughput> throughput;  // The throughput of the created or updated part.
};

struct TableChange {
  std::string billing;  // "" if it is not said.
  std::optional<Throughput> throughput;
  std::optional<StreamChange> stream;
  std::vector<IndexChange> indexes;
  std::optional<std::string> table_class;
  std::optional<bool> deletion_protection;
};

tl::unexpected<Error> refuse(const std::string& text) {
  return invalid("One or more parameter values were invalid: " + text);
}

Result<void> change_billing(const TableChange& change, TableSettings& settings) {
  if (change.billing == "PAY_PER_REQUEST") {
    if (change.throughput) {
      return refuse(
          "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST");
    }
    settings.throughput.reset();
    settings.index_throughput.clear();
    return {};
  }
  if (change.billing == "PROVISIONED" && !change.throughput && !settings.throughput) {
    return refuse("ProvisionedThroughput must be specified when BillingMode is PROVISIONED");
  }
  if (!change.throughput) return {};
  if (change.billing.empty() && !settings.throughput) {
    return refuse(
        "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST");
  }
  if (settings.throughput == change.throughput) {
    const std::string read = std::to_string(change.throughput->read);
    const std::string write = std::to_string(change.throughput->write);
    return invalid(
        "The provisioned throughput for the table will not change. The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for the table: " +
        read + ". Requested ReadCapacityUnits: " + read + ". Current WriteCapacityUnits provisioned for the table: " +
        write + ". Requested WriteCapacityUnits: " + write +
        ". Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.");
  }
  settings.throughput = change.throughput;
  return {};
}

Result<void> change_stream(const TableChange& change, TableDefinition& table) {
  if (!change.stream) return {};
  if (change.stream->enabled && table.stream) {
    return invalid("Table already has an enabled stream: TableName: " + table.name);
  }
  if (!change.stream->enabled && !table.stream) {
    return invalid("Table has no stream to disable: TableName: " + table.name);
  }
  table.stream = change.stream->enabled ? std::optional(change.stream->view) : std::nullopt;
  return {};
}

Result<void> change_index(const IndexChange& change, const TableDescription& now, TableDefinition& table) {
  const std::string name = change.create ? change.create->name : change.update + change.remove;
  const auto there = std::find_if(table.indexes.begin(), table.indexes.end(),
                                  [&](const IndexDefinition& index) { return index.name == name; });
  if (change.create) {
    if (there != table.indexes.end()) return refuse("Attempting to create an index which already exists: " + name);
    const bool building =
        std::any_of(now.indexes.begin(), now.indexes.end(), [](const IndexState& state) { return state.building; });
    if (building) {
      return fail(ErrorCode::kLimitExceeded,
                  "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table");
    }
    table.indexes.push_back(*change.create);
  } else if (there == table.indexes.end() || there->local) {
    return fail(ErrorCode::kResourceNotFound, "Requested resource not found");
  } else if (!change.remove.empty()) {
    table.indexes.erase(there);
    table.settings.index_throughput.erase(name);
    return {};
  }
  if (!change.throughput) {
    if (!change.create || !table.settings.throughput) return {};
    return refuse("ProvisionedThroughput is not specified for index: " + name);
  }
  if (!table.settings.throughput) {
    return refuse("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: " + name +
                  " when BillingMode is PAY_PER_REQUEST");
  }
  table.settings.index_throughput[name] = *change.throughput;
  return {};
}

// The definition that the change makes.
Result<TableDefinition> changed(const TableChange& change, const TableDescription& now) {
  TableDefinition table = now.definition;
  if (auto ok = change_billing(change, table.settings); !ok) return fail(ok.error());
  if (auto ok = change_stream(change, table); !ok) return fail(ok.error());
  for (const IndexChange& index : change.indexes) {
    if (auto ok = change_index(index, now, table); !ok) return fail(ok.error());
  }
  if (change.table_class) table.settings.table_class = *change.table_class;
  if (change.deletion_protection) table.settings.deletion_protection = *change.deletion_protection;
  return table;
}

class UpdateTable final : public Operation {
 public:
  UpdateTable(std::string name, TableChange change) : name_(std::move(name)), change_(std::move(change)) {}

  Async<Result<void>> run(Tables& tables) override {
    if (is_system_table(name_)) co_return table_not_found(name_);
    std::string name = name_;
    Result<TableDescription> found = co_await tables.describe_table(std::move(name));
    if (!found) co_return fail(found.error());
    Result<TableDefinition> wanted = changed(change_, *found);
    if (!wanted) co_return fail(wanted.error());
    Result<TableDescription> altered = co_await tables.alter_table(std::move(*wanted));
    if (!altered) co_return fail(altered.error());
    table_ = std::move(*altered);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope& place) const override {
    json += "{\"TableDescription\":";
    append_table_json(json, table_, "UPDATING", place);
    json += '}';
  }

 private:
  const std::string name_;
  const TableChange change_;
  TableDescription table_;
};

std::vector<IndexChange> read_index_changes(const Input& in) {
  std::vector<IndexChange> changes;
  const AttributeTypes types = read_attributes(in, Need::kOptional);
  std::set<std::string> used;
  std::set<std::string> names;
  size_t online = 0;
  for (const Input& entry : in.list("GlobalSecondaryIndexUpdates")) {
    const auto create = entry.structure("Create");
    const auto update = entry.structure("Update");
    const auto remove = entry.structure("Delete");
    if (create.has_value() + update.has_value() + remove.has_value() != 1) {
      refuse_parameter(in, create || update || remove
                               ? "Only one of Create, Update and Delete may be in a GlobalSecondaryIndexUpdate"
                               : "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                                 "GlobalSecondaryIndexUpdate.Delete must not be null");
      continue;
    }
    IndexChange& change = changes.emplace_back();
    if (create) {
      change.create = read_index(*create, false, types, used);
      change.throughput = read_throughput(*create);
    } else if (update) {
      change.update = update->pattern_text("IndexName", Need::kRequired, {3, 255});
      change.throughput = read_throughput(*update);
      if (!change.throughput && !update->has("OnDemandThroughput") && !update->has("WarmThroughput")) {
        refuse_parameter(in, "Update of an index needs ProvisionedThroughput, OnDemandThroughput or WarmThroughput: " +
                                 change.update);
      }
    } else {
      change.remove = remove->pattern_text("IndexName", Need::kRequired, {3, 255});
    }
    const std::string& name = change.create ? change.create->name : change.update + change.remove;
    if (!names.insert(name).second) {
      refuse_parameter(in,
                       "Only one global secondary index update per index is allowed simultaneously. Index: " + name);
    }
    online += !update.has_value();
  }
  if (online > 1) {
    in.checks().add(
        {ErrorCode::kLimitExceeded,
         "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table", nullptr});
  }
  return changes;
}

}  // namespace

Parsed parse_update_table(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  std::string name = in.managed_table();
  TableChange change;
  change.billing = in.choice("BillingMode", {"PROVISIONED", "PAY_PER_REQUEST"});
  change.throughput = read_throughput(in);
  change.stream = read_stream(in);
  change.indexes = read_index_changes(in);
  if (in.has("TableClass")) change.table_class = read_table_class(in);
  if (in.has("DeletionProtectionEnabled")) change.deletion_protection = in.flag("DeletionProtectionEnabled");
  check_accepted(in);
  in.refuse(
      {"ReplicaUpdates", "MultiRegionConsistency", "GlobalTableWitnessUpdates", "GlobalTableSettingsReplicationMode"});
  const bool nothing = change.billing.empty() && !change.throughput && !change.stream && change.indexes.empty() &&
                       !change.table_class && !change.deletion_protection && !in.has("SSESpecification") &&
                       !in.has("OnDemandThroughput") && !in.has("WarmThroughput");
  if (nothing) {
    checks.add({ErrorCode::kValidation,
                "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates "
                "or SSESpecification or ReplicaUpdates is required",
                nullptr});
  }
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<UpdateTable>(std::move(name), std::move(change));
}

}  // namespace freshet::dynamodb
