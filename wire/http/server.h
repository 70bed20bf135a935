// The HTTP/1.1 server. I/O threads read and write sockets, parse requests and serialise answers; exchanges run on the
// loop. A batch of requests is delivered at once, and a batch of responses comes back in one wake-up.
//
// Protections: only known Host names are answered (HostCheck); ambiguous framing is refused; every queue has a bound
// (connections, exchanges in flight, bytes of bodies, pipelined requests of a connection, headers, a body) and answers
// 503, 400, 431 or 413 beyond it; a compressed body counts after decompression. One coarse timer disconnects slow
// clients. If the room for responses that clients have not read is used up, a client with an unread response gets 503
// instead of the next one (if that has 16 KiB or more), and a client that reads nothing for two seconds is
// disconnected; a client that keeps reading is never disconnected. Requests and responses that take long to parse or to
// write (64 KiB, compressed) are handled one after the other, with all others in between. CORS headers are sent only to
// configured origins. A web page of any origin other than the server's own may only send a GET or HEAD that changes
// nothing (Route::changes): all other requests get 403.
//
// Every response has the id of its request: x-amzn-RequestId on the paths of AWS protocols, else x-request-id, which is
// the client's own X-Request-Id if it is a good one (wire/http/request_ids.h). The log has each refused or failed
// request with that id (wire/http/refusal_log.h).
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
  std::vector<std::string> host_names;      // Further Host headers that are accepted; see HostCheck.
  std::vector<std::string> cors_origins;    // Web pages that may read responses; see Cors.
  std::shared_ptr<const RequestGate> gate;  // Null accepts every request.
  std::shared_ptr<const TlsContext> tls;    // Null speaks plain HTTP.
  // Serves only processes of the same user. The owner is checked when the connection is accepted; others get 403 and
  // are disconnected at once. For listeners at IPv4 loopback addresses.
  bool own_user_only = false;
  // True: responses have a Server header and an id. Responses to functions' own processes have neither.
  bool marks_answers = true;
  uint64_t seed = 0;  // Seeds the ids. Two servers with the same seed make the same ids.
  EventLog log;       // Logs refused and failed requests.
  HttpLimits limits;
  size_t max_connections = 10'000;       // Fewer if the process may not open that many files.
  size_t max_in_flight = 20'000;         // The most exchanges, over all connections.
  size_t max_body_bytes = 512u << 20;    // The most bytes of bodies that arrive or are in work, over all connections.
  size_t max_answer_bytes = 256u << 20;  // The most bytes of responses that clients have not read, over all
                                         // connections.
  size_t max_pipelined = 128;            // The most unanswered requests of one connection.
  nanoseconds turn_slice{500'000};       // After this time in one turn of the loop, further requests run in the next
                                         // one.
  milliseconds idle_timeout{120'000};    // For a connection without a request.
  milliseconds read_timeout{30'000};     // For a request, from its first byte to its last.
  milliseconds write_timeout{30'000};    // For a response while its client reads nothing.
};

// Resolves when everything that exchanges have observed so far is durable. Bind it to Tables::durable().
using DurableFunction = std::function<Async<Result<void>>()>;

// Loop thread only. The I/O threads, the mailbox and the scheduler outlive the server.
class HttpServer {
 public:
  // Listens at once, on an address that only this machine can reach unless credentials are checked; requests are
  // answered from the loop's next turn on. Routes are asked in order; the first that matches serves the request, 404 if
  // none does. Raises the process's soft limit of open files if the connections need it. kIo with the address if it
  // cannot listen there.
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, HttpListener listener,
                                                   std::vector<std::unique_ptr<Route>> routes,
                                                   std::vector<IoThread*> threads, const Clock& clock,
                                                   Scheduler& scheduler, Mailbox& mailbox, DurableFunction durable);
  virtual ~HttpServer() = default;  // Closes everything at once.

  virtual uint16_t port() const = 0;  // The port of the listener it was started with, which has number 0.
  // Serves the same routes on a further address, and returns its number; HttpRequest::listener says which address
  // received a request. kIo if it cannot listen there.
  virtual Result<uint64_t> listen(HttpListener listener) = 0;
  // Accepts no further connections there. Open connections stay.
  virtual void close(uint64_t listener) = 0;
  // Stops accepting, answers running requests (with "Connection: close") and closes idle connections. Resolves to true
  // when all are closed, to false when that took longer than `patience`: the rest is then closed at once.
  virtual Async<bool> stop(milliseconds patience) = 0;
  virtual size_t in_flight() const = 0;    // Exchanges accepted and not yet answered.
  virtual size_t connections() const = 0;  // The number of open connections.
};

}  // namespace freshet
