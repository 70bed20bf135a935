#include "app/cli/priority_steps.h"

#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/exact_json.h"
#include "app/cli/refusal.h"
#include "base/plain_text.h"

namespace freshet::cli {

std::string code_of(const Json& result) {
  return result.is_object() ? result.value("return_value", "") : "";
}

bool is_success(const Json& result) {
  return code_of(result) == "SUCCESS";
}

const Json& result_of(const Json& answer) {
  return answer.contains("records") && !answer["records"].empty() ? answer["records"][0] : answer;
}

int priority_status(const Json& result) {
  const std::string code = result.value("return_value", "SUCCESS");
  if (code == "SUCCESS") return kDone;
  if (code == "FAILED_ID_NOT_FOUND" || code == "FAILED_EMPTY_QUEUE") return kNotFound;
  if (code == "FAILED_ID_NOT_PROVIDED") return kUsage;
  if (code == "FAILED_DYNAMO_ERROR") return exit_status_of(refusal_in(result).code);
  return kConflict;
}

int print_priority_answer(const Remote& remote, const Json& answer) {
  std::cout << text_of(answer, remote.json ? -1 : 2) << '\n';
  const Json& result = result_of(answer);
  const int status = priority_status(result);
  if (status != kDone) {
    std::cerr << "freshet: " << plain_text(result.value("detail", result.value("errorMessage", ""))) << '\n';
  }
  return status;
}

Json PrioritySteps::find(const std::string& id) {
  return session_.call("GET", "/records/" + path_segment(id));
}

Json PrioritySteps::first_ten() {
  return session_.call("GET", "/records?limit=10");
}

Json PrioritySteps::put_test(const std::string& id) {
  Json items = Json::array();
  for (const char* sku : {"Item-1", "Item-2", "Item-3"}) items.push_back(Json{{"SKU", sku}, {"is_packed", true}});
  const Json data{{"id", id}, {"data_1", "Data 1"}, {"data_2", "Data 2"}, {"data_3", "Data 3"}, {"items", items}};
  return call("put", Json{{"id", id}, {"data", data}});
}

Json PrioritySteps::put_again(const std::string& id, const Json& item, const std::string& status) {
  Json body{{"id", id}, {"status", status}};
  if (item.contains("data")) body["data"] = item["data"];
  return call("put", body);
}

}  // namespace freshet::cli
