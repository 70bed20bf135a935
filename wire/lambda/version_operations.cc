// Operations on versions: PublishVersion, ListVersionsByFunction, and the code signing config, which no function has.
#include <fmt/format.h>

#include <utility>

#include "streams/arn.h"
#include "tables/value/json_quoted.h"
#include "wire/lambda/aws_members.h"
#include "wire/lambda/function_json.h"
#include "wire/lambda/operation.h"

namespace freshet::lambda {
namespace {

constexpr size_t kMostVersionsListed = 50;
constexpr size_t kMaxVersionDescription = 256;

class PublishVersion final : public Operation {
 public:
  PublishVersion(std::string name, std::optional<std::string> description, std::string sha256, std::string revision)
      : name_(std::move(name)),
        description_(std::move(description)),
        sha256_(std::move(sha256)),
        revision_(std::move(revision)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    const Account& account = backend.runtime.account();
    auto function = function_named(backend.runtime, name_);
    if (!function) co_return fail(std::move(function.error()));
    FunctionRegistry::Check check = [this, &account](const FunctionDefinition& latest) -> Result<void> {
      if (!revision_.empty() && revision_ != revision_id(latest, account)) {
        return fail(ErrorCode::kConditionalCheckFailed, std::string(kRevisionMismatch));
      }
      // A folder that is run in place has no digest.
      if (sha256_.empty() || latest.code_sha256.empty() || sha256_ == latest.code_sha256) return {};
      return invalid(
          fmt::format("CodeSHA256 ({}) is different from current CodeSHA256 in $LATEST ({}). Please try again with the "
                      "CodeSHA256 in $LATEST.",
                      sha256_, latest.code_sha256));
    };
    std::string name = name_;
    std::optional<std::string> description = description_;
    auto version = co_await backend.runtime.publish_version(std::move(name), std::move(description), std::move(check));
    if (!version) co_return fail(std::move(version.error()));
    co_return answer_with(201, function_configuration_json(*version, account));
  }

 private:
  const std::string name_;
  const std::optional<std::string> description_;
  const std::string sha256_;
  const std::string revision_;
};

class ListVersions final : public Operation {
 public:
  ListVersions(std::string name, Page page, EnvironmentShown shown)
      : name_(std::move(name)), page_(std::move(page)), shown_(shown) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    auto latest = function_named(backend.runtime, name_);
    if (!latest) co_return fail(std::move(latest.error()));
    std::vector<FunctionDefinition> all = backend.runtime.versions(name_);
    latest->name += ":" + std::string(kLatestVersion);  // In this list its ARN has the qualifier, too.
    all.insert(all.begin(), std::move(*latest));
    std::string json = R"({"Versions":[)";
    size_t listed = 0;
    std::string_view last;
    bool behind = page_.after.empty();  // A marker is the last version of the previous page.
    for (const FunctionDefinition& version : all) {
      const std::string_view number = qualifier_of(version.name);
      if (!behind) {
        behind = number == page_.after;
        continue;
      }
      if (listed == page_.most) co_return answer_with(200, json + R"(],"NextMarker":)" + json_quoted(last) + "}");
      json += listed++ > 0 ? "," : "";
      json += function_configuration_json(version, backend.runtime.account(), shown_);
      last = number;
    }
    co_return answer_with(200, json + "]}");
  }

 private:
  const std::string name_;
  const Page page_;
  const EnvironmentShown shown_;
};

class CodeSigning final : public Operation {
 public:
  explicit CodeSigning(std::string name) : name_(std::move(name)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    auto function = function_named(backend.runtime, name_);
    if (!function) co_return fail(std::move(function.error()));
    co_return answer_with(200, R"({"CodeSigningConfigArn":"","FunctionName":)" + json_quoted(name_) + "}");
  }

 private:
  const std::string name_;
};

}  // namespace

Parsed parse_publish_version(const Request& request) {
  AwsMembers members(*request.body, {"FunctionName", "CodeSha256", "Description", "RevisionId", "PublishTo"});
  std::string sha256;
  std::string revision;
  std::optional<std::string> description;
  members.text("CodeSha256", sha256);
  members.text("RevisionId", revision);
  if (const auto given = members.find("Description")) {
    description.emplace();
    members.text("Description", *description);
    if (description->size() > kMaxVersionDescription) members.refuse(*given, "must not be longer than 256 bytes");
  }
  if (members.error()) return fail(*members.error());
  return std::make_unique<PublishVersion>(request.name, std::move(description), std::move(sha256), std::move(revision));
}

Parsed parse_list_versions(const Request& request) {
  auto page = page_of(request, kMostVersionsListed);
  if (!page) return fail(std::move(page.error()));
  return std::make_unique<ListVersions>(request.name, std::move(*page), request.shown);
}

Parsed parse_code_signing(const Request& request) {
  return std::make_unique<CodeSigning>(request.name);
}

}  // namespace freshet::lambda
