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

// The plain name in a name or an ARN. Empty if it is an ARN of another kind, or names a function's version other than
// the latest, as there are none.
std::string function_name(std::string_view name_or_arn);
std::string topic_name(std::string_view name_or_arn);
std::string table_name(std::string_view name_or_arn);

}  // namespace freshet
