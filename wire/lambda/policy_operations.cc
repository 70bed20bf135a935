// Resource policies: AddPermission, RemovePermission, GetPolicy. They are stored and shown as on the service, but
// access is not checked by them (docs/compatibility.md).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/crypto.h"
#include "streams/arn.h"
#include "tables/value/json_quoted.h"
#include "wire/lambda/aws_members.h"
#include "wire/lambda/function_json.h"
#include "wire/lambda/operation.h"

namespace freshet::lambda {
namespace {

constexpr size_t kMaxStatementId = 100;
constexpr size_t kMaxPolicy = 20'480;  // Bytes, as on the service.

struct Permission {
  std::string id, action, principal, source_arn, source_account, token, organization, auth_type, revision;
  bool via_url = false;
};

std::string policy_json(const std::vector<PolicyStatement>& policy) {
  std::string json = R"({"Version":"2012-10-17","Id":"default","Statement":[)";
  for (const PolicyStatement& statement : policy) {
    json += json.ends_with('[') ? "" : ",";
    json += statement.json;
  }
  return json + "]}";
}

bool is_account(std::string_view text) {
  return text.size() == 12 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Empty unless it can be a principal.
std::string principal_json(const std::string& principal) {
  if (principal == "*") return R"("*")";
  if (is_account(principal)) return R"({"AWS":)" + json_quoted("arn:aws:iam::" + principal + ":root") + "}";
  if (principal.starts_with("arn:")) return R"({"AWS":)" + json_quoted(principal) + "}";
  const bool service =
      principal.find('.') != std::string::npos && principal.find_first_of(" \t\n:") == std::string::npos;
  return service ? R"({"Service":)" + json_quoted(principal) + "}" : std::string();
}

std::string condition_json(const Permission& permission) {
  std::string equals;
  const auto equal = [&equals](std::string_view name, const std::string& value) {
    if (!value.empty()) equals += (equals.empty() ? "" : ",") + json_quoted(name) + ":" + json_quoted(value);
  };
  equal("lambda:FunctionUrlAuthType", permission.auth_type);
  equal("lambda:EventSourceToken", permission.token);
  equal("AWS:SourceAccount", permission.source_account);
  equal("aws:PrincipalOrgID", permission.organization);
  std::string json;
  const auto operation = [&json](std::string_view name, const std::string& members) {
    if (!members.empty()) json += (json.empty() ? "" : ",") + json_quoted(name) + ":{" + members + "}";
  };
  operation("StringEquals", equals);
  operation("ArnLike", permission.source_arn.empty() ? "" : R"("AWS:SourceArn":)" + json_quoted(permission.source_arn));
  operation("Bool", permission.via_url ? R"("lambda:InvokedViaFunctionUrl":"true")" : "");
  return json;
}

std::string statement_json(const Permission& permission, const std::string& resource) {
  const std::string condition = condition_json(permission);
  return fmt::format(R"({{"Sid":{},"Effect":"Allow","Principal":{},"Action":{},"Resource":{}{}}})",
                     json_quoted(permission.id), principal_json(permission.principal), json_quoted(permission.action),
                     json_quoted(resource), condition.empty() ? "" : R"(,"Condition":{)" + condition + "}");
}

// Checks the id of an existing policy, or of its function or alias.
Result<void> check_revision(const std::string& wanted, const std::vector<PolicyStatement>& policy,
                            const FunctionDefinition& function, const Account& account) {
  if (wanted.empty() || wanted == uuid_of(policy_json(policy)) || wanted == revision_id(function, account)) return {};
  return fail(ErrorCode::kConditionalCheckFailed, std::string(kRevisionMismatch));
}

// The subject of a policy: a function, a version or an alias.
struct Resource {
  std::string function, qualifier;
  std::string name() const { return qualifier.empty() ? function : function + ":" + qualifier; }
};

class AddPermission final : public Operation {
 public:
  AddPermission(Resource resource, Permission permission)
      : resource_(std::move(resource)), permission_(std::move(permission)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    const Account& account = backend.runtime.account();
    auto function = function_named(backend.runtime, resource_.name());
    if (!function) co_return fail(std::move(function.error()));
    const PolicyStatement statement{permission_.id,
                                    statement_json(permission_, function_arn(account, resource_.name()))};
    size_t size = 0;
    FunctionRegistry::Change change = [&](FunctionQualifiers& now) -> Result<void> {
      // It may have been deleted: nothing may remain for a later alias with that name.
      if (auto there = function_named(backend.runtime, resource_.name()); !there) return fail(std::move(there.error()));
      std::vector<PolicyStatement>& policy = now.policies[resource_.qualifier];
      if (auto good = check_revision(permission_.revision, policy, *function, account); !good) return good;
      const auto same = [&](const PolicyStatement& other) { return other.id == statement.id; };
      if (std::any_of(policy.begin(), policy.end(), same)) {
        return fail(ErrorCode::kConflict, fmt::format("The statement id ({}) provided already exists. Please provide a "
                                                      "new statement id, or remove the existing statement.",
                                                      statement.id));
      }
      policy.push_back(statement);
      size = policy_json(policy).size();
      if (size > kMaxPolicy) return fail(ErrorCode::kLimitExceeded, "");
      return {};
    };
    std::string name = resource_.function;
    auto done = co_await backend.runtime.change_qualifiers(std::move(name), std::move(change));
    if (!done && size > kMaxPolicy) {
      co_return answer_of({400, "PolicyLengthExceededException",
                           fmt::format("The final policy size ({}) is bigger than the limit ({}).", size, kMaxPolicy)});
    }
    if (!done) co_return fail(std::move(done.error()));
    co_return answer_with(201, R"({"Statement":)" + json_quoted(statement.json) + "}");
  }

 private:
  const Resource resource_;
  const Permission permission_;
};

class RemovePermission final : public Operation {
 public:
  RemovePermission(Resource resource, std::string statement, std::string revision)
      : resource_(std::move(resource)), statement_(std::move(statement)), revision_(std::move(revision)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    const Account& account = backend.runtime.account();
    auto function = function_named(backend.runtime, resource_.name());
    if (!function) co_return fail(std::move(function.error()));
    FunctionRegistry::Change change = [&](FunctionQualifiers& now) -> Result<void> {
      const auto policy = now.policies.find(resource_.qualifier);
      if (policy == now.policies.end() || policy->second.empty()) {
        return fail(ErrorCode::kResourceNotFound, "No policy is associated with the given resource.");
      }
      std::vector<PolicyStatement>& statements = policy->second;
      const auto found = std::find_if(statements.begin(), statements.end(),
                                      [&](const PolicyStatement& statement) { return statement.id == statement_; });
      if (found == statements.end()) {
        return fail(ErrorCode::kResourceNotFound, "Statement " + statement_ + " is not found in resource policy.");
      }
      if (auto good = check_revision(revision_, statements, *function, account); !good) return good;
      statements.erase(found);
      if (statements.empty()) now.policies.erase(policy);
      return {};
    };
    std::string name = resource_.function;
    auto done = co_await backend.runtime.change_qualifiers(std::move(name), std::move(change));
    if (!done) co_return fail(std::move(done.error()));
    co_return answer_with(204, "");
  }

 private:
  const Resource resource_;
  const std::string statement_;
  const std::string revision_;
};

class GetPolicy final : public Operation {
 public:
  explicit GetPolicy(Resource resource) : resource_(std::move(resource)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    auto function = function_named(backend.runtime, resource_.name());
    if (!function) co_return fail(std::move(function.error()));
    const FunctionQualifiers qualifiers = backend.runtime.qualifiers(resource_.function);
    const auto policy = qualifiers.policies.find(resource_.qualifier);
    if (policy == qualifiers.policies.end() || policy->second.empty()) {
      co_return fail(ErrorCode::kResourceNotFound, "The resource you requested does not exist.");
    }
    const std::string json = policy_json(policy->second);
    co_return answer_with(200, R"({"Policy":)" + json_quoted(json) + R"(,"RevisionId":")" + uuid_of(json) + R"("})");
  }

 private:
  const Resource resource_;
};

Result<void> check(const Permission& permission, const Request& request) {
  constexpr std::string_view kIdCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  const bool good_id = !permission.id.empty() && permission.id.size() <= kMaxStatementId &&
                       permission.id.find_first_not_of(kIdCharacters) == std::string::npos;
  if (!good_id) {
    return invalid("StatementId '" + permission.id.substr(0, 200) + "': 1 to 100 letters, digits, '-' and '_'");
  }
  if (permission.action != "*" && !permission.action.starts_with("lambda:")) {
    return invalid("Action '" + permission.action.substr(0, 200) + "': it begins with lambda:, or is *");
  }
  if (principal_json(permission.principal).empty()) {
    return invalid("The provided principal was invalid. Please check the principal and try again.");
  }
  if (!permission.source_account.empty() && !is_account(permission.source_account)) {
    return invalid("SourceAccount '" + permission.source_account.substr(0, 200) + "': it is 12 digits");
  }
  const std::string& type = permission.auth_type;
  if (!type.empty() && type != "NONE" && type != "AWS_IAM") {
    return invalid("FunctionUrlAuthType '" + type.substr(0, 200) + "': it is NONE or AWS_IAM");
  }
  if (value_in(request.query, "Qualifier") == kLatestVersion) {
    return invalid("We currently do not support adding policies for $LATEST.");
  }
  return {};
}

}  // namespace

Parsed parse_add_permission(const Request& request) {
  AwsMembers members(*request.body, {"FunctionName", "StatementId", "Action", "Principal", "SourceArn", "SourceAccount",
                                     "EventSourceToken", "Qualifier", "RevisionId", "PrincipalOrgID",
                                     "FunctionUrlAuthType", "InvokedViaFunctionUrl"});
  Permission permission;
  members.text("StatementId", permission.id);
  members.text("Action", permission.action);
  members.text("Principal", permission.principal);
  members.text("SourceArn", permission.source_arn);
  members.text("SourceAccount", permission.source_account);
  members.text("EventSourceToken", permission.token);
  members.text("PrincipalOrgID", permission.organization);
  members.text("FunctionUrlAuthType", permission.auth_type);
  members.boolean("InvokedViaFunctionUrl", permission.via_url);
  members.text("RevisionId", permission.revision);
  if (members.error()) return fail(*members.error());
  if (auto good = check(permission, request); !good) return fail(std::move(good.error()));
  return std::make_unique<AddPermission>(Resource{request.name, request.qualifier}, std::move(permission));
}

Parsed parse_remove_permission(const Request& request) {
  return std::make_unique<RemovePermission>(Resource{request.name, request.qualifier}, request.part,
                                            value_in(request.query, "RevisionId"));
}

Parsed parse_get_policy(const Request& request) {
  return std::make_unique<GetPolicy>(Resource{request.name, request.qualifier});
}

}  // namespace freshet::lambda
