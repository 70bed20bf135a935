#include "app/daemon/reloads.h"

#include <utility>

namespace freshet {
namespace {

constexpr milliseconds kLookEvery{1000};

}  // namespace

void Reloads::read_again() {
  const MutexLock reading(reading_);
  auto planned = parts_.read();
  if (!planned) return refuse(planned.error());
  {
    const MutexLock lock(mutex_);
    waiting_ = std::move(*planned);
  }
  // If the mailbox is full, look() runs later anyway.
  [[maybe_unused]] const bool taken = parts_.mailbox.deliver([this] {
    if (state_ == State::kRuns && !at_work_) work_.spawn(work_off());
  });
}

void Reloads::refuse(const Error& error) {
  [[maybe_unused]] const bool delivered = parts_.mailbox.deliver([this] { parts_.count(false); });
  parts_.log.error("DEPLOY_REFUSED", {{"message", error.message}});
}

void Reloads::begin() {
  if (state_ != State::kWaits) return;
  state_ = State::kRuns;
  look();
}

void Reloads::look() {
  if (state_ != State::kRuns) return;
  if (!at_work_) work_.spawn(work_off());
  parts_.scheduler.call_after(kLookEvery, [this] { look(); });
}

std::optional<PlannedDeployment> Reloads::take() {
  const MutexLock lock(mutex_);
  return std::exchange(waiting_, std::nullopt);
}

Async<void> Reloads::work_off() {
  at_work_ = true;
  while (state_ == State::kRuns) {
    std::optional<PlannedDeployment> next = take();
    if (!next) break;
    for (const auto& warning : next->deployment.warnings) {
      parts_.log.warn("TEMPLATE_WARNING", {{"what", warning.to_string()}});
    }
    auto deploying = parts_.deploy(std::move(*next));
    auto done = co_await deploying;
    parts_.count(done.has_value());
    if (done) {
      parts_.log.info("DEPLOYED", {{"changes", done->changes.size()}});
    } else {
      parts_.log.error("DEPLOY_REFUSED", {{"message", done.error().message}});
    }
  }
  at_work_ = false;
}

}  // namespace freshet
