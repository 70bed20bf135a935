// freshet watch: tasks as they move between states.
#include <unistd.h>

#include <ctime>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/refusal.h"
#include "app/cli/remote.h"
#include "app/cli/table.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

std::string attribute(const Json& image, const char* name) {
  if (!image.is_object() || !image.contains(name) || !image[name].is_object() || image[name].empty()) return "";
  const Json& value = image[name].front();
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string clock_of(const Json& seconds) {
  const std::time_t whole = seconds.is_number() ? static_cast<std::time_t>(seconds.get<double>()) : 0;
  std::tm parts{};
  localtime_r(&whole, &parts);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%H:%M:%S", &parts)};
}

// One change of the table, if a task has moved by it.
void print_move(const Json& record, bool json, const Screen& screen) {
  if (!record.is_object() || !record.contains("dynamodb")) return;
  const Json& change = record["dynamodb"];
  const Json before = change.value("OldImage", Json());
  const Json after = change.value("NewImage", Json());
  const std::string from = attribute(before, "taskStatus");
  const std::string to = attribute(after, "taskStatus");
  if (from == to) return;
  const Json& image = after.is_object() ? after : before;
  const std::string id = attribute(image, "taskId");
  if (json) {
    std::cout << Json{{"taskId", id}, {"from", from}, {"to", to}, {"attempt", attribute(image, "attempt")}}.dump()
              << '\n';
    return;
  }
  const auto status = [&](const std::string& name, const char* none) {
    return name.empty() ? none : painted(screen, colour_of_status(name), plain_text(name));
  };
  const std::string attempt = attribute(image, "attempt");
  const std::string reason = attribute(image, "shedReason");
  std::cout << clock_of(change.value("ApproximateCreationDateTime", Json())) << "  " << plain_text(id) << "  "
            << status(from, "(new)") << " -> " << status(to, "(gone)")
            << (attempt.empty() || to != "TAKEN" ? "" : "  attempt " + plain_text(attempt))
            << (reason.empty() ? "" : "  " + plain_text(reason)) << '\n';
}

int watch(const Remote& remote) {
  auto client = connect_to(remote.url, remote.credentials, remote.ca);
  if (!client) {
    std::cerr << "freshet: " << plain_text(client.error().message) << '\n';
    return kUsage;
  }
  hear_interrupts();
  Session session(remote);
  session.find_queue();
  const std::string root = "/record?table=" + path_segment(session.queue()) + "&from=";
  std::string next = "latest";
  const Screen screen = screen_of(STDOUT_FILENO);
  while (!interrupted()) {
    const auto piece = (*client)->call("GET", root + next + (next == "latest" ? "" : "&waitMs=500"), "");
    if (!piece) return interrupted() ? kDone : unreachable(piece.error());
    if (piece->status != 200) return report_refusal(*piece, remote.credentials);
    const auto onward = header(piece->headers, "X-Freshet-Next");
    if (onward.empty()) return strange_answer(remote.url);
    if (next == "latest") std::cerr << "watching " << plain_text(session.queue()) << " (Ctrl-C ends)\n";
    next = onward;
    size_t at = 0;
    for (size_t end = 0; (end = piece->body.find('\n', at)) != std::string::npos; at = end + 1) {
      print_move(Json::parse(piece->body.substr(at, end - at), nullptr, false), remote.json, screen);
    }
    std::cout << std::flush;
    if (!std::cout) return kFailed;
  }
  return kDone;
}

}  // namespace

void add_watch(Command app, int& exit_status) {
  auto remote = std::make_shared<Remote>();
  const Command command = app.add_subcommand("watch", "Show tasks as they move between states");
  remote->add_options(command);
  command.footer(
      "A line for each move as it happens, whoever caused it, until Ctrl-C. The queue's table needs a stream.\n"
      "  freshet watch\n"
      "  freshet watch --json | head");
  command.callback([remote, &exit_status] { exit_status = watch(*remote); });
}

}  // namespace freshet::cli
