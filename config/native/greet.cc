// A native function, as an example (docs/native-functions.md): greets, and keeps the greeting in a table.
#include "functions/own_functions.h"
#include "tables/value/json.h"
#include "tables/value/json_reader.h"

namespace freshet {

namespace {

// {"name": "Ada"} -> {"greeting": "Hello, Ada"}, which is also put into the table that the variable TABLE names.
Async<Result<std::string>> greet(Context& context) {
  const Environment& variables = context.function.environment;
  const auto table = variables.find("TABLE");
  if (table == variables.end()) co_return invalid("the variable TABLE is missing: the table for greetings");
  JsonDocument document;
  const auto event = document.parse(context.invocation.payload.text());
  if (!event) co_return fail(event.error());
  const auto name = event->string_or("name", "world");
  if (!name) co_return fail(name.error());
  const std::string greeting = "Hello, " + std::string(*name);

  PutItemInput put;
  put.table = table->second;
  put.item.set("name", Value(std::string(*name)));
  put.item.set("greeting", Value(greeting));
  auto written = co_await context.services.tables.put_item(std::move(put));
  if (!written) co_return fail(std::move(written.error()));

  std::string result = R"({"greeting":)";
  append_json_string(result, greeting);
  co_return result + "}";
}

}  // namespace

std::vector<OwnFunction> own_functions() {
  return {{"greet", greet}};
}

}  // namespace freshet
