// The table of calls and what is made of it.
#include "wire/api/calls.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/sim/source_dir.h"
#include "wire/api/openapi.h"

namespace freshet {
namespace {

using nlohmann::json;

TEST(ApiCalls, AreFoundByMethodAndPath) {
  EXPECT_EQ(find_api_call("POST", {"queues", "Q", "take"})->call, ApiCall::kTake);
  EXPECT_EQ(find_api_call("GET", {"queues", "Q", "tasks", "take"})->call, ApiCall::kGetTask);
  EXPECT_EQ(find_api_call("GET", {"queues"})->call, ApiCall::kListQueues);
  EXPECT_EQ(find_api_call("GET", {"queues", "Q"}), nullptr);
  EXPECT_EQ(find_api_call("GET", {"queues", "Q", "take"}), nullptr);
  EXPECT_EQ(find_api_call("GET", {}), nullptr);
  EXPECT_EQ(find_api_call("GET", {"queues", "Q", "tasks", "t", "explain", "more"}), nullptr);
}

TEST(ApiCalls, APathSaysItsMethods) {
  EXPECT_EQ(api_methods({"queues", "Q", "tasks"}), "GET, HEAD, POST");
  EXPECT_EQ(api_methods({"queues", "Q", "jobs", "7"}), "GET, HEAD, DELETE");
  EXPECT_EQ(api_methods({"queues", "Q", "take"}), "POST");
  EXPECT_EQ(api_methods({"nothing"}), "");
}

TEST(ApiCalls, ParametersOfTheQuery) {
  const ApiLine& audit = api_line(ApiCall::kAudit);
  EXPECT_TRUE(has_parameter(audit, "queue"));
  EXPECT_FALSE(has_parameter(audit, "Text"));
  EXPECT_FALSE(has_parameter(audit, ""));
  EXPECT_EQ(parameters_in_words(audit), "limit and queue");
  EXPECT_EQ(parameters_in_words(api_line(ApiCall::kQueueSheds)), "limit");
  EXPECT_EQ(parameters_in_words(api_line(ApiCall::kRecord)), "table, from and waitMs");
  EXPECT_EQ(parameters_in_words(api_line(ApiCall::kTake)), "");
}

TEST(ApiCalls, EachHasItsOwnIdAndPath) {
  std::set<std::string_view> ids;
  std::set<std::string> places;
  for (const ApiLine& line : api_lines()) {
    EXPECT_TRUE(ids.insert(line.id).second) << line.id;
    EXPECT_TRUE(places.insert(std::string(line.method) + " " + std::string(line.path)).second) << line.path;
    EXPECT_EQ(line.request.empty(), line.method != "POST") << line.id;
  }
}

void collect_references(const json& value, std::set<std::string>& into) {
  if (!value.is_structured()) return;
  for (const auto& [name, member] : value.items()) {
    if (name == "$ref") into.insert(member.get<std::string>());
    collect_references(member, into);
  }
}

TEST(OpenApi, NamesOnlySchemasThatAreThereAndUsesEach) {
  const json document = json::parse(openapi_json());
  std::set<std::string> used;
  collect_references(document, used);
  std::set<std::string> there = {"#/components/responses/Error"};
  for (const auto& [name, schema] : document["components"]["schemas"].items()) {
    there.insert("#/components/schemas/" + name);
  }
  EXPECT_EQ(used, there);
}

TEST(OpenApi, HasEveryCallWithItsRoleAndParameters) {
  const json document = json::parse(openapi_json());
  size_t count = 0;
  for (const auto& [path, methods] : document["paths"].items()) count += methods.size();
  EXPECT_EQ(count, api_lines().size());
  const json& list = document["paths"]["/queues/{queue}/tasks"]["get"];
  EXPECT_EQ(list["operationId"], "listTasks");
  EXPECT_EQ(list["x-freshet-role"], "read");
  EXPECT_EQ(list["parameters"][0]["in"], "path");
  EXPECT_EQ(list["parameters"][2]["name"], "limit");
  EXPECT_EQ(list["parameters"][2]["schema"]["$ref"], "#/components/schemas/PageSize");
  const json& record = document["paths"]["/record"]["get"]["parameters"];
  EXPECT_EQ(record[0]["required"], true);
  EXPECT_EQ(record[1]["required"], false);
  const json& take = document["paths"]["/queues/{queue}/take"]["post"];
  EXPECT_EQ(take["requestBody"]["content"]["application/json"]["schema"]["$ref"], "#/components/schemas/Take");
}

// docs/http.md has exactly the lines of the table.
TEST(ApiCalls, ThePageListsThemAll) {
  std::ifstream file(source_dir() + "/docs/http.md");
  std::set<std::string> page;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `")) page.insert(line);
  }
  std::set<std::string> table;
  for (const ApiLine& line : api_lines()) {
    table.insert("| `" + std::string(line.method) + " " + std::string(line.path) + "` | " +
                 std::string(role_name(line.role)) + " | " + std::string(line.summary) + " |");
  }
  EXPECT_EQ(page, table);
}

}  // namespace
}  // namespace freshet
