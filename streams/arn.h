// Amazon resource names of what Freshet serves. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace freshet {

// Whose resources these are. The names are local: any values do, as long as they stay.
struct Account {
  std::string region = "us-east-1";
  std::string id = "000000000000";
};

std::string table_arn(const Account& account, std::string_view table);
std::string stream_arn(const Account& account, std::string_view table, std::string_view label);
std::string topic_arn(const Account& account, std::string_view topic);
std::string function_arn(const Account& account, std::string_view function);
std::string rule_arn(const Account& account, std::string_view schedule);

struct Arn {
  std::string service;
  std::string region;
  std::string account;
  std::string resource;  // All that follows, e.g. "table/T/stream/LABEL" or "function:NAME".
};
// Empty unless the text is "arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE" with a service and a resource.
std::optional<Arn> parse_arn(std::string_view text);

// What a stream's ARN names; empty if it is none.
struct StreamName {
  std::string table;
  std::string label;
};
std::optional<StreamName> parse_stream_arn(std::string_view arn);

// The plain name in a name or an ARN; a function's qualifier ("NAME:1", ":$LATEST") is dropped. Empty if it is an ARN
// of another kind.
std::string function_name(std::string_view name_or_arn);
std::string topic_name(std::string_view name_or_arn);
std::string table_name(std::string_view name_or_arn);

}  // namespace freshet
