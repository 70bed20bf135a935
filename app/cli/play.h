// freshet replay --into: plays a fixture into a running daemon.
#pragma once

#include <string>

#include "streams/fixture.h"

namespace freshet::cli {

struct PlayOptions {
  std::string url;
  std::string credentials;
  std::string ca;
  std::string region = "us-east-1";  // The daemon's region, for signatures.
  std::string table;                 // Empty: the fixture's.
  double speed = 1;                  // Recorded seconds a second.
  int connections = 8;
  bool json = false;
};

// Sends it, and prints what came of it. Ends early after SIGINT, SIGTERM or SIGHUP, when the calls under way are
// answered; at a second one at once. Returns the exit status.
int play_into(const Fixture& fixture, const PlayOptions& options);

}  // namespace freshet::cli
