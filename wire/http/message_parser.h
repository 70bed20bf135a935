// HTTP/1.1 messages from bytes, without any I/O: feed() what arrived, take() what is complete. It is strict where
// leniency would allow request smuggling: one framing header only, no unknown transfer codings, bounded headers and
// bodies.
//
// One thread at a time. No byte sequence is undefined behaviour; after kFailed the connection cannot be used any more.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "runtime/ports.h"

namespace freshet {

struct HttpLimits {
  size_t header_bytes = 16u << 10;  // All names and values together; the same bound applies to the request line.
  size_t header_count = 100;
  size_t body_bytes = limits::kMaxRequestBytes;
};

enum class ParseState { kNeedMore, kComplete, kFailed };

// Why a message was refused: the status for the response (400, 413, 431, 501, 505) and the reason. Too many headers are
// 431, as in HTTP; too long ones are 400, as in the item store's service.
struct ParseFailure {
  int status = 400;
  std::string reason;
};

class RequestParser {
 public:
  explicit RequestParser(HttpLimits limits);
  ~RequestParser();

  // Reads from the front of `in`, at most to the end of one message, and returns the number of bytes it took. The
  // caller passes the remaining bytes again, followed by new ones.
  size_t feed(std::string_view in);
  ParseState state() const;
  const ParseFailure& failure() const;  // Valid after kFailed.

  bool started() const;                // True if a part of a message has arrived.
  bool header_complete() const;        // The body may still be missing.
  size_t body_bytes() const;           // The bytes of the body so far.
  bool expects_continue() const;       // The client waits for "100 Continue" before it sends the body.
  const HttpHeaders& headers() const;  // The headers so far, even for a message that failed.
  HttpRequest head() const;            // A copy of everything before the body, as far as it has arrived.
  bool keep_alive() const;             // For a complete message: true if the connection may carry another one.
  bool http10() const;                 // For a complete message: true for HTTP/1.0, which must be told that the
                                       // connection is kept alive.
  HttpRequest take();                  // Valid after kComplete; the parser is then ready for the next message.

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
  // The peer has closed: completes a message that ends with the connection, else fails.
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
