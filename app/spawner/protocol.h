// The frames between the daemon and the spawner process, over one stream socket.
//
// A frame is a u32 length (host order; both ends are the same binary on the same machine) and that many bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/ports.h"

namespace freshet::spawner {

struct StartRequest {
  uint64_t id = 0;
  ProcessSpec spec;
  bool follow = false;  // Output is sent as it comes, not with the answer.
};
struct KillRequest {
  uint64_t id = 0;
};
struct FlushRequest {  // Asks for the output of a program that is followed.
  uint64_t id = 0;
};
using Request = std::variant<StartRequest, KillRequest, FlushRequest>;

struct Answer {
  uint64_t id = 0;
  std::string start_error;  // If not empty, the reason why the program could not be started.
  bool try_again = false;   // With start_error: the machine is short of a resource; the program is not at fault.
  ProcessResult result;
};
struct Output {
  uint64_t id = 0;
  OutputStream stream = OutputStream::kOutput;
  std::string bytes;
  uint64_t dropped = 0;  // Bytes that were dropped before these.
};
struct Flushed {
  uint64_t id = 0;
};
using Reply = std::variant<Answer, Output, Flushed>;

// The frame with its length, ready to be sent.
std::string encode(const Request& request);
std::string encode(const Reply& reply);

// Decodes a frame without its length. Empty if it is not valid: the peer is broken.
std::optional<Request> decode_request(std::string_view frame);
std::optional<Reply> decode_reply(std::string_view frame);

// Removes the next complete frame from the front of `buffer`; empty if it is incomplete.
std::optional<std::string> take_frame(std::string& buffer);

}  // namespace freshet::spawner
