// CreateTable, DescribeTable, DeleteTable, ListTables, time to live, limits.
#include <algorithm>

#include "tables/value/json.h"
#include "wire/dynamodb/table_input.h"
#include "wire/dynamodb/table_json.h"

namespace freshet::dynamodb {

namespace {

class CreateTable final : public Operation {
 public:
  explicit CreateTable(TableDefinition definition) : definition_(std::move(definition)) {}
  Async<Result<void>> run(Tables& tables) override {
    Result<TableDescription> made = co_await tables.create_table(std::move(definition_));
    if (!made) co_return fail(made.error());
    table_ = std::move(*made);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope& place) const override {
    json += "{\"TableDescription\":";
    append_table_json(json, table_, "ACTIVE", place);
    json += '}';
  }

 private:
  TableDefinition definition_;
  TableDescription table_;
};

class DescribeTable final : public Operation {
 public:
  explicit DescribeTable(std::string name) : name_(std::move(name)) {}
  Async<Result<void>> run(Tables& tables) override {
    if (is_system_table(name_)) co_return table_not_found(name_);
    std::string name = name_;
    Result<TableDescription> found = co_await tables.describe_table(std::move(name));
    if (!found) co_return fail(found.error());
    table_ = std::move(*found);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope& place) const override {
    json += "{\"Table\":";
    append_table_json(json, table_, "ACTIVE", place);
    json += '}';
  }

 private:
  const std::string name_;
  TableDescription table_;
};

class DeleteTable final : public Operation {
 public:
  explicit DeleteTable(std::string name) : name_(std::move(name)) {}
  Async<Result<void>> run(Tables& tables) override {
    if (is_system_table(name_)) co_return table_not_found(name_);
    std::string name = name_;
    Result<TableDescription> gone = co_await tables.delete_table(std::move(name));
    if (!gone) co_return fail(gone.error());
    table_ = std::move(*gone);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope& place) const override {
    json += "{\"TableDescription\":";
    append_deleted_table_json(json, table_, place);
    json += '}';
  }

 private:
  const std::string name_;
  TableDescription table_;
};

class ListTables final : public Operation {
 public:
  ListTables(std::string after, size_t limit) : after_(std::move(after)), limit_(limit) {}
  Async<Result<void>> run(Tables& tables) override {
    Result<std::vector<std::string>> all = co_await tables.list_tables();
    if (!all) co_return fail(all.error());
    std::erase_if(*all, [this](const std::string& name) { return is_system_table(name) || name <= after_; });
    more_ = all->size() > limit_;
    if (more_) all->resize(limit_);
    names_ = std::move(*all);
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"TableNames\":[";
    for (const std::string& name : names_) {
      if (!json.ends_with('[')) json += ',';
      append_json_string(json, name);
    }
    json += ']';
    if (more_) {
      json += ",\"LastEvaluatedTableName\":";
      append_json_string(json, names_.back());
    }
    json += '}';
  }

 private:
  const std::string after_;
  const size_t limit_;
  std::vector<std::string> names_;
  bool more_ = false;
};

class UpdateTimeToLive final : public Operation {
 public:
  UpdateTimeToLive(std::string name, std::string attribute, bool enabled)
      : name_(std::move(name)), attribute_(std::move(attribute)), enabled_(enabled) {}
  Async<Result<void>> run(Tables& tables) override {
    if (is_system_table(name_)) co_return table_not_found(name_);
    std::string name = name_;
    Result<TableDescription> found = co_await tables.describe_table(std::move(name));
    if (!found) co_return fail(found.error());
    TableDefinition definition = std::move(found->definition);
    const std::optional<std::string>& now = definition.ttl_attribute;
    if (!enabled_ && !now) co_return invalid("TimeToLive is already disabled");
    if (enabled_ && now && *now == attribute_) co_return invalid("TimeToLive is already enabled");
    if (now && *now != attribute_) {
      co_return invalid("TimeToLive is active on a different AttributeName: current AttributeName is " + *now);
    }
    definition.ttl_attribute.reset();
    if (enabled_) definition.ttl_attribute = attribute_;
    Result<TableDescription> altered = co_await tables.alter_table(std::move(definition));
    if (!altered) co_return fail(altered.error());
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"TimeToLiveSpecification\":{\"AttributeName\":";
    append_json_string(json, attribute_);
    json += enabled_ ? ",\"Enabled\":true}}" : ",\"Enabled\":false}}";
  }

 private:
  const std::string name_;
  const std::string attribute_;
  const bool enabled_;
};

class DescribeTimeToLive final : public Operation {
 public:
  explicit DescribeTimeToLive(std::string name) : name_(std::move(name)) {}
  Async<Result<void>> run(Tables& tables) override {
    if (is_system_table(name_)) co_return table_not_found(name_);
    std::string name = name_;
    Result<TableDescription> found = co_await tables.describe_table(std::move(name));
    if (!found) co_return fail(found.error());
    attribute_ = found->definition.ttl_attribute;
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"TimeToLiveDescription\":{\"TimeToLiveStatus\":";
    if (attribute_) {
      json += "\"ENABLED\",\"AttributeName\":";
      append_json_string(json, *attribute_);
    } else {
      json += "\"DISABLED\"";
    }
    json += "}}";
  }

 private:
  const std::string name_;
  std::optional<std::string> attribute_;
};

class DescribeLimits final : public Operation {
 public:
  Async<Result<void>> run(Tables&) override { return Result<void>{}; }
  void write(std::string& json, const ResponseScope&) const override {
    json +=
        "{\"AccountMaxReadCapacityUnits\":80000,\"AccountMaxWriteCapacityUnits\":80000,"
        "\"TableMaxReadCapacityUnits\":40000,\"TableMaxWriteCapacityUnits\":40000}";
  }
};

// Operations whose only parameter is the table.
template <class Op>
Parsed parse_named(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  std::string name = in.managed_table();
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<Op>(std::move(name));
}

}  // namespace

Parsed parse_create_table(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  TableDefinition definition = read_definition(in);
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  if (auto fine = validate(definition); !fine) return fail(fine.error());
  return std::make_unique<CreateTable>(std::move(definition));
}

Parsed parse_describe_table(const JsonView& body) {
  return parse_named<DescribeTable>(body);
}
Parsed parse_delete_table(const JsonView& body) {
  return parse_named<DeleteTable>(body);
}
Parsed parse_describe_time_to_live(const JsonView& body) {
  return parse_named<DescribeTimeToLive>(body);
}

Parsed parse_list_tables(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  std::string after = in.pattern_text("ExclusiveStartTableName", Need::kOptional, {3, 255});
  const int64_t limit = in.number("Limit", {1, 100}).value_or(100);
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<ListTables>(std::move(after), static_cast<size_t>(limit));
}

Parsed parse_update_time_to_live(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  std::string name = in.managed_table();
  std::string attribute;
  bool enabled = false;
  if (const auto spec = in.structure("TimeToLiveSpecification", Need::kRequired)) {
    attribute = spec->text("AttributeName", Need::kRequired, {1, 255});
    if (!spec->has("Enabled")) checks.violated(std::nullopt, spec->path_of("Enabled"), "not be null");
    enabled = spec->flag("Enabled");
  }
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<UpdateTimeToLive>(std::move(name), std::move(attribute), enabled);
}

Parsed parse_describe_limits(const JsonView&) {
  return std::make_unique<DescribeLimits>();
}

}  // namespace freshet::dynamodb
