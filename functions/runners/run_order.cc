#include "functions/runners/run_order.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "tables/value/json.h"

namespace freshet {

namespace {

using Json = nlohmann::json;

constexpr std::array<const char*, 3> kKindNames = {"success", "failure", "bounced"};

tl::unexpected<Error> wrong(const std::string& what) {
  return invalid("the body " + what);
}

Result<std::string> text_in(const Json& body, const char* name) {
  const auto found = body.find(name);
  if (found == body.end() || !found->is_string()) return wrong("needs the string '" + std::string(name) + "'");
  return found->get<std::string>();
}

Result<void> read_time(const Json& body, const char* name, std::optional<milliseconds>& into) {
  const auto found = body.find(name);
  if (found == body.end()) return {};
  if (!found->is_number_integer()) return wrong("needs an integer as '" + std::string(name) + "'");
  into = milliseconds(found->get<int64_t>());
  return {};
}

void put_time(Json& body, const char* name, std::optional<milliseconds> time) {
  if (time) body[name] = time->count();
}

template <class Names>
std::optional<size_t> index_of(const Names& names, const std::string& name) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return i;
  }
  return std::nullopt;
}

// The members that are items, in the store's own JSON, are put in as they are.
std::string with_item(const Json& body, const char* name, const std::string& item) {
  std::string out = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  out.pop_back();
  return out + ",\"" + name + "\":" + item + "}";
}

Result<Item> item_in(const Json& body, const char* name) {
  const auto found = body.find(name);
  if (found == body.end() || !found->is_object()) return wrong("needs the object '" + std::string(name) + "'");
  return parse_item_json(found->dump());
}

}  // namespace

std::string run_order_json(const RunOrder& order) {
  const Json body = {{"owner", order.owner},       {"epoch", order.epoch}, {"place", order.place},
                     {"function", order.function}, {"queue", order.queue}, {"traceId", order.trace_id},
                     {"lease", order.lease}};
  std::string task;
  append_item_json(task, order.task);
  return with_item(body, "task", task);
}

Result<RunOrder> parse_run_order(std::string_view json) {
  const Json body = Json::parse(json, nullptr, false);
  if (!body.is_object()) return wrong("must be a JSON object");
  RunOrder order;
  const std::pair<const char*, std::string*> texts[] = {{"owner", &order.owner},      {"function", &order.function},
                                                        {"queue", &order.queue},      {"place", &order.place},
                                                        {"traceId", &order.trace_id}, {"lease", &order.lease}};
  for (const auto& [name, into] : texts) {
    auto text = text_in(body, name);
    if (!text) return fail(std::move(text.error()));
    *into = std::move(*text);
  }
  const auto epoch = body.find("epoch");
  if (epoch == body.end() || !epoch->is_number_unsigned()) return wrong("needs the number 'epoch'");
  order.epoch = epoch->get<uint64_t>();
  auto task = item_in(body, "task");
  if (!task) return fail(std::move(task.error()));
  order.task = ItemRef::encode(*task);
  return order;
}

std::string run_result_json(const RunResult& result) {
  Json body = {{"kind", kKindNames[static_cast<size_t>(result.kind)]},
               {"error", result.error},
               {"reason", result.reason},
               {"refusal", kRefusalNames[static_cast<size_t>(result.refusal)]},
               {"badCost", result.bad_cost},
               {"answered", result.answered},
               {"begun", result.begun}};
  put_time(body, "delayMs", result.delay);
  put_time(body, "leaveAloneMs", result.leave_alone);
  if (result.cost) body["cost"] = *result.cost;
  std::string values;
  Item item;
  item.set("result", result.result);
  append_item_json(values, item);
  return with_item(body, "values", values);
}

Result<RunResult> parse_run_result(std::string_view json) {
  const Json body = Json::parse(json, nullptr, false);
  if (!body.is_object()) return wrong("must be a JSON object");
  const auto kind_name = text_in(body, "kind");
  if (!kind_name) return fail(kind_name.error());
  const auto kind = index_of(kKindNames, *kind_name);
  if (!kind) return wrong("has the unknown kind '" + *kind_name + "'");
  const auto refusal_name = text_in(body, "refusal");
  if (!refusal_name) return fail(refusal_name.error());
  const auto refusal = index_of(kRefusalNames, *refusal_name);
  if (!refusal) return wrong("has the unknown refusal '" + *refusal_name + "'");
  auto values = item_in(body, "values");
  if (!values) return fail(std::move(values.error()));
  RunResult result;
  result.kind = static_cast<RunResult::Kind>(*kind);
  result.refusal = static_cast<DownstreamRefusal>(*refusal);
  if (const Value* value = values->find("result")) result.result = *value;
  const std::pair<const char*, std::string*> texts[] = {
      {"error", &result.error}, {"reason", &result.reason}, {"badCost", &result.bad_cost}};
  for (const auto& [name, into] : texts) {
    auto text = text_in(body, name);
    if (!text) return fail(std::move(text.error()));
    *into = std::move(*text);
  }
  for (const auto& [name, into] : {std::pair("answered", &result.answered), std::pair("begun", &result.begun)}) {
    const auto flag = body.find(name);
    if (flag == body.end() || !flag->is_boolean()) return wrong("needs the boolean '" + std::string(name) + "'");
    *into = flag->get<bool>();
  }
  if (auto read = read_time(body, "delayMs", result.delay); !read) return fail(std::move(read.error()));
  if (auto read = read_time(body, "leaveAloneMs", result.leave_alone); !read) return fail(std::move(read.error()));
  if (const auto cost = body.find("cost"); cost != body.end()) {
    if (!cost->is_number()) return wrong("needs a number as 'cost'");
    result.cost = cost->get<double>();
  }
  return result;
}

}  // namespace freshet
