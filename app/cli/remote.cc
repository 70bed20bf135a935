#include "app/cli/remote.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "app/cli/commands.h"

namespace freshet::cli {

void Remote::add_options(CLI::App& command) {
  command.add_option("--url", url, "Address of the daemon")->envname("FRESHET_URL")->capture_default_str();
  command.add_option("--queue", queue, "Queue (its table's name)")->envname("FRESHET_QUEUE")->capture_default_str();
  command.add_flag("--json", json, "Machine-readable output on standard output");
}

int exit_status_of(const std::string& error_code) {
  if (error_code == "NotFoundException" || error_code == "ResourceNotFoundException") return kNotFound;
  if (error_code == "ConflictException" || error_code == "ConditionalCheckFailedException") return kConflict;
  if (error_code == "TooManyRequestsException" || error_code == "ProvisionedThroughputExceededException") {
    return kThrottled;
  }
  if (error_code == "ServiceUnavailableException") return kUnreachable;
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

Json Session::call(const std::string& method, const std::string& path, const Json& body) {
  if (!client_) {
    auto made = BlockingClient::make(remote_.url);
    if (!made) {
      std::cerr << "freshet: " << made.error().message << '\n';
      exit_status_ = kUsage;
      return nullptr;
    }
    client_ = std::move(*made);
  }
  const std::string target = "/queues/" + path_segment(remote_.queue) + path;
  auto response = client_->call(method, target, body.is_null() ? "" : body.dump());
  if (!response) {
    std::cerr << "freshet: " << response.error().message
              << "\nIs the daemon running? Start one with: ./run.sh --serve\n";
    exit_status_ = kUnreachable;
    return nullptr;
  }
  Json document = Json::parse(response->body, nullptr, false);
  if (document.is_discarded()) document = Json{{"error", {{"code", ""}, {"message", response->body}}}};
  if (response->status < 300) return document;
  const Json error = document.value("error", Json::object());
  const std::string code = error.value("code", "");
  const std::string text = code + (code.empty() ? "" : ": ") + error.value("message", "");
  std::cerr << "freshet: " << (explain_ ? explain_(text) : text) << " (" << method << ' ' << target << " gave "
            << response->status << ")\n";
  exit_status_ = exit_status_of(code);
  return nullptr;
}

}  // namespace freshet::cli
