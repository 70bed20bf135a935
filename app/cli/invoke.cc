// freshet invoke: calls a function of a running daemon.
#include <iostream>
#include <iterator>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/progress.h"
#include "app/cli/refusal.h"
#include "app/cli/remote.h"
#include "base/plain_text.h"
#include "base/text_file.h"
#include "tables/value/text.h"

namespace freshet::cli {
namespace {

struct InvokeOptions {
  Remote remote;
  std::string function;
  std::string text;   // The event itself; empty: there is a file, or the event is {}.
  std::string event;  // File; "-": standard input.
  bool asynchronous = false;
  bool log = false;
};

Result<std::string> read_event(const InvokeOptions& options) {
  if (!options.text.empty() && !options.event.empty()) {
    return fail(ErrorCode::kValidation, "an event is given already: one of them");
  }
  if (!options.text.empty()) return options.text;
  if (options.event.empty()) return "{}";
  if (options.event == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  auto text = read_text_file(options.event);
  if (!text && options.event.find_first_of("{[\"@") == 0) {
    text.error().message +=
        "; --event takes a file, and the event itself stands without --event, as in freshet invoke " +
        options.function + " '{\"name\": \"Ada\"}'";
  }
  return text;
}

// The log that came with the answer, on standard error.
void show_log(const HttpResponse& response) {
  std::string log;
  if (append_from_base64(log, header(response.headers, "X-Amz-Log-Result")).empty()) {
    for (size_t at = 0; (at = log.find('\t', at)) != std::string::npos; at += 2) log.replace(at, 1, "  ");
    std::cerr << plain_lines(log);
  }
}

int invoke(const InvokeOptions& options) {
  auto event = read_event(options);
  if (!event) {
    std::cerr << "freshet: --event: " << plain_text(event.error().message) << '\n';
    return kUsage;
  }
  auto client = connect_to(options.remote.url, options.remote.credentials, options.remote.ca);
  if (!client) {
    std::cerr << "freshet: " << plain_text(client.error().message) << '\n';
    return kUsage;
  }
  HttpHeaders headers{{"X-Amz-Invocation-Type", options.asynchronous ? "Event" : "RequestResponse"}};
  if (options.log) headers.emplace_back("X-Amz-Log-Type", "Tail");
  const std::string target = "/2015-03-31/functions/" + path_segment(options.function) + "/invocations";
  Progress progress("waiting for " + plain_text(options.function));
  auto response = (*client)->call("POST", target, *event, headers);
  progress.end();
  if (!response) return unreachable(response.error());
  if (response->status == 404 && print_known_functions(**client, options.function)) return kNotFound;
  if (response->status >= 300) return report_refusal(*response, options.remote.credentials);
  if (options.log) show_log(*response);
  if (!response->body.empty()) std::cout << plain_json(response->body) << '\n';
  return header(response->headers, "X-Amz-Function-Error").empty() ? kDone : kFailed;
}

}  // namespace

void add_invoke(Command app, int& exit_status) {
  auto options = std::make_shared<InvokeOptions>();
  const Command command = app.add_subcommand("invoke", "Call a function and print what it returns");
  options->remote.add_connection_options(command);
  command.footer(
      "Prints one JSON document: the result, or the error of a function that failed (exit status 1).\n"
      "  freshet invoke Greet '{\"name\": \"Ada\"}'\n"
      "  freshet invoke Greet --event event.json\n"
      "  echo '{\"name\": \"Ada\"}' | freshet invoke Greet --event - --log");
  command.add_option("function", options->function, "Name or ARN of the function").required().check(not_empty());
  command.add_option("json", options->text, "The event, as JSON; {} without it and --event");
  command.add_option("--event", options->event, "File that holds the event, as JSON; - for standard input").file();
  command.add_flag("--async", options->asynchronous, "Queue the event and do not wait for the result");
  command.add_flag("--log", options->log, "Print the end of what the function logged to standard error");
  command.accept_flag("--json", "No effect: the result is JSON");
  command.callback([options, &exit_status] { exit_status = invoke(*options); });
}

}  // namespace freshet::cli
