// freshet fleet: the daemons that serve an engine's queues together, and which of them serves which queue.
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/remote.h"
#include "app/cli/table.h"
#include "base/plain_text.h"
#include "base/terminal.h"

namespace freshet::cli {
namespace {

Cell state_of(const Json& member) {
  if (!member.value("alive", false)) return {"silent", Colour::kRed};
  if (member.value("leaving", false)) return {"leaving", Colour::kYellow};
  return {"alive", Colour::kGreen};
}

// "queue/jobs, queue/mails"; "-" for none.
std::string text_of_units(const Json& units) {
  std::string out;
  for (const Json& unit : units) out += (out.empty() ? "" : ", ") + unit.get<std::string>();
  return out.empty() ? "-" : out;
}

bool is_held(const Json& members, const Json& unit) {
  return std::any_of(members.begin(), members.end(), [&](const Json& member) {
    const Json holds = member.value("holds", Json::array());
    return member.value("alive", false) && std::find(holds.begin(), holds.end(), unit) != holds.end();
  });
}

std::string counted(size_t count) {
  return std::to_string(count) + (count == 1 ? " daemon" : " daemons");
}

void print_wanted(const Json& members, size_t wanted) {
  const auto alive = static_cast<size_t>(std::count_if(members.begin(), members.end(), [](const Json& member) {
    return member.value("alive", false) && !member.value("leaving", false);
  }));
  if (wanted > alive) std::cout << "the work needs " << counted(wanted) << ": " << wanted - alive << " more\n";
  if (wanted < alive && wanted > 0)
    std::cout << "by load, " << counted(wanted) << (wanted == 1 ? " is" : " are")
              << " enough, spares for failures not counted\n";
}

void print_trouble(const Json& fleet) {
  std::string trouble = fleet.value("trouble", "");
  while (trouble.ends_with('\n')) trouble.pop_back();
  if (!trouble.empty()) std::cout << "the daemon that was asked is not ready:\n" << plain_lines(trouble) << '\n';
}

void print_fleet(const Json& fleet) {
  const Json members = fleet.value("members", Json::array());
  const std::string leader = fleet.value("leader", "");
  Table table(screen_of(STDOUT_FILENO), {{.header = "MEMBER", .gives_way = true},
                                         {.header = "STATE"},
                                         {.header = "LEADS"},
                                         {.header = "URL"},
                                         {.header = "BUSY"},
                                         {.header = "SERVES", .wraps = true}});
  for (const Json& member : members) {
    const std::string id = member.value("id", "");
    const bool is_asked = id == fleet.value("member", "");
    table.add({{id + (is_asked ? " (asked)" : "")},
               state_of(member),
               {id == leader ? "yes" : "-"},
               {member.value("url", "")},
               {std::to_string(member.value("load", 0)) + " %"},
               {text_of_units(member.value("holds", Json::array()))}});
  }
  std::cout << table.text();
  if (const std::string state = fleet.value("state", ""); state != "joined") {
    std::cout << "the daemon that was asked is " << plain_text(state)
              << ": it serves nothing, and the table may be old\n";
  }
  print_trouble(fleet);
  for (const Json& unit : fleet.value("units", Json::array())) {
    if (is_held(members, unit.at("unit"))) continue;
    std::cout << plain_text(unit.value("unit", "")) << " is served by nobody at the moment\n";
  }
  print_wanted(members, fleet.value("wanted", size_t{0}));
}

int fleet(const Remote& remote) {
  Session session(remote);
  session.explain_errors([](const std::string& error) {
    return error.find("GET /fleet") == std::string::npos ? error
                                                         : "this daemon is in no fleet: see freshet run --fleet";
  });
  const Json answer = session.call_at("GET", "/fleet");
  if (answer.is_null()) return session.exit_status();
  if (remote.json) {
    std::cout << answer.dump() << '\n';
  } else if (answer.value("members", Json::array()).empty()) {
    std::cout << "this daemon has not joined its fleet yet\n";
    print_trouble(answer);
  } else {
    print_fleet(answer);
  }
  return kDone;
}

}  // namespace

void add_fleet(Command app, int& exit_status) {
  auto remote = std::make_shared<Remote>();
  const Command command =
      app.add_subcommand("fleet", "Show the daemons of a fleet, and which of them serves which queue");
  remote->add_connection_options(command);
  command.add_flag("--json", remote->json, "Print JSON");
  command.footer(
      "Any member of the fleet can be asked. How many members live; the member that serves a queue:\n"
      "  freshet fleet --json | jq '[.members[] | select(.alive)] | length'\n"
      "  freshet fleet --json | jq -r '.units[] | select(.unit == \"queue/jobs\") | .owner'");
  command.callback([remote, &exit_status] { exit_status = fleet(*remote); });
}

}  // namespace freshet::cli
