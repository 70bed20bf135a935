// The services of one traced native invocation: its publishes and posts continue its trace, requests to endpoints are
// spans of their own, and work after a wait counts as part of it. Loop thread.
#pragma once

#include <memory>
#include <string>

#include "runtime/invoke/function.h"
#include "runtime/trace/tracer.h"

namespace freshet {

class TracedServices {
 public:
  // `header`: the invocation's X-Amzn-Trace-Id. All must outlive it.
  TracedServices(Services& plain, Tracer& tracer, std::string header);
  TracedServices(const TracedServices&) = delete;
  TracedServices& operator=(const TracedServices&) = delete;
  ~TracedServices();

  Services& services() { return services_; }

 private:
  class TracedScheduler;
  class TracedPublisher;
  class TracedHttp;

  std::unique_ptr<TracedScheduler> scheduler_;
  std::unique_ptr<TracedPublisher> topics_;
  std::unique_ptr<TracedHttp> http_;
  Services services_;
};

}  // namespace freshet
