// Tags and continuous backups.
#include "base/limits.h"
#include "tables/traits.h"
#include "tables/value/json.h"
#include "wire/dynamodb/operation.h"
#include "wire/dynamodb/table_input.h"
#include "wire/dynamodb/table_json.h"

namespace freshet::dynamodb {

namespace {

constexpr size_t kTagsAtOnce = 10;
constexpr std::string_view kTable = ":table/";

// Settings that a store does not read back would be answered wrongly.
Result<void> keeps_all_settings(const Tables& tables) {
  if (tables.traits().has(Trait::kAllSettings)) return {};
  return invalid(
      "The tables of this daemon are in an engine: ask the engine itself for tags and for point-in-time recovery");
}

// A table by its ARN, and an operation on its tags.
class TagOperation : public Operation {
 public:
  explicit TagOperation(std::string arn) : arn_(std::move(arn)) {}
  Async<Result<void>> run(Tables& tables) override {
    if (auto ok = keeps_all_settings(tables); !ok) co_return ok;
    std::string name = table_name_of(arn_).value_or("");
    if (name.empty() || is_system_table(name)) co_return missing();
    Result<TableDescription> found = co_await tables.describe_table(std::move(name));
    if (!found && found.error().code == ErrorCode::kResourceNotFound) co_return missing();
    if (!found) co_return fail(found.error());
    TableDefinition definition = std::move(found->definition);
    Result<bool> writes = change(definition.settings.tags);
    if (!writes) co_return fail(writes.error());
    if (*writes) {
      Result<TableDescription> altered = co_await tables.alter_table(std::move(definition));
      if (!altered) co_return fail(altered.error());
    }
    co_return Result<void>{};
  }

 protected:
  // Reads the tags or changes them; returns true if the table must be updated.
  virtual Result<bool> change(std::map<std::string, std::string>& tags) = 0;
  // There is no such table.
  virtual tl::unexpected<Error> missing() const {
    return fail(ErrorCode::kResourceNotFound, "Requested resource not found: ResourcArn: " + arn_ + " not found");
  }
  const std::string& arn() const { return arn_; }

 private:
  const std::string arn_;
};

class TagResource final : public TagOperation {
 public:
  TagResource(std::string arn, std::map<std::string, std::string> tags)
      : TagOperation(std::move(arn)), tags_(std::move(tags)) {}
  void write(std::string&, const ResponseScope&) const override {}  // An empty body, as the service.

 private:
  Result<bool> change(std::map<std::string, std::string>& tags) override {
    for (const auto& [key, value] : tags_) tags[key] = value;
    if (tags.size() > kMaxTags) return invalid("One or more parameter values were invalid: Too many tags: at most 50");
    return true;
  }
  const std::map<std::string, std::string> tags_;
};

class UntagResource final : public TagOperation {
 public:
  UntagResource(std::string arn, std::vector<std::string> keys)
      : TagOperation(std::move(arn)), keys_(std::move(keys)) {}
  void write(std::string&, const ResponseScope&) const override {}

 private:
  Result<bool> change(std::map<std::string, std::string>& tags) override {
    for (const auto& key : keys_) tags.erase(key);
    return true;
  }
  const std::vector<std::string> keys_;
};

class ListTags final : public TagOperation {
 public:
  ListTags(std::string arn, std::string after) : TagOperation(std::move(arn)), after_(std::move(after)) {}
  void write(std::string& json, const ResponseScope&) const override {
    json += "{\"Tags\":[";
    for (const auto& [key, value] : page_) {
      json += json.ends_with('[') ? "{\"Key\":" : ",{\"Key\":";
      append_json_string(json, key);
      json += ",\"Value\":";
      append_json_string(json, value);
      json += '}';
    }
    json += ']';
    if (more_) {
      json += ",\"NextToken\":";
      append_json_string(json, page_.back().first);
    }
    json += '}';
  }

 private:
  Result<bool> change(std::map<std::string, std::string>& tags) override {
    auto next = after_.empty() ? tags.begin() : tags.upper_bound(after_);
    for (; next != tags.end() && page_.size() < kTagsAtOnce; ++next) page_.push_back(*next);
    more_ = next != tags.end();
    return false;
  }
  // The service does not tell a caller without permission if the resource exists.
  tl::unexpected<Error> missing() const override {
    return fail(
        ErrorCode::kAccessDenied,
        "User is not authorized to perform: dynamodb:ListTagsOfResource on resource: " + (arn().empty() ? "*" : arn()));
  }
  const std::string after_;
  std::vector<std::pair<std::string, std::string>> page_;
  bool more_ = false;
};

// DescribeContinuousBackups, and UpdateContinuousBackups if `enable` is set.
class ContinuousBackups final : public Operation {
 public:
  ContinuousBackups(std::string name, std::optional<bool> enable) : name_(std::move(name)), enable_(enable) {}
  Async<Result<void>> run(Tables& tables) override {
    if (auto ok = keeps_all_settings(tables); !ok) co_return ok;
    std::string name = name_;
    Result<TableDescription> found = co_await tables.describe_table(std::move(name));
    if (is_system_table(name_) || (!found && found.error().code == ErrorCode::kResourceNotFound)) {
      co_return fail(ErrorCode::kTableNotFound, "Table not found: " + name_);
    }
    if (!found) co_return fail(found.error());
    TableDefinition definition = std::move(found->definition);
    enabled_ = enable_.value_or(definition.settings.point_in_time_recovery);
    if (enabled_ != definition.settings.point_in_time_recovery) {
      definition.settings.point_in_time_recovery = enabled_;
      Result<TableDescription> altered = co_await tables.alter_table(std::move(definition));
      if (!altered) co_return fail(altered.error());
    }
    co_return Result<void>{};
  }
  void write(std::string& json, const ResponseScope&) const override {
    json +=
        "{\"ContinuousBackupsDescription\":{\"ContinuousBackupsStatus\":\"ENABLED\",\"PointInTimeRecoveryDescription\":"
        "{\"PointInTimeRecoveryStatus\":";
    json += enabled_ ? "\"ENABLED\"}}}" : "\"DISABLED\"}}}";
  }

 private:
  const std::string name_;
  const std::optional<bool> enable_;
  bool enabled_ = false;
};

bool is_table_arn(const std::string& arn) {
  const auto table = table_name_of(arn);
  return table && table->size() >= limits::kMinTableNameBytes && table->size() <= limits::kMaxTableNameBytes;
}

void refuse_arn(const Input& in, const std::string& arn) {
  in.checks().add({ErrorCode::kValidation, "Invalid TableArn: Invalid ResourceArn provided as input " + arn, nullptr});
}

// A table's ARN; the service refuses what is none in one of two ways.
std::string resource(const Input& in) {
  std::string arn = in.text("ResourceArn", Need::kOptional, {1, 1283});
  if (!in.has("ResourceArn") || is_table_arn(arn)) return arn;
  if (arn.starts_with("arn:")) {
    refuse_arn(in, arn);
  } else {
    refuse_parameter(in, "ARNs must start with 'arn:': " + arn);
  }
  return arn;
}

// The ARN of a resource that is only read: a malformed one is answered like a missing one, unless it is that of an
// index.
std::string read_resource(const Input& in) {
  std::string arn = in.text("ResourceArn", Need::kOptional, {0, 1283});
  const size_t table = arn.find(kTable);
  if (table != std::string::npos && arn.find("/index/", table) != std::string::npos) refuse_arn(in, arn);
  return arn;
}

// A missing resource is reported before all constraints.
Result<void> result_of(const Input& in) {
  auto fine = in.checks().result();
  if (in.has("ResourceArn") || (!fine && fine.error().code == ErrorCode::kSerialization)) return fine;
  return invalid("Invalid TableArn");
}

}  // namespace

Parsed parse_tag_resource(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  std::string arn = resource(in);
  auto tags = read_tags(in, Need::kRequired);
  if (in.has("Tags") && tags.empty()) {
    checks.add({ErrorCode::kValidation, "Atleast one Tag needs to be provided as Input.", nullptr});
  }
  if (auto fine = result_of(in); !fine) return fail(fine.error());
  return std::make_unique<TagResource>(std::move(arn), std::move(tags));
}

Parsed parse_untag_resource(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  std::string arn = resource(in);
  if (!in.has("TagKeys")) checks.violated(std::nullopt, "tagKeys", "not be null");
  std::vector<std::string> keys = in.texts("TagKeys");
  if (in.has("TagKeys") && keys.empty()) {
    checks.add({ErrorCode::kValidation, "Atleast one Tag Key needs to be provided as Input.", nullptr});
  }
  if (auto fine = result_of(in); !fine) return fail(fine.error());
  return std::make_unique<UntagResource>(std::move(arn), std::move(keys));
}

Parsed parse_list_tags_of_resource(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  std::string arn = read_resource(in);
  std::string after = in.text("NextToken");
  if (auto fine = result_of(in); !fine) return fail(fine.error());
  return std::make_unique<ListTags>(std::move(arn), std::move(after));
}

Parsed parse_describe_continuous_backups(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  std::string name = in.managed_table();
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<ContinuousBackups>(std::move(name), std::nullopt);
}

Parsed parse_update_continuous_backups(const JsonView& body) {
  Checks checks;
  const Input in(body, checks);
  std::string name = in.managed_table();
  bool enable = false;
  if (const auto spec = in.structure("PointInTimeRecoverySpecification", Need::kRequired)) {
    if (!spec->has("PointInTimeRecoveryEnabled")) {
      checks.violated(std::nullopt, spec->path_of("PointInTimeRecoveryEnabled"), "not be null");
    }
    enable = spec->flag("PointInTimeRecoveryEnabled");
    spec->number("RecoveryPeriodInDays", {1, 35});
  }
  if (auto fine = checks.result(); !fine) return fail(fine.error());
  return std::make_unique<ContinuousBackups>(std::move(name), enable);
}

}  // namespace freshet::dynamodb
