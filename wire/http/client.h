// The daemon's HTTP client (runtime/ports.h) over the I/O threads: kept-alive connections per host and port, complete
// responses, bounded. http:// and https://. A response without a length is complete when the connection ends, but over
// TLS only if the server has sent close_notify: otherwise an attacker on the way could have cut it.
//
// A request on a kept-alive connection that the peer has closed meanwhile is sent again, once, on a new one, but only
// if it was not sent completely and nothing was received. Otherwise the peer may have acted on it, and the caller gets
// kUnavailable and decides.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/scheduler.h"
#include "runtime/ports.h"
#include "wire/http/io_thread.h"
#include "wire/http/message_parser.h"
#include "wire/http/tls.h"

namespace freshet {

struct HttpClientOptions {
  HttpLimits limits{.header_bytes = 32u << 10};  // The limits of a response; beyond them kUnavailable.
  size_t max_calls = 10'000;                     // The most concurrent calls; beyond it kUnavailable at once.
  size_t max_idle = 256;              // The most kept-alive connections without a call, per I/O thread; the oldest is
                                      // closed.
  milliseconds idle_timeout{30'000};  // The timeout of such a connection.
  std::shared_ptr<const TlsTrust> trust;  // Null: https:// is kUnavailable.
};

// Loop thread only. I/O threads, clock, scheduler and mailbox must outlive it; the Asyncs of its calls must not.
std::unique_ptr<HttpClient> make_http_client(HttpClientOptions options, std::vector<IoThread*> threads,
                                             const Clock& clock, Scheduler& scheduler, Mailbox& mailbox);

}  // namespace freshet
