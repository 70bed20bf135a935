#include "app/engines/store_loop.h"

#include <utility>
#include <vector>

namespace freshet::engines {

Result<std::unique_ptr<StoreLoop>> StoreLoop::make(const std::string& ca_file) {
  std::unique_ptr<StoreLoop> out(new StoreLoop());
  auto trust = TlsTrust::make(ca_file);
  if (!trust) return fail(trust.error());
  auto io = IoThread::start(out->clock_);
  if (!io) return fail(io.error());
  out->io_ = std::move(*io);
  HttpClientOptions options;
  options.trust = std::move(*trust);
  // A page of a scan has up to 1 MiB of items, written out as JSON, which may be several times as long.
  options.limits.body_bytes = 64u << 20;
  const std::vector<IoThread*> threads = {out->io_.get()};
  out->http_ = make_http_client(std::move(options), threads, out->clock_, out->loop_, out->loop_);
  out->waiter_.attach(*out->io_, out->loop_);
  return out;
}

void StoreLoop::run(Async<void> work) {
  scope_.spawn(drive(std::move(work)));
  loop_.run();
  scope_.clear();
}

Async<void> StoreLoop::drive(Async<void> work) {
  co_await work;
  loop_.stop();
}

}  // namespace freshet::engines
