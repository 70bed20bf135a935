// HTTP/1.1 messages from bytes, without any I/O: feed() what arrived, take() what is complete. Strict where leniency
// lets a request be smuggled: one framing header only, no unknown transfer codings, bounded headers and bodies.
//
// One thread at a time. No byte sequence is undefined behaviour; after kFailed the connection cannot be used further.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "runtime/ports.h"

namespace freshet {

struct HttpLimits {
  size_t header_bytes = 16u << 10;  // Names and values together; and likewise the request line.
  size_t header_count = 100;
  size_t body_bytes = limits::kMaxRequestBytes;
};

enum class ParseState { kNeedMore, kComplete, kFailed };

// Why a message was refused: the status to answer a request with (400, 413, 431, 501, 505) and the reason. Too many
// headers are 431, as HTTP has it; too long ones are 400, as the item store's service answers them.
struct ParseFailure {
  int status = 400;
  std::string reason;
};

class RequestParser {
 public:
  explicit RequestParser(HttpLimits limits);
  ~RequestParser();

  // Reads from the front of `in`, at most to the end of one message, and returns how many bytes it took. The caller
  // offers what was not taken again, together with what comes next.
  size_t feed(std::string_view in);
  ParseState state() const;
  const ParseFailure& failure() const;  // Of kFailed.

  bool started() const;                // A part of a message is there.
  bool header_complete() const;        // The body may be outstanding.
  size_t body_bytes() const;           // Of the body, so far.
  bool expects_continue() const;       // The client waits for "100 Continue" before it sends the body.
  const HttpHeaders& headers() const;  // Those that have come, also of a message that failed.
  HttpRequest head() const;            // A copy of what stands before the body, as far as it has come.
  bool keep_alive() const;             // Of a complete message: the connection may carry another one.
  bool http10() const;                 // Of a complete message: HTTP/1.0, which has to be told that it is kept alive.
  HttpRequest take();                  // Of kComplete; the parser is then ready for the next message.

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

class ResponseParser {
 public:
  // `to_head`: the request was a HEAD, so that there is no body whatever the headers say.
  ResponseParser(HttpLimits limits, bool to_head);
  ~ResponseParser();

  // As above. Interim (1xx) responses are skipped.
  size_t feed(std::string_view in);
  // The peer has closed: completes a message whose end is that, else fails.
  void end_of_stream();
  ParseState state() const;
  const ParseFailure& failure() const;
  bool keep_alive() const;
  HttpResponse take();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet
