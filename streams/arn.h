// Amazon resource names of Freshet's resources. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace freshet {

// The owner of the resources. The names are local: any values work, as long as they stay the same.
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

// The parts of a stream's ARN; empty if the text is none.
struct StreamName {
  std::string table;
  std::string label;
};
std::optional<StreamName> parse_stream_arn(std::string_view arn);

// A reference to a function: NAME, function:NAME, ACCOUNT:function:NAME or an ARN, each with or without ":QUALIFIER".
// Missing parts are empty. Empty if the text has none of these forms.
struct FunctionReference {
  std::string region;
  std::string account;
  std::string name;
  std::string qualifier;  // A version or an alias.
};
std::optional<FunctionReference> parse_function(std::string_view text);
inline constexpr std::string_view kLatestVersion = "$LATEST";

// The function's name from a name or an ARN, followed by its qualifier unless that is $LATEST: "F", "F:7" (a version),
// "F:live" (an alias). The runtime keeps functions by this name. Empty if the text names no function.
std::string function_name(std::string_view name_or_arn);
// "F:7" is the function "F" with the qualifier "7"; the qualifier of "F" is empty. Both view into `name`.
inline std::string_view plain_name(std::string_view name) {
  return name.substr(0, name.find(':'));
}
inline std::string_view qualifier_of(std::string_view name) {
  const size_t colon = name.find(':');
  return colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
}
std::string topic_name(std::string_view name_or_arn);
std::string table_name(std::string_view name_or_arn);

}  // namespace freshet
