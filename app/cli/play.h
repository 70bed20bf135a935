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

// Sends the fixture and prints the result. Ends early after SIGINT, SIGTERM or SIGHUP, once the current calls are
// answered; at once after a second signal. Returns the exit status.
int play_into(const Fixture& fixture, const PlayOptions& options);

}  // namespace freshet::cli
