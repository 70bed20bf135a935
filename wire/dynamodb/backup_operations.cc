// CreateBackup, DescribeBackup, ListBackups, DeleteBackup, RestoreTableFromBackup.
#include <algorithm>

#include "tables/backups.h"
#include "wire/dynamodb/operation.h"
#include "wire/dynamodb/table_input.h"
#include "wire/dynamodb/table_json.h"

namespace freshet::dynamodb {

namespace {

constexpr Range kBackupArnLength{37, 1024};

// The parts of a backup's ARN; empty if it is not one.
struct BackupName {
  std::string table;
  std::string id;
};

BackupName parse_backup_arn(const std::string& arn) {
  constexpr std::string_view kTable = ":table/";
  constexpr std::string_view kBackup = "/backup/";
  const size_t table = arn.find(kTable);
  const size_t backup = arn.find(kBackup);
  if (!arn.starts_with("arn:") || table == std::string::npos || backup == std::string::npos || backup < table)
    return {};
  const size_t begin = table + kTable.size();
  return {arn.substr(begin, backup - begin), arn.substr(backup + kBackup.size())};
}

tl::unexpected<Error> backup_not_found(const std::string& arn) {
  return fail(ErrorCode::kBackupNotFound, "Backup not found: " + arn);
}

Result<Backups*> backups_of(Tables& tables) {
  if (Backups* backups = tables.backups()) return backups;
  return fail(ErrorCode::kUnknownOperation, "This store makes no backups");
}

// The backup that the ARN names; its table's name must be right, too.
Async<Result<BackupDescription>> find_backup(Backups& backups, std::string arn) {
  BackupName name = parse_backup_arn(arn);
  auto found = co_await backups.describe(std::move(name.id));
  if (!found && found.error().code == ErrorCode::kBackupNotFound) co_return backup_not_found(arn);
  if (found && found->table.definition.name != name.table) co_return backup_not_found(arn);
  co_return found;
}

void append_details(std::string& json, const BackupDescription& backup, std::string_view status,
                    const ResponseScope& place) {
  append_member(json, "BackupArn", place.backup_arn(backup));
  append_member(json, "BackupName", backup.name);
  json += ",\"BackupSizeBytes\":" + std::to_string(backup.table.bytes);
  append_member(json, "BackupStatus", status);
  append_member(json, "BackupType", "USER");
  json += ",\"BackupCreationDateTime\":" + seconds_of(backup.created);
}

std::string_view status_of(const BackupDescription& backup) {
  return backup.available ? "AVAILABLE" : "CREATING";
}

void append_source(std::string& json, const TableDescription& table, const ResponseScope& place) {
  const TableDefinition& definition = table.definition;
  append_member(json, "TableName", definition.name);
  append_member(json, "TableId", table.id);
  append_member(json, "TableArn", place.table_arn(definition.name));
  json += ",\"TableSizeBytes\":" + std::to_string(table.bytes) + ",\"ItemCount\":" + std::to_string(table.items) + ',';
  append_key_schema(json, definition.keys);
  json += ",\"TableCreationDateTime\":" + seconds_of(table.created);
  append_units(json, definition.settings.throughput);
  append_member(json, "BillingMode", definition.settings.throughput ? "PROVISIONED" : "PAY_PER_REQUEST");
}

void append_features(std::string& json, const TableDefinition& table) {
  append_index_infos(json, table, true);
  append_index_infos(json, table, false);
  if (table.stream) {
    json += json.ends_with('{') ? "\"StreamDescription\":{" : ",\"StreamDescription\":{";
    json += "\"StreamEnabled\":true";
    append_member(json, "StreamViewType", stream_view_name(*table.stream));
    json += '}';
  }
  json += json.ends_with('{') ? "\"TimeToLiveDescription\":{" : ",\"TimeToLiveDescription\":{";
  append_member(json, "TimeToLiveStatus", table.ttl_attribute ? "ENABLED" : "DISABLED");
  if (table.ttl_attribute) append_member(json, "AttributeName", *table.ttl_attribute);
  json += '}';
}

void append_description(std::string& json, const BackupDescription& backup, std::string_view status,
                        const ResponseScope& place) {
  json += "{\"BackupDescription\":{\"BackupDetails\":{";
  append_details(json, backup, status, place);
  json += "},\"SourceTableDetails\":{";
  append_source(json, backup.table, place);
  json += "},\"SourceTableFeatureDetails\":{";
  append_features(json, backup.table.definition);
  json += "}}}";
}

class CreateBackup final : public Operation {
 public:
  CreateBackup(std::string table, std::string name) : table_(std::move(table)), name_(std::move(name)) {}
  Async<Result<void>> run(Tables& tables) override {
    auto backups = backups_of(tables);
    if (!backups) co_return fail(backups.error());
    if (is_system_table(table_)) co_return fail(ErrorCode::kTableNotFound, "Table not found: " + table_);
    auto made = co_await (*backups)->create(std::move(table_), std::move(name_));
    if (!made) co_return fail(made.error());
    backup_ = std::move(*made);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope& place) const override {
    json += "{\"BackupDetails\":{";
    append_details(json, backup_, status_of(backup_), place);
    json += "}}";
  }

 private:
  std::string table_;
  std::string name_;
  BackupDescription backup_;
};

class DescribeBackup final : public Operation {
 public:
  explicit DescribeBackup(std::string arn) : arn_(std::move(arn)) {}
  Async<Result<void>> run(Tables& tables) override {
    auto backups = backups_of(tables);
    if (!backups) co_return fail(backups.error());
    auto found = co_await find_backup(**backups, std::move(arn_));
    if (!found) co_return fail(found.error());
    backup_ = std::move(*found);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope& place) const override {
    append_description(json, backup_, status_of(backup_), place);
  }

 private:
  std::string arn_;
  BackupDescription backup_;
};

class DeleteBackup final : public Operation {
 public:
  explicit DeleteBackup(std::string arn) : arn_(std::move(arn)) {}
  Async<Result<void>> run(Tables& tables) override {
    auto backups = backups_of(tables);
    if (!backups) co_return fail(backups.error());
    auto found = co_await find_backup(**backups, std::move(arn_));
    if (!found) co_return fail(found.error());
    auto gone = co_await (*backups)->remove(std::move(found->id));
    if (!gone) co_return fail(gone.error());
    backup_ = std::move(*gone);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope& place) const override {
    append_description(json, backup_, "DELETED", place);
  }

 private:
  std::string arn_;
  BackupDescription backup_;
};

class ListBackups final : public Operation {
 public:
  ListBackups(ListBackupsInput input, bool user) : input_(std::move(input)), user_(user) {}
  Async<Result<void>> run(Tables& tables) override {
    auto backups = backups_of(tables);
    if (!backups) co_return fail(backups.error());
    if (!user_) co_return Result<void>{};
    auto page = co_await (*backups)->list(std::move(input_));
    if (!page) co_return fail(page.error());
    page_ = std::move(*page);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope& place) const override {
    json += "{\"BackupSummaries\":[";
    for (const BackupDescription& backup : page_.backups) {
      json += json.ends_with('[') ? "{" : ",{";
      const TableDescription& table = backup.table;
      append_member(json, "TableName", table.definition.name);
      append_member(json, "TableId", table.id);
      append_member(json, "TableArn", place.table_arn(table.definition.name));
      append_details(json, backup, status_of(backup), place);
      json += '}';
    }
    json += ']';
    if (page_.more) append_member(json, "LastEvaluatedBackupArn", place.backup_arn(page_.backups.back()));
    json += '}';
  }

 private:
  ListBackupsInput input_;
  const bool user_;  // True if backups that users make are requested: there are no others.
  BackupPage page_;
};

struct RestoreChange {
  std::string table;
  std::string billing;  // Empty for that of the backup.
  std::optional<Throughput> throughput;
  // The wanted indexes, with their keys' names but not their types; empty for all.
  std::optional<std::vector<IndexDefinition>> locals;
  std::optional<std::vector<IndexDefinition>> globals;
  std::map<std::string, Throughput, std::less<>> index_throughput;
};

// True if the override describes the index as it is; its keys have no types.
bool is_same(const IndexDefinition& wanted, const IndexDefinition& index) {
  const auto same = [](const auto& a, const auto& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto* x, const auto* y) { return x->name == y->name; });
  };
  auto included = std::pair(wanted.included, index.included);
  std::sort(included.first.begin(), included.first.end());
  std::sort(included.second.begin(), included.second.end());
  return same(wanted.keys.partition_attributes(), index.keys.partition_attributes()) &&
         same(wanted.keys.sort_attributes(), index.keys.sort_attributes()) && wanted.projection == index.projection &&
         included.first == included.second;
}

Result<void> choose_indexes(const std::optional<std::vector<IndexDefinition>>& wanted, bool local,
                            TableDefinition& table) {
  if (!wanted) return {};
  for (const IndexDefinition& index : *wanted) {
    const IndexDefinition* known = table.index(index.name);
    if (known && known->local == local && is_same(index, *known)) continue;
    return invalid("One or more parameter values were invalid: The index " + index.name +
                   " of the override does not match an index of the backup");
  }
  std::erase_if(table.indexes, [&](const IndexDefinition& index) {
    return index.local == local &&
           std::none_of(wanted->begin(), wanted->end(), [&](const IndexDefinition& w) { return w.name == index.name; });
  });
  return {};
}

Result<void> choose_billing(const RestoreChange& change, TableSettings& settings) {
  const bool by_request = change.billing == "PAY_PER_REQUEST";
  if (by_request && (change.throughput || !change.index_throughput.empty())) {
    return invalid(
        "One or more parameter values were invalid: ProvisionedThroughputOverride cannot be specified when "
        "BillingModeOverride is PAY_PER_REQUEST");
  }
  if (change.billing == "PROVISIONED" && !change.throughput && !settings.throughput) {
    return invalid(
        "One or more parameter values were invalid: ProvisionedThroughputOverride must be specified when "
        "BillingModeOverride is PROVISIONED");
  }
  if (by_request || (change.billing.empty() && !change.throughput && !settings.throughput)) {
    settings.throughput.reset();
    settings.index_throughput.clear();
    return {};
  }
  if (change.throughput) settings.throughput = change.throughput;
  for (const auto& [name, throughput] : change.index_throughput) settings.index_throughput[name] = throughput;
  return {};
}

// The definition of the restored table: without stream, TTL, tags, books and protection, as at the service.
Result<TableDefinition> restored(const RestoreChange& change, const TableDefinition& source) {
  TableDefinition table;
  table.name = change.table;
  table.keys = source.keys;
  table.indexes = source.indexes;
  table.settings.throughput = source.settings.throughput;
  table.settings.index_throughput = source.settings.index_throughput;
  table.settings.table_class = source.settings.table_class;
  if (auto ok = choose_indexes(change.locals, true, table); !ok) return fail(ok.error());
  if (auto ok = choose_indexes(change.globals, false, table); !ok) return fail(ok.error());
  if (auto ok = choose_billing(change, table.settings); !ok) return fail(ok.error());
  std::erase_if(table.settings.index_throughput, [&](const auto& entry) { return !table.index(entry.first); });
  return table;
}

class RestoreTableFromBackup final : public Operation {
 public:
  RestoreTableFromBackup(std::string arn, RestoreChange change) : arn_(std::move(arn)), change_(std::move(change)) {}
  Async<Result<void>> run(Tables& tables) override {
    auto backups = backups_of(tables);
    if (!backups) co_return fail(backups.error());
    auto found = co_await find_backup(**backups, std::move(arn_));
    if (!found) co_return fail(found.error());
    auto wanted = restored(change_, found->table.definition);
    if (!wanted) co_return fail(wanted.error());
    auto made = co_await (*backups)->restore(std::move(found->id), std::move(*wanted));
    if (!made) co_return fail(made.error());
    table_ = std::move(*made);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope& place) const override {
    json += "{\"TableDescription\":";
    append_table_json(json, table_, "CREATING", place);
    json += '}';
  }

 private:
  std::string arn_;
  const RestoreChange change_;
  TableDescription table_;
};

std::optional<std::vector<IndexDefinition>> read_indexes(const Input& in, std::string_view member, bool local,
                                                         RestoreChange& change) {
  if (!in.has(member)) return std::nullopt;
  std::vector<IndexDefinition> indexes;
  for (const Input& index : in.list(member)) {
    AttributeTypes types;  // The backup has them.
    for (const Input& key : index.list("KeySchema")) types[key.text("AttributeName")] = Type::kString;
    std::set<std::string> used;
    indexes.push_back(read_index(index, local, types, used));
    const auto throughput = local ? std::nullopt : read_throughput(index);
    if (throughput) change.index_throughput[indexes.back().name] = *throughput;
  }
  return indexes;
}

// Operations whose only parameter is the backup.
template <class Op>
Parsed parse_arn_only(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  std::string arn = in.text("BackupArn", Need::kRequired, kBackupArnLength);
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<Op>(std::move(arn));
}

}  // namespace

Parsed parse_create_backup(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  std::string table = in.table();
  std::string name = in.pattern_text("BackupName", Need::kRequired, {3, 255});
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<CreateBackup>(std::move(table), std::move(name));
}

Parsed parse_describe_backup(const JsonView& body) {
  return parse_arn_only<DescribeBackup>(body);
}

Parsed parse_delete_backup(const JsonView& body) {
  return parse_arn_only<DeleteBackup>(body);
}

Parsed parse_list_backups(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  ListBackupsInput filter;
  if (in.has("TableName")) filter.table = in.table();
  const std::string type = in.choice("BackupType", {"ALL", "AWS_BACKUP", "SYSTEM", "USER"});
  filter.from = in.time("TimeRangeLowerBound");
  filter.before = in.time("TimeRangeUpperBound");
  const std::string after = in.text("ExclusiveStartBackupArn", Need::kOptional, kBackupArnLength);
  filter.after = parse_backup_arn(after).id;
  if (!after.empty() && filter.after.empty()) {
    checks.add({ErrorCode::kValidation, "Invalid ExclusiveStartBackupArn: " + after, nullptr});
  }
  filter.limit = static_cast<size_t>(in.number("Limit", {1, 100}).value_or(100));
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<ListBackups>(std::move(filter), type.empty() || type == "USER" || type == "ALL");
}

Parsed parse_restore_table_from_backup(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  RestoreChange change;
  change.table = in.pattern_text("TargetTableName", Need::kRequired, {3, 255});
  if (is_system_table(change.table)) refuse_system_name(in);
  std::string arn = in.text("BackupArn", Need::kRequired, kBackupArnLength);
  change.billing = in.choice("BillingModeOverride", {"PROVISIONED", "PAY_PER_REQUEST"});
  change.throughput = read_throughput(in, "ProvisionedThroughputOverride");
  change.locals = read_indexes(in, "LocalSecondaryIndexOverride", true, change);
  change.globals = read_indexes(in, "GlobalSecondaryIndexOverride", false, change);
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<RestoreTableFromBackup>(std::move(arn), std::move(change));
}

}  // namespace freshet::dynamodb
