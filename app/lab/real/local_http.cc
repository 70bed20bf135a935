#include "app/lab/real/local_http.h"

#include <utility>
#include <vector>

#include "runtime/loop/loop.h"
#include "wire/http/client.h"
#include "wire/http/io_waiter.h"
#include "wire/http/server.h"
#include "wire/http/simple_route.h"

namespace freshet::lab {

LocalHttp::LocalHttp(const Clock& clock, IoWaiter& waiter, Loop& loop) : clock_(clock), waiter_(waiter), loop_(loop) {}
LocalHttp::~LocalHttp() = default;

Result<void> LocalHttp::open(std::function<Async<HttpResponse>(const HttpRequest&)> answer, size_t most_calls) {
  auto io = IoThread::start(clock_);
  if (!io) return fail(io.error());
  io_ = std::move(*io);
  auto listener = HttpListener::bind("127.0.0.1", 0);
  if (!listener) return fail(listener.error());
  std::vector<std::unique_ptr<Route>> routes;
  routes.push_back(make_simple_route("POST", "/", std::move(answer)));
  const std::vector<IoThread*> threads = {io_.get()};
  const DurableFunction nothing = []() -> Async<Result<void>> { return Result<void>(); };
  auto server = HttpServer::start({}, std::move(*listener), std::move(routes), threads, clock_, loop_, loop_, nothing);
  if (!server) return fail(server.error());
  server_ = std::move(*server);
  HttpClientOptions options;
  options.max_calls = most_calls;
  client_ = make_http_client(std::move(options), threads, clock_, loop_, loop_);
  waiter_.attach(*io_, loop_);
  return {};
}

std::string LocalHttp::url() const {
  return "http://127.0.0.1:" + std::to_string(server_->port()) + "/";
}

}  // namespace freshet::lab
