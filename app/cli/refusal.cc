#include "app/cli/refusal.h"

#include <algorithm>
#include <iostream>
#include <string_view>
#include <vector>

#include "base/plain_text.h"
#include "runtime/deploy/diagnostics.h"

namespace freshet::cli {
namespace {

constexpr std::string_view kNeedsRole = "this request needs the role ";  // In the refusal of a key by its role.
constexpr size_t kMostShown = 1000;                                      // The limit for a text that is none of ours.

std::string text_in(const Json& object, const char* name) {
  const auto member = object.find(name);
  return member != object.end() && member->is_string() ? member->get<std::string>() : std::string();
}

// Without the namespace that AWS protocols put before a name.
std::string without_namespace(std::string code) {
  code.erase(0, code.find('#') + 1);
  return code;
}

RefusalText known_refusal(const Json& document) {
  if (!document.is_object()) return {};
  if (const auto error = document.find("error"); error != document.end() && error->is_object()) {
    RefusalText found{text_in(*error, "code"), text_in(*error, "message")};
    found.own = !found.code.empty() && !found.message.empty();
    return found;
  }
  std::string message = text_in(document, "message");
  if (message.empty()) message = text_in(document, "Message");
  return {without_namespace(text_in(document, "__type")), std::move(message)};
}

// A wrong key in a sentence that a hint can follow. The further lines of a wrong signature show what was to be signed,
// for whoever writes a client.
void shorten(RefusalText& found) {
  if (found.code != "InvalidSignatureException" && found.code != "UnrecognizedClientException") return;
  found.message.erase(std::min(found.message.find('\n'), found.message.size()));
  constexpr std::string_view kConsult = " Consult the service documentation for details.";
  if (found.message.ends_with(kConsult)) found.message.resize(found.message.size() - kConsult.size());
  if (found.message.ends_with('.')) found.message.pop_back();
}

}  // namespace

RefusalText refusal_in(const Json& document) {
  RefusalText found = known_refusal(document);
  shorten(found);
  if (found.message.empty()) found.message = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  return found;
}

RefusalText refusal_in(const HttpResponse& response) {
  const Json document = Json::parse(response.body, nullptr, false);
  RefusalText found = document.is_discarded() ? RefusalText() : known_refusal(document);
  shorten(found);
  if (found.code.empty()) found.code = header(response.headers, "x-amzn-ErrorType");
  if (found.message.empty()) found.message = response.body.substr(0, kMostShown);
  return found;
}

std::string in_words(const RefusalText& refusal) {
  return refusal.own || refusal.code.empty() ? refusal.message : refusal.code + ": " + refusal.message;
}

std::string hint_at_key(const RefusalText& refusal, const std::string& credentials) {
  const bool says_how = refusal.message.find("--credentials") != std::string::npos;
  if (credentials.empty() && refusal.code == "MissingAuthenticationTokenException" && !says_how) {
    return "; --credentials FILE names the access key to sign with";
  }
  if (refusal.code == "UnrecognizedClientException" || refusal.code == "InvalidSignatureException") {
    return "; the access key is the first one in " + credentials + " (--credentials)";
  }
  if (!credentials.empty() && refusal.message.find(kNeedsRole) != std::string::npos) {
    return "; the first key in " + credentials + " signs: name a file whose first key has that role";
  }
  return {};
}

int report_refusal(const HttpResponse& response, const std::string& credentials) {
  const RefusalText refusal = refusal_in(response);
  std::cerr << "freshet: " << plain_text(in_words(refusal) + hint_at_key(refusal, credentials)) << '\n';
  return exit_status_of(refusal.code);
}

bool print_known_functions(BlockingClient& client, const std::string& wanted) {
  const auto response = client.call("GET", "/2015-03-31/functions/", "");
  if (!response || response->status != 200) return false;
  const Json list = Json::parse(response->body, nullptr, false);
  const auto functions = list.is_object() ? list.find("Functions") : list.end();
  if (!list.is_object() || functions == list.end() || !functions->is_array()) return false;
  std::vector<std::string> names;
  for (const Json& one : *functions) {
    const auto name = one.is_object() ? one.find("FunctionName") : one.end();
    if (one.is_object() && name != one.end() && name->is_string()) names.push_back(name->get<std::string>());
  }
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return false;
  std::cerr << "freshet: there is no function '" << plain_text(wanted) << "'"
            << (names.empty() ? "; freshet deploy TEMPLATE makes some" : plain_text(nearest_or_all(wanted, names)))
            << '\n';
  return true;
}

}  // namespace freshet::cli
