#include "runtime/trace/traced_services.h"

#include <algorithm>
#include <utility>

#include "streams/topics.h"

namespace freshet {

namespace {

using Header = std::shared_ptr<const std::string>;

// The URL of a request without its query, which may be secret.
std::string place_of(const std::string& url) {
  return url.substr(0, url.find_first_of("?#"));
}

}  // namespace

// Work that it runs has the trace again: a coroutine continues after its waits. Works may outlive it.
class TracedServices::TracedScheduler final : public Scheduler {
 public:
  TracedScheduler(Scheduler& plain, TraceLinks& links, Header header)
      : plain_(plain), links_(links), header_(std::move(header)) {}
  void post(Work work) override { plain_.post(traced(std::move(work))); }
  TimerId call_at(BootTime when, Work work) override { return plain_.call_at(when, traced(std::move(work))); }
  void cancel(TimerId id) override { plain_.cancel(id); }
  const Clock& clock() const override { return plain_.clock(); }

 private:
  Work traced(Work work) {
    return [links = &links_, header = header_, inner = std::move(work)]() mutable {
      const TraceLinks::Scope scope(links, *header);
      inner();
    };
  }
  Scheduler& plain_;
  TraceLinks& links_;
  const Header header_;
};

class TracedServices::TracedPublisher final : public Publisher {
 public:
  TracedPublisher(Publisher& plain, TraceLinks& links, Header header)
      : plain_(plain), links_(links), header_(std::move(header)) {}
  Async<Result<std::string>> publish(PublishInput input) override {
    const TraceLinks::Scope scope(&links_, *header_);  // The publish reads it before it first waits.
    return plain_.publish(std::move(input));
  }

 private:
  Publisher& plain_;
  TraceLinks& links_;
  const Header header_;
};

class TracedServices::TracedHttp final : public HttpClient {
 public:
  TracedHttp(HttpClient& plain, Tracer& tracer, Header header)
      : plain_(plain), tracer_(tracer), header_(std::move(header)) {}
  Async<Result<HttpResponse>> send(std::string url, HttpRequest request, milliseconds timeout) override {
    Span span = tracer_.begin("POST " + place_of(url), *header_);
    span.kind = "request";
    request.headers.emplace_back("X-Amzn-Trace-Id", Tracer::header_of(span));
    auto answer = co_await plain_.send(std::move(url), std::move(request), timeout);
    if (!answer) {
      span.error = answer.error().message;
    } else if (answer->status >= 400) {
      span.error = "status " + std::to_string(answer->status);
    }
    tracer_.finish(std::move(span));
    co_return answer;
  }

 private:
  HttpClient& plain_;
  Tracer& tracer_;
  const Header header_;
};

TracedServices::TracedServices(Services& plain, Tracer& tracer, std::string header)
    : scheduler_(std::make_unique<TracedScheduler>(plain.scheduler, tracer.links(),
                                                   std::make_shared<const std::string>(header))),
      topics_(
          std::make_unique<TracedPublisher>(plain.topics, tracer.links(), std::make_shared<const std::string>(header))),
      http_(std::make_unique<TracedHttp>(plain.http, tracer, std::make_shared<const std::string>(std::move(header)))),
      services_{plain.tables, *topics_, *scheduler_, plain.random, *http_, plain.spawner, plain.functions} {}

TracedServices::~TracedServices() = default;

}  // namespace freshet
