#include <cstdlib>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "app/lab/real/child.h"
#include "app/lab/real/contender.h"
#include "base/out_file.h"

namespace freshet::lab {

namespace {

constexpr seconds kRivalPatience{60};
constexpr milliseconds kBetweenLooksAtRival{10};

double arrival_ms(nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

class Rival final : public Contender {
 public:
  explicit Rival(Bench bench) : bench_(std::move(bench)), log_(bench_.folder + "/log") {}

  Async<Result<void>> start() override {
    const std::string arrivals = bench_.folder + "/arrivals";
    {
      std::ofstream out(arrivals);
      for (const auto& arrival : arrivals_of(bench_.ledger.scenario(), bench_.seed)) {
        bench_.ledger.add(arrival, 0);
        out << fmt::format("{:.3f} {}\n", arrival_ms(arrival.at), arrival.deadline_ms);
      }
      if (!out.flush()) co_return fail(ErrorCode::kIo, cannot_write(arrivals));
    }
    const std::vector<std::string> argv = {"/usr/bin/env",
                                           "LAB_HANDLER=" + bench_.handler,
                                           "LAB_ARRIVALS=" + arrivals,
                                           "LAB_SLOTS=" + std::to_string(bench_.ledger.scenario().slots),
                                           "/bin/sh",
                                           "-c",
                                           "exec " + bench_.policy.command};
    auto started = Child::start(argv, log_, true);
    if (!started) co_return fail(started.error());
    driver_.emplace(std::move(*started));
    const auto until = bench_.scheduler.clock().boot() + kRivalPatience;
    while (driver_->read_line() != "ready") {
      if (bench_.options.is_stopped()) co_return fail(stopped_early());
      if (driver_->has_ended()) co_return gone();
      if (bench_.scheduler.clock().boot() > until) {
        co_return fail(ErrorCode::kTimeout, bench_.policy.name + ": its driver did not say `ready` within a minute");
      }
      co_await sleep_for(bench_.scheduler, kBetweenLooksAtRival);
    }
    co_return Result<void>();
  }

  void begin(Origin origin) override { driver_->write_line(fmt::format("start {}", epoch_ms(origin.wall))); }

  Async<Result<void>> finish(uint64_t) override {
    if (driver_->has_ended()) return gone();
    return Result<void>();
  }

 private:
  Result<void> gone() const {
    return fail(gone_with_log(bench_.policy.name + ": its driver has ended", &*driver_, log_));
  }

  const Bench bench_;
  const std::string log_;
  std::optional<Child> driver_;
};

}  // namespace

std::unique_ptr<Contender> make_rival(Bench bench) {
  return std::make_unique<Rival>(std::move(bench));
}

}  // namespace freshet::lab
