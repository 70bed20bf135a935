// The canonical form of a request, which is signed. Pure functions; not for use outside wire/auth.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "runtime/ports.h"
#include "wire/auth/credentials.h"

namespace freshet::sigv4 {

inline constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
inline constexpr std::string_view kTerminator = "aws4_request";

using QueryMembers = std::vector<std::pair<std::string, std::string>>;  // Decoded, in the order of the target.

QueryMembers parse_query(std::string_view target);
const std::string* find_member(const QueryMembers& query, std::string_view name);
std::string_view path_of(std::string_view target);

// The spelling of the path in the canonical form: some clients encode it once more.
enum class PathForm { kEncodedAgain, kAsSent };

// `headers`: names in lower case, in order. Leaves X-Amz-Signature out of the query.
std::string canonical_request(const HttpRequest& request, const QueryMembers& query,
                              const std::vector<std::string>& headers, const std::string& body_hash, PathForm form);

// "20150830/us-east-1/dynamodb/aws4_request"
std::string scope_text(std::string_view date, std::string_view region, std::string_view service);
std::string string_to_sign(std::string_view timestamp, std::string_view scope, const std::string& canonical);
std::string signature_of(const AccessKey& key, std::string_view date, std::string_view region, std::string_view service,
                         const std::string& to_sign);

std::string format_timestamp(WallTime at);                       // "20150830T123600Z"
std::optional<WallTime> parse_timestamp(std::string_view text);  // Accepts only that form.
std::optional<WallTime> parse_http_date(std::string_view text);  // "Sun, 30 Aug 2015 12:36:00 GMT"
std::string lower(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace freshet::sigv4
