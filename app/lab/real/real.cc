#include "app/lab/real/real.h"

#include <algorithm>
#include <optional>

#include "app/lab/real/handler.h"
#include "app/lab/real/local_http.h"
#include "app/lab/real/temporary_folder.h"
#include "runtime/loop/loop.h"
#include "wire/http/io_waiter.h"

namespace freshet::lab {

namespace {

constexpr milliseconds kLead{200};  // From ready to the first tasks.
constexpr milliseconds kSample{250};
constexpr milliseconds kBetweenLooksAtHandler{5};
constexpr size_t kMaxCalls = 100'000;
constexpr double kMiB = 1 << 20;

class LiveRun {
 public:
  LiveRun(const Policy& policy, uint64_t seed, Ledger& ledger, const RealOptions& options)
      : policy_(policy), seed_(seed), ledger_(ledger), options_(options), handler_(ledger, loop_) {}
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  Result<std::map<std::string, double>> run() {
    if (auto opened = open(); !opened) return fail(opened.error());
    scope_.spawn(drive());
    loop_.run();
    scope_.clear();
    contender_.reset();
    if (!result_) return fail(result_.error());
    return std::move(figures_);
  }

 private:
  Result<void> open() {
    if (folder_.path().empty()) return fail(ErrorCode::kIo, "no temporary folder can be made");
    const auto answer = [this](const HttpRequest& request) { return handler_.answer(request.body); };
    if (auto opened = local_.open(answer, kMaxCalls); !opened) return opened;
    const std::string url = local_.url();
    Bench bench{policy_, ledger_, seed_, options_, loop_, local_.client(), folder_.path(), url};
    contender_ = policy_.command.empty() ? make_daemon(std::move(bench)) : make_rival(std::move(bench));
    return {};
  }

  Async<void> drive() {
    result_ = co_await go();
    loop_.stop();
  }

  Async<Result<void>> go() {
    auto started = co_await contender_->start();
    if (!started) co_return started;
    const Origin origin = soon();
    handler_.begin(origin.boot);
    if (const auto& limit = options_.limit) {
      limiter_ = make_limiter(*limit->downstream.limiter);
      handler_.limit(*limiter_, limit->downstream.hints, limit->calls);
    }
    contender_->begin(origin);
    co_await watch(origin.boot);
    handler_.close();
    while (handler_.under_way() > 0 && !options_.is_stopped()) co_await sleep_for(loop_, kBetweenLooksAtHandler);
    if (options_.is_stopped()) co_return fail(stopped_early());
    const auto& counts = handler_.counts();
    auto finished = co_await contender_->finish(counts.done);
    if (!finished) co_return finished;
    if (counts.unknown > 0) {
      co_return fail(ErrorCode::kCorruption, std::to_string(counts.unknown) + " calls were for tasks that never came");
    }
    for (const auto& [name, value] : contender_->figures()) figures_[name] = value;
    figures_["startedTwice"] = static_cast<double>(counts.again);
    figures_["mostAtOnce"] = counts.most_at_once;
    co_return Result<void>();
  }

  // Zero of the ledger: at a whole millisecond of the wall.
  Origin soon() const {
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    const auto boot = clock_.boot();
    const auto zero = std::chrono::ceil<milliseconds>(wall) + kLead;
    return {boot + (zero - wall), WallTime(zero)};
  }

  // Until everything that was given has been done or is past its deadline; what the contender's memory is meanwhile.
  Async<void> watch(BootTime origin) {
    const auto& scenario = ledger_.scenario();
    const auto end = origin + length_of_run(scenario);
    double first_half = 0, second_half = 0;
    for (auto at = origin; at < end && !options_.is_stopped(); at += kSample) {
      co_await sleep_until(loop_, at);
      const double now = static_cast<double>(contender_->resident_bytes()) / kMiB;
      double& half = at < origin + scenario.duration / 2 ? first_half : second_half;
      half = std::max(half, now);
    }
    if (!options_.is_stopped()) co_await sleep_until(loop_, end);
    if (second_half <= 0) co_return;
    figures_["rssFirstHalfMiB"] = first_half;
    figures_["rssSecondHalfMiB"] = second_half;
  }

  const Policy& policy_;
  const uint64_t seed_;
  Ledger& ledger_;
  const RealOptions& options_;
  const TemporaryFolder folder_{"freshet-lab"};
  SystemClock clock_;
  IoWaiter waiter_{clock_};
  Loop loop_{clock_, waiter_};
  std::unique_ptr<Limiter> limiter_;
  Handler handler_;
  LocalHttp local_{clock_, waiter_, loop_};
  std::unique_ptr<Contender> contender_;
  std::map<std::string, double> figures_;
  Result<void> result_;
  Scope scope_;
};

}  // namespace

nanoseconds length_of_run(const Scenario& scenario) {
  if (scenario.trace != nullptr) return scenario.duration;
  const double patience = scenario.deadline > 0 ? scenario.deadline : 100;
  const auto longest = nanoseconds(static_cast<int64_t>(patience * static_cast<double>(scenario.mean.count())));
  return scenario.duration + std::min<nanoseconds>(longest, kAfter);
}

Result<void> runs_in_real_time(const Policy& policy, const Scenario& scenario) {
  if (policy.command.empty()) {
    auto settings = daemon_settings(policy, scenario);
    if (!settings) return fail(settings.error());
    return {};
  }
  if (scenario.retries > 0 || scenario.quiet_share > 0) {
    return invalid("rivals run without --retries and --groups: their drivers know neither");
  }
  return {};
}

Result<std::map<std::string, double>> run_real(const Policy& policy, uint64_t seed, Ledger& ledger,
                                               const RealOptions& options) {
  if (auto ok = runs_in_real_time(policy, ledger.scenario()); !ok) return fail(ok.error());
  return LiveRun(policy, seed, ledger, options).run();
}

}  // namespace freshet::lab
