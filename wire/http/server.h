// The HTTP/1.1 server. I/O threads read and write sockets, parse requests and serialise answers; exchanges run on the
// loop. A batch of requests goes over in one delivery, a batch of answers comes back in one wake-up.
//
// Protections: only known Host names are answered (HostCheck); ambiguous framing is refused; every queue has a bound
// (connections, exchanges in flight, bytes of bodies, pipelined requests of a connection, headers, a body) and answers
// 503, 400, 431 or 413 at it, a compressed body's one counted after decompressing; slow clients are cut by one coarse
// timer. When there is no more room for answers that clients do not take, who has not taken one before is refused the
// next one (503, if it is 16 KiB or more), and who takes nothing for two seconds is cut; who reads is not. What takes
// long to parse or to write (64 KiB, compressed) has its turns one after the other, with everybody else in between.
// CORS headers are sent only to configured origins. A web page of any origin other than the server's own may only send
// GET and HEAD: all other requests get 403.
//
// Every answer has the id of its request: x-amzn-RequestId on the paths of AWS protocols, else x-request-id, which is
// the client's own X-Request-Id if it is a good one (wire/http/request_ids.h). What is refused or failed stands in the
// log by that id (wire/http/refusal_log.h).
//
// Pipelined requests of one connection start one after the other, each when the one before has run, and are answered
// in order. A client that closes its connection (or its sending side) destroys its running exchanges on the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/scheduler.h"
#include "runtime/ports.h"
#include "wire/http/io_thread.h"
#include "wire/http/listener.h"
#include "wire/http/message_parser.h"
#include "wire/http/request_gate.h"
#include "wire/http/tls.h"

namespace freshet {

struct HttpServerOptions {
  std::vector<std::string> host_names;      // Further Host headers that are answered; see HostCheck.
  std::vector<std::string> cors_origins;    // Web pages that may read answers; see Cors.
  std::shared_ptr<const RequestGate> gate;  // Null lets everything in.
  std::shared_ptr<const TlsContext> tls;    // Null speaks plain HTTP.
  // Serves only processes of the user that this one runs as. The owner is checked when the connection is accepted;
  // others get 403 and are cut at once. For listeners at IPv4 loopback addresses.
  bool own_user_only = false;
  // Whether answers have a Server header and an id. Functions' own processes are not sent either.
  bool marks_answers = true;
  uint64_t seed = 0;  // Of the ids. Two servers with the same one make the same ids.
  EventLog log;       // Of requests that were refused or failed.
  HttpLimits limits;
  size_t max_connections = 10'000;       // Less if the process may not have that many files open.
  size_t max_in_flight = 20'000;         // Exchanges, over all connections.
  size_t max_body_bytes = 512u << 20;    // Bodies that arrive or are in work, over all connections.
  size_t max_answer_bytes = 256u << 20;  // Of answers that clients do not take, over all connections.
  size_t max_pipelined = 128;            // Requests of one connection that are not answered yet.
  nanoseconds turn_slice{500'000};       // After so long in one turn of the loop, further requests have the next one.
  milliseconds idle_timeout{120'000};    // A connection without a request.
  milliseconds read_timeout{30'000};     // From the first byte of a request to its last.
  milliseconds write_timeout{30'000};    // An answer of which the client takes nothing.
};

// Resolves when everything that exchanges have observed so far is durable. Bind to Tables::durable().
using DurableFunction = std::function<Async<Result<void>>()>;

// Loop thread only. The I/O threads, the mailbox and the scheduler outlive the server.
class HttpServer {
 public:
  // Listens at once, on an address that only this machine reaches as long as nothing checks credentials; requests are
  // answered from the loop's next turn on. Routes are asked in order; the first that
  // matches serves the request, 404 if none does. Raises the process's soft limit of open files if the connections need
  // it. kIo with the address if it cannot listen there.
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, HttpListener listener,
                                                   std::vector<std::unique_ptr<Route>> routes,
                                                   std::vector<IoThread*> threads, const Clock& clock,
                                                   Scheduler& scheduler, Mailbox& mailbox, DurableFunction durable);
  virtual ~HttpServer() = default;  // Closes everything at once.

  virtual uint16_t port() const = 0;  // Of the listener it was started with, which is number 0.
  // Serves the same routes on a further address; requests say by HttpRequest::listener which they came in by. Its
  // number. kIo if it cannot listen there.
  virtual Result<uint64_t> listen(HttpListener listener) = 0;
  // No further connection is taken there. Those that are open stay.
  virtual void close(uint64_t listener) = 0;
  // Stops accepting, answers what is running (with "Connection: close") and closes idle connections. Resolves true
  // when all are closed, false when that took longer than `patience`: the rest is then closed as it is.
  virtual Async<bool> stop(milliseconds patience) = 0;
  virtual size_t in_flight() const = 0;    // Exchanges accepted and not yet answered.
  virtual size_t connections() const = 0;  // Open ones.
};

}  // namespace freshet
