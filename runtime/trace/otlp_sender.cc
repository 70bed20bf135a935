#include "runtime/trace/otlp_sender.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/trace/span_json.h"

namespace freshet {

namespace {
constexpr milliseconds kTimeout{5000};
constexpr milliseconds kRetry{1000};
constexpr size_t kInOne = 500;
}  // namespace

void OtlpSender::take(const std::vector<Span>& spans) {
  const size_t taken = std::min(spans.size(), kMostWaiting - waiting_.size());
  waiting_.insert(waiting_.end(), spans.begin(), spans.begin() + static_cast<ptrdiff_t>(taken));
  dropped_ += spans.size() - taken;
  if (std::exchange(sending_, true)) return;
  work_.spawn(send());
}

Async<void> OtlpSender::send() {
  while (!waiting_.empty()) {
    const size_t count = std::min(waiting_.size(), kInOne);
    const std::string body = otlp_json(std::span<const Span>(waiting_.data(), count));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(count));
    bool sent = false;
    for (int tries = 0; tries < 2 && !sent; ++tries) {
      if (tries > 0) co_await sleep_for(scheduler_, kRetry);
      std::string copy = body;
      sent = co_await post(std::move(copy));
    }
    if (!sent) dropped_ += count;
  }
  sending_ = false;
}

Async<bool> OtlpSender::post(std::string body) {
  HttpRequest request;
  request.method = "POST";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = std::move(body);
  std::string url = url_;
  auto answer = co_await http_.send(std::move(url), std::move(request), kTimeout);
  const bool good = answer && answer->status / 100 == 2;
  // Logged once: a missing endpoint would fill the log.
  if (!good && !std::exchange(failing_, true)) {
    log_.warn("TRACE_EXPORT_FAILED",
              {{"url", url_}, {"error", answer ? "status " + std::to_string(answer->status) : answer.error().message}});
  }
  if (good) failing_ = false;
  co_return good;
}

}  // namespace freshet
