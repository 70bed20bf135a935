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

// What names a function: NAME, function:NAME, ACCOUNT:function:NAME or an ARN, with ":QUALIFIER" behind it or not.
// Parts that are not told are empty. Empty if the text has none of these forms.
struct FunctionReference {
  std::string region;
  std::string account;
  std::string name;
  std::string qualifier;  // A version or an alias.
};
std::optional<FunctionReference> parse_function(std::string_view text);
inline constexpr std::string_view kLatestVersion = "$LATEST";

// The name in a name or an ARN, with its qualifier behind it unless that is $LATEST: "F", "F:7" (a version), "F:live"
// (an alias). The runtime keeps functions by this name. Empty if the text names no function.
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
