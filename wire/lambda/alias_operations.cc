// Operations on aliases: names of a function's versions that can be pointed at another version.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/crypto.h"
#include "base/number_text.h"
#include "streams/arn.h"
#include "tables/value/json_quoted.h"
#include "wire/lambda/aws_members.h"
#include "wire/lambda/operation.h"

namespace freshet::lambda {
namespace {

constexpr size_t kMostAliasesListed = 50;
constexpr size_t kMaxAliasName = 128;
constexpr size_t kMaxAliasDescription = 256;

// The members that a request has. All others stay unchanged.
struct AliasChange {
  std::optional<std::string> version, description;
  std::optional<std::map<std::string, double>> weights;
  std::string revision;

  void apply(FunctionAlias& alias) const {
    if (version) alias.version = *version;
    if (description) alias.description = *description;
    if (weights) alias.weights = *weights;
  }
};

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<void> check_name(const std::string& name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  const bool good = !name.empty() && name.size() <= kMaxAliasName && !is_number(name) &&
                    name.find_first_not_of(kAllowed) == std::string::npos;
  if (good) return {};
  return invalid(
      fmt::format("Value '{}' at 'name' failed to satisfy constraint: Member must satisfy regular expression "
                  "pattern: (?!^[0-9]+$)([a-zA-Z0-9-_]+), and have at most 128 characters",
                  name.substr(0, 200)));
}

// Empty unless it is a number from 0 to 1.
std::optional<double> share_of(const JsonView& json) {
  double share = -1;
  const std::string_view text = json.is(JsonKind::kNumber) ? json.text() : std::string_view();
  const bool good = read_number_in(text, share) && share >= 0 && share <= 1;
  return good ? std::optional(share) : std::nullopt;
}

void read_weights(AwsMembers& members, std::optional<std::map<std::string, double>>& into) {
  const auto given = members.find("RoutingConfig");
  if (!given || given->is(JsonKind::kNull)) return;
  AwsMembers config(*given, {"AdditionalVersionWeights"});
  into.emplace();
  if (const auto weights = config.map("AdditionalVersionWeights")) {
    for (const JsonView weight : *weights) {
      const std::string version(weight.name());
      if (!is_number(version)) return members.refuse(weight, "is no published version; its name must be a number");
      const auto share = share_of(weight);
      if (!share) return members.refuse(weight, "must be a number from 0.0 to 1.0");
      (*into)[version] = *share;
    }
  }
  if (config.error()) members.fail_with(*config.error());
}

Result<AliasChange> read_alias_change(AwsMembers& members) {
  AliasChange change;
  const auto text = [&members](std::string_view name, std::optional<std::string>& into) {
    if (!members.find(name)) return;
    into.emplace();
    members.text(name, *into);
  };
  text("FunctionVersion", change.version);
  text("Description", change.description);
  members.text("RevisionId", change.revision);
  read_weights(members, change.weights);
  if (members.error()) return fail(*members.error());
  if (change.version && *change.version != kLatestVersion && !is_number(*change.version)) {
    return invalid("FunctionVersion '" + change.version->substr(0, 200) + "': it is $LATEST or a number");
  }
  if (change.description && change.description->size() > kMaxAliasDescription) {
    return invalid("Description must not be longer than 256 bytes");
  }
  return change;
}

std::string arn_of(const Account& account, const std::string& function, const std::string& name) {
  return function_arn(account, function + ":" + name);
}

// Refuses an alias that the service would refuse, and one to missing versions. The rules are those of the service's API
// reference for CreateAlias.
Result<void> check(const FunctionAlias& alias, const std::string& function, Runtime& runtime) {
  if (alias.weights.size() > 1) {
    return invalid("Number of items in AdditionalVersionWeights cannot be greater than 1");
  }
  std::vector<std::string> versions{alias.version};
  for (const auto& [version, weight] : alias.weights) {
    if (version == alias.version) {
      return invalid(
          fmt::format("Invalid function version {}. Function version {} is already included in routing "
                      "configuration.",
                      version, version));
    }
    if (alias.version == kLatestVersion) {
      return invalid("$LATEST is not supported for an alias pointing to more than 1 version");
    }
    versions.push_back(version);
  }
  for (const std::string& version : versions) {
    auto there = function_named(runtime, version == kLatestVersion ? function : function + ":" + version);
    if (!there) return fail(std::move(there.error()));
  }
  return {};
}

std::string members_of(const Account& account, const std::string& function, const std::string& name,
                       const FunctionAlias& alias) {
  std::string json = fmt::format(R"("AliasArn":{},"Name":{},"FunctionVersion":{},"Description":{})",
                                 json_quoted(arn_of(account, function, name)), json_quoted(name),
                                 json_quoted(alias.version), json_quoted(alias.description));
  std::string weights;
  for (const auto& [version, weight] : alias.weights) {
    weights += fmt::format("{}{}:{}", weights.empty() ? "" : ",", json_quoted(version), weight);
  }
  if (!weights.empty()) json += R"(,"RoutingConfig":{"AdditionalVersionWeights":{)" + weights + "}}";
  return json;
}

// A new one after each change, even if the change has no effect.
std::string revision_of(const Account& account, const std::string& function, const std::string& name,
                        const FunctionAlias& alias) {
  return uuid_of(fmt::format("{} {}", members_of(account, function, name, alias), alias.modified_ms));
}

std::string alias_json(const Account& account, const std::string& function, const std::string& name,
                       const FunctionAlias& alias) {
  return "{" + members_of(account, function, name, alias) + R"(,"RevisionId":")" +
         revision_of(account, function, name, alias) + R"("})";
}

class PutAlias final : public Operation {
 public:
  PutAlias(std::string function, std::string name, bool create, AliasChange change)
      : function_(std::move(function)), name_(std::move(name)), create_(create), change_(std::move(change)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    Runtime& runtime = backend.runtime;
    auto there = function_named(runtime, function_);
    if (!there) co_return fail(std::move(there.error()));
    FunctionRegistry::Change change = [this, &backend](FunctionQualifiers& now) { return apply(now, backend); };
    std::string function = function_;
    auto done = co_await runtime.change_qualifiers(std::move(function), std::move(change));
    if (!done) co_return fail(std::move(done.error()));
    co_return answer_with(create_ ? 201 : 200,
                          alias_json(runtime.account(), function_, name_, done->aliases.at(name_)));
  }

 private:
  Result<void> apply(FunctionQualifiers& now, Backend& backend) const {
    const Account& account = backend.runtime.account();
    const std::string arn = arn_of(account, function_, name_);
    const auto known = now.aliases.find(name_);
    const bool is_there = known != now.aliases.end();
    if (create_ && is_there) return fail(ErrorCode::kConflict, "Alias already exists: " + arn);
    if (!create_ && !is_there) return fail(ErrorCode::kResourceNotFound, "Alias not found: " + arn);
    FunctionAlias alias = is_there ? known->second : FunctionAlias{};
    if (!change_.revision.empty() && change_.revision != revision_of(account, function_, name_, alias)) {
      return fail(ErrorCode::kConditionalCheckFailed, std::string(kRevisionMismatch));
    }
    change_.apply(alias);
    if (auto good = check(alias, function_, backend.runtime); !good) return good;
    alias.modified_ms = std::max(wall_ms(backend.clock), alias.modified_ms + 1);
    now.aliases[name_] = std::move(alias);
    return {};
  }
  const std::string function_;
  const std::string name_;
  const bool create_;
  const AliasChange change_;
};

class GetAlias final : public Operation {
 public:
  GetAlias(std::string function, std::string name) : function_(std::move(function)), name_(std::move(name)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    auto there = function_named(backend.runtime, function_);
    if (!there) co_return fail(std::move(there.error()));
    const Account& account = backend.runtime.account();
    const FunctionQualifiers qualifiers = backend.runtime.qualifiers(function_);
    const auto alias = qualifiers.aliases.find(name_);
    if (alias == qualifiers.aliases.end()) {
      co_return fail(ErrorCode::kResourceNotFound, "Cannot find alias arn: " + arn_of(account, function_, name_));
    }
    co_return answer_with(200, alias_json(account, function_, name_, alias->second));
  }

 private:
  const std::string function_;
  const std::string name_;
};

class DeleteAlias final : public Operation {
 public:
  DeleteAlias(std::string function, std::string name) : function_(std::move(function)), name_(std::move(name)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    auto there = function_named(backend.runtime, function_);
    if (!there) co_return fail(std::move(there.error()));
    FunctionRegistry::Change change = [this](FunctionQualifiers& now) -> Result<void> {
      // A missing alias is no error, as on the service.
      if (now.aliases.erase(name_) > 0) now.policies.erase(name_);
      return {};
    };
    std::string function = function_;
    auto done = co_await backend.runtime.change_qualifiers(std::move(function), std::move(change));
    if (!done) co_return fail(std::move(done.error()));
    co_return answer_with(204, "");
  }

 private:
  const std::string function_;
  const std::string name_;
};

class ListAliases final : public Operation {
 public:
  ListAliases(std::string function, std::string version, Page page)
      : function_(std::move(function)), version_(std::move(version)), page_(std::move(page)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    auto there = function_named(backend.runtime, function_);
    if (!there) co_return fail(std::move(there.error()));
    const FunctionQualifiers qualifiers = backend.runtime.qualifiers(function_);
    std::string json = R"({"Aliases":[)";
    std::string last;
    size_t listed = 0;
    for (const auto& [name, alias] : qualifiers.aliases) {
      const bool wanted = version_.empty() || alias.version == version_ || alias.weights.contains(version_);
      if (!wanted || name <= page_.after) continue;
      if (listed == page_.most) co_return answer_with(200, json + R"(],"NextMarker":)" + json_quoted(last) + "}");
      json += listed++ > 0 ? "," : "";
      json += alias_json(backend.runtime.account(), function_, name, alias);
      last = name;
    }
    co_return answer_with(200, json + "]}");
  }

 private:
  const std::string function_;
  const std::string version_;
  const Page page_;
};

Parsed put(const Request& request, std::string name, bool create, AwsMembers& members) {
  auto change = read_alias_change(members);
  if (!change) return fail(std::move(change.error()));
  if (create) {
    if (auto good = check_name(name); !good) return fail(std::move(good.error()));
    if (!change->version) return invalid("FunctionVersion is missing");
  }
  return std::make_unique<PutAlias>(request.name, std::move(name), create, std::move(*change));
}

}  // namespace

Parsed parse_create_alias(const Request& request) {
  AwsMembers members(*request.body, {"FunctionName", "Name", "FunctionVersion", "Description", "RoutingConfig"});
  std::string name;
  members.text("Name", name);
  return put(request, std::move(name), true, members);
}

Parsed parse_update_alias(const Request& request) {
  AwsMembers members(*request.body,
                     {"FunctionName", "Name", "FunctionVersion", "Description", "RoutingConfig", "RevisionId"});
  return put(request, request.part, false, members);
}

Parsed parse_get_alias(const Request& request) {
  return std::make_unique<GetAlias>(request.name, request.part);
}

Parsed parse_delete_alias(const Request& request) {
  return std::make_unique<DeleteAlias>(request.name, request.part);
}

Parsed parse_list_aliases(const Request& request) {
  auto page = page_of(request, kMostAliasesListed);
  if (!page) return fail(std::move(page.error()));
  return std::make_unique<ListAliases>(request.name, value_in(request.query, "FunctionVersion"), std::move(*page));
}

}  // namespace freshet::lambda
