#include "streams/arn.h"

#include <fmt/format.h>

namespace freshet {

std::string table_arn(const Account& account, std::string_view table) {
  return fmt::format("arn:aws:dynamodb:{}:{}:table/{}", account.region, account.id, table);
}
std::string stream_arn(const Account& account, std::string_view table, std::string_view label) {
  return fmt::format("arn:aws:dynamodb:{}:{}:table/{}/stream/{}", account.region, account.id, table, label);
}
std::string topic_arn(const Account& account, std::string_view topic) {
  return fmt::format("arn:aws:sns:{}:{}:{}", account.region, account.id, topic);
}
std::string function_arn(const Account& account, std::string_view function) {
  return fmt::format("arn:aws:lambda:{}:{}:function:{}", account.region, account.id, function);
}
std::string rule_arn(const Account& account, std::string_view schedule) {
  return fmt::format("arn:aws:events:{}:{}:rule/{}", account.region, account.id, schedule);
}

namespace {

// Removes and returns the text before the next ':'; empty optional if there is none.
std::optional<std::string> take_field(std::string_view& text) {
  const size_t end = text.find(':');
  if (end == std::string_view::npos) return std::nullopt;
  std::string field(text.substr(0, end));
  text.remove_prefix(end + 1);
  return field;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::optional<Arn> parse_arn(std::string_view text) {
  if (!take_prefix(text, "arn:")) return std::nullopt;
  const auto partition = take_field(text);
  auto service = take_field(text);
  auto region = take_field(text);
  auto account = take_field(text);
  if (!partition || !service || !region || !account || service->empty() || text.empty()) return std::nullopt;
  return Arn{std::move(*service), std::move(*region), std::move(*account), std::string(text)};
}

std::optional<StreamName> parse_stream_arn(std::string_view text) {
  const auto arn = parse_arn(text);
  if (!arn || arn->service != "dynamodb") return std::nullopt;
  std::string_view rest = arn->resource;
  if (!take_prefix(rest, "table/")) return std::nullopt;
  const size_t end = rest.find("/stream/");
  if (end == std::string_view::npos) return std::nullopt;
  StreamName name{std::string(rest.substr(0, end)), std::string(rest.substr(end + 8))};
  if (name.table.empty() || name.label.empty()) return std::nullopt;
  return name;
}

std::optional<FunctionReference> parse_function(std::string_view text) {
  FunctionReference function;
  std::optional<Arn> arn;
  if (text.starts_with("arn:")) {
    arn = parse_arn(text);
    if (!arn || arn->service != "lambda") return std::nullopt;
    function.region = std::move(arn->region);
    function.account = std::move(arn->account);
    text = arn->resource;
    if (!take_prefix(text, "function:")) return std::nullopt;
  } else if (const size_t end = text.find(":function:"); end != std::string_view::npos) {
    function.account = text.substr(0, end);
    if (end != 12 || function.account.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    text.remove_prefix(end + std::string_view(":function:").size());
  } else {
    take_prefix(text, "function:");
  }
  const size_t colon = text.find(':');
  function.name = text.substr(0, colon);
  if (function.name.empty()) return std::nullopt;
  if (colon == std::string_view::npos) return function;
  function.qualifier = text.substr(colon + 1);
  if (function.qualifier.empty() || function.qualifier.find(':') != std::string::npos) return std::nullopt;
  return function;
}

std::string function_name(std::string_view name_or_arn) {
  auto function = parse_function(name_or_arn);
  if (!function) return {};
  if (function->qualifier.empty() || function->qualifier == kLatestVersion) return std::move(function->name);
  return function->name + ":" + function->qualifier;
}

std::string topic_name(std::string_view name_or_arn) {
  if (!name_or_arn.starts_with("arn:")) return std::string(name_or_arn);
  const auto arn = parse_arn(name_or_arn);
  if (!arn || arn->service != "sns" || arn->resource.find(':') != std::string::npos) return {};
  return arn->resource;
}

std::string table_name(std::string_view name_or_arn) {
  if (!name_or_arn.starts_with("arn:")) return std::string(name_or_arn);
  const auto arn = parse_arn(name_or_arn);
  if (!arn || arn->service != "dynamodb") return {};
  std::string_view name = arn->resource;
  if (!take_prefix(name, "table/")) return {};
  return std::string(name.substr(0, name.find('/')));
}

}  // namespace freshet
