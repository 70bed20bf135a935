#include "app/cli/remote.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "app/cli/commands.h"
#include "app/cli/exact_json.h"
#include "app/cli/refusal.h"
#include "base/plain_text.h"
#include "base/there_are.h"

namespace freshet::cli {

void Remote::add_options(Command command) {
  add_connection_options(command);
  command.options_group("Connection");
  chosen_by =
      command.add_option("--queue", queue, "Name of the queue: that of its table; a daemon's only one needs none")
          .envname("FRESHET_QUEUE")
          .capture_default_str();
  command.options_group("Options");
  command.add_flag("--json", json, "Print JSON");
}

void Remote::add_connection_options(Command command) {
  command.options_group("Connection");
  command.add_option("--url", url, "Address of the daemon").envname("FRESHET_URL").capture_default_str();
  command
      .add_option("--credentials", credentials,
                  "File of the access key to sign requests with, if the daemon asks for signatures")
      .file()
      .envname("FRESHET_CREDENTIALS");
  command.add_option("--ca", ca, "PEM file of certificates to trust for https://, besides the system's")
      .file()
      .envname("FRESHET_CA");
  command.options_group("Options");
}

Result<std::unique_ptr<BlockingClient>> connect_to(const std::string& url, const std::string& credentials,
                                                   const std::string& ca) {
  if (credentials.empty()) return BlockingClient::make(url, {{}, ca});
  auto keys = Credentials::read(credentials);
  if (!keys) return fail(keys.error());
  return BlockingClient::make(url, {keys->first(), ca});
}

int exit_status_of(const std::string& error_code) {
  if (error_code == "NotFoundException" || error_code == "ResourceNotFoundException") return kNotFound;
  if (error_code == "ConflictException" || error_code == "ConditionalCheckFailedException") return kConflict;
  if (error_code == "TooManyRequestsException" || error_code == "ProvisionedThroughputExceededException") {
    return kThrottled;
  }
  if (error_code == "ServiceUnavailableException") return kUnreachable;
  if (error_code == "ValidationException" || error_code == "SerializationException" ||
      error_code == "InvalidRequestContentException") {
    return kUsage;
  }
  return kFailed;
}

// About a server that cannot be reached, a line; empty if the message says it already.
static std::string what_to_do(const std::string& message, const std::string& option) {
  const auto says = [&](std::string_view text) { return message.find(text) != std::string::npos; };
  if (says("does not speak TLS")) return {};
  // A certificate is refused only where a daemon, or another server, is running.
  if (message.starts_with(untrusted::kBegin)) {
    if (says(untrusted::kExpired))
      return "The daemon needs a new one (--tls-cert); or is this machine's clock wrong?\n";
    if (says(untrusted::kEarly)) return "Is this machine's clock right?\n";
    if (says("no name at all")) return "The daemon needs one with the name of its host (--tls-cert)\n";
    if (says(untrusted::kOtherName)) return "Write such a name into " + option + "\n";
    return "Name the file of its certificate, or of the one that signed it: --ca FILE (or FRESHET_CA)\n";
  }
  if (message.starts_with("cannot begin TLS ")) return "Is " + option + " the daemon's address?\n";
  if (message.starts_with("cannot resolve ")) {
    return "Is the name of the host right? " + option + " is the daemon's address\n";
  }
  return "Is the daemon running? freshet serve NAME or freshet run TEMPLATE starts one; " + option +
         " names another address\n";
}

int unreachable(const Error& error, std::string_view option) {
  std::cerr << "freshet: " << plain_text(error.message) << '\n' << what_to_do(error.message, std::string(option));
  return kUnreachable;
}

int strange_answer(const std::string& url) {
  std::cerr << "freshet: " << plain_text(url) << " answers, but not as Freshet does: is that its address?\n";
  return kFailed;
}

std::string path_segment(const std::string& text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const unsigned char c : text) {
    if (std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      out += static_cast<char>(c);
    } else {
      out += {'%', kHex[c >> 4], kHex[c & 15]};
    }
  }
  return out;
}

namespace {

struct QueueKind {
  const char* root;    // The path of its API, with a slash at its end.
  const char* member;  // Lists the names in the answer to GET of that path.
  const char* what;
  const char* commands;
  const char* define;  // How a daemon gets one.
};
constexpr QueueKind kQueueKinds[] = {
    {"/queues/", "queues", "a queue of tasks", "commands without priority, filtered or ordered, such as freshet stats",
     "freshet serve NAME starts one"},
    {"/priority/", "queues", "a priority queue", "freshet priority", "freshet run --priority-queue FILE defines some"},
    {"/filtered/", "queues", "a filtered queue", "freshet filtered", "freshet run --filtered-queue FILE defines some"},
    {"/ordered/", "tables", "a table with ordered writes", "freshet ordered",
     "freshet run --ordered-writes FILE defines some"},
};

const QueueKind& kind_of(const std::string& root) {
  return *std::find_if(std::begin(kQueueKinds), std::end(kQueueKinds) - 1,
                       [&](const QueueKind& one) { return root == one.root; });
}

// For an answer with an error status and no body, as proxies give it.
std::string without_body(int status) {
  std::string text = "the answer has status " + std::to_string(status) + " and no body: ";
  if (status < 400) return text + "--url (or FRESHET_URL) must be the daemon's own address, not one that redirects";
  if (status == 401 || status == 403) {
    return text + "the daemon or a proxy before it refuses the caller; --credentials FILE names an access key";
  }
  if (status == 404) return text + "--url (or FRESHET_URL) must be the address of a daemon, without a path";
  if (status == 429 || status >= 500) {
    return text + "the daemon or a proxy before it cannot answer now; try again, or see its log";
  }
  return text + "is --url (or FRESHET_URL) the daemon's address?";
}

// True if a refusal says that the daemon has no queue of that kind, and how to get one.
bool says_none(const std::string& refusal) {
  return refusal.find("'; this daemon has none") != std::string::npos ||
         refusal.find("'; define one with ") != std::string::npos;
}

// Nothing if an argument that went into the body is not UTF-8: JSON has no form for such bytes.
std::optional<std::string> text_of_request(const Json& body) {
  if (body.is_null()) return "";
  try {
    return text_of(body);
  } catch (const Json::type_error&) {
    return std::nullopt;
  }
}

}  // namespace

Json Session::ask(const std::string& method, const std::string& target, const Json& body, int& status) {
  if (!client_) {
    auto made = connect_to(remote_.url, remote_.credentials, remote_.ca);
    if (!made) {
      std::cerr << "freshet: " << plain_text(made.error().message) << '\n';
      exit_status_ = kUsage;
      return nullptr;
    }
    client_ = std::move(*made);
  }
  const auto text = text_of_request(body);
  if (!text) {
    std::cerr << "freshet: an argument is not valid UTF-8\n";
    exit_status_ = kUsage;
    return nullptr;
  }
  auto response = client_->call(method, target, *text);
  if (!response) {
    exit_status_ = unreachable(response.error());
    return nullptr;
  }
  status = response->status;
  Json document = parse_exact(response->body);
  if (document.is_discarded() && status < 300) {
    exit_status_ = strange_answer(remote_.url);
    return nullptr;
  }
  if (document.is_discarded()) {
    const std::string& said = response->body;
    document = Json{{"error", {{"code", ""}, {"message", said.empty() ? without_body(status) : said}}}};
  }
  return document;
}

std::vector<std::string> Session::names_of(const std::string& root, const std::string& member) {
  const auto response = client_->call("GET", root.substr(0, root.size() - 1), "");
  if (!response || response->status != 200) return {};
  const Json list = parse_exact(response->body);
  const auto names = list.is_object() ? list.find(member) : list.end();
  if (!list.is_object() || names == list.end() || !names->is_array()) return {};
  std::vector<std::string> out;
  for (const auto& name : *names) {
    if (name.is_string()) out.push_back(name.get<std::string>());
  }
  return out;
}

void Session::find_queue() {
  if (looked_ || !remote_.chosen_by || remote_.chosen_by->given()) return;
  if (!client_) {
    auto made = connect_to(remote_.url, remote_.credentials, remote_.ca);
    if (!made) return;
    client_ = std::move(*made);
  }
  looked_ = true;
  const QueueKind& kind = kind_of(remote_.root);
  const auto names = names_of(kind.root, kind.member);
  if (names.size() == 1 && names[0] != remote_.queue) found_ = names[0];
}

std::string Session::which_queue() {
  if (!remote_.chosen_by || remote_.chosen_by->given()) return {};
  const QueueKind& kind = kind_of(remote_.root);
  const auto names = names_of(kind.root, kind.member);
  if (names.size() < 2) return {};
  return "which one? " + there_are(names) + ": name one with " + remote_.option + " (or " + remote_.variable + ")";
}

std::string Session::about_name(const std::string& said) {
  const char* variable = std::getenv(remote_.variable.c_str());
  const bool from_variable = variable != nullptr && variable == remote_.queue;
  const QueueKind& wanted = kind_of(remote_.root);
  for (const QueueKind& kind : kQueueKinds) {
    if (&kind == &wanted) continue;
    const auto same = names_of(kind.root, kind.member);
    if (std::find(same.begin(), same.end(), remote_.queue) == same.end()) continue;
    const auto names = names_of(wanted.root, wanted.member);
    const std::string who =
        from_variable ? remote_.variable + " names '" + remote_.queue + "', which is " : "'" + remote_.queue + "' is ";
    const std::string other = from_variable ? remote_.option + ", or change " + remote_.variable : remote_.option;
    return who + kind.what + ": use " + kind.commands + ", or name " + wanted.what + " with " + other + " (" +
           (names.empty() ? "there is none yet: " + std::string(wanted.define) : there_are(names)) + ")";
  }
  if (says_none(said)) return said;
  return said + "; " +
         (from_variable ? "the name comes from " + remote_.variable : remote_.option + " chooses another");
}

Json Session::call(const std::string& method, const std::string& path, const Json& body) {
  return answer_of(method, path, {}, body);
}

Json Session::call_at(const std::string& method, const std::string& target, const Json& body) {
  return answer_of(method, {}, target, body);
}

Json Session::answer_of(const std::string& method, const std::string& path, const std::string& whole,
                        const Json& body) {
  // A wrong guess would be a refused request in the daemon's log.
  if (whole.empty()) find_queue();
  const auto target_now = [&] { return whole.empty() ? remote_.root + path_segment(queue()) + path : whole; };
  int status = 0;
  const std::string target = target_now();
  Json document = ask(method, target, body, status);
  if (document.is_null() || status < 300 || document.contains("return_value") || document.contains("outcome")) {
    return document;
  }
  const RefusalText refusal = refusal_in(document);
  std::string text = in_words(refusal);
  if (status == 404 && text.find("'" + remote_.queue + "'; ") != std::string::npos) {
    const std::string which = which_queue();
    text = which.empty() ? about_name(text) : which;
  }
  text += hint_at_key(refusal, remote_.credentials);
  // A refusal in a sentence of our own needs no more. Of any other answer the person has to know whose it is.
  const bool says_all = refusal.own && status != 500;
  const std::string call = says_all ? "" : " (" + method + ' ' + target + " gave " + std::to_string(status) + ")";
  std::cerr << "freshet: " << plain_text(explain_ ? explain_(text) : text) << call << '\n';
  exit_status_ = exit_status_of(refusal.code);
  return nullptr;
}

}  // namespace freshet::cli
