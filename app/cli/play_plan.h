// Plans the calls that `freshet replay --into` sends to a daemon for a fixture. Pure.
//
// For a queue it plans the creation of each task that is PENDING, DELAYED or TAKEN when its record comes; for any other
// table it plans every change.
// docs/formats.md, "Playing a fixture into a daemon".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/ports.h"
#include "streams/fixture.h"

namespace freshet::cli {

struct PlayedCall {
  enum class Kind { kCreate, kPut, kDelete };
  Kind kind = Kind::kPut;
  milliseconds at{0};  // Time since the fixture's start, as recorded. Never before that of the previous call.
  WallTime recorded{};
  ItemRef item;       // With kDelete only its keys.
  std::string place;  // Names the line in the fixture, for messages.
  std::string order;  // Calls with the same text are sent one after the other, in their order.
};

struct PlayPlan {
  std::vector<PlayedCall> calls;           // In the order of the fixture: the snapshot first.
  std::map<std::string, size_t> left_out;  // The number of calls that were left out, by reason.
};

PlayPlan play_plan(const Fixture& fixture, bool is_queue);

struct PlayedRequest {
  std::string target;
  std::string body;
  HttpHeaders headers;
};

// A POST. A task's deadline, TTL and delay are as far from `now` as they were from the moment when it was recorded.
PlayedRequest played_request(const PlayedCall& call, const std::string& table, WallTime now);

}  // namespace freshet::cli
