#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#include "app/lab/real/child.h"
#include "app/lab/real/contender.h"
#include "app/lab/real/daemon_api.h"
#include "app/lab/real/template.h"
#include "app/lab/trace_run.h"
#include "base/out_file.h"
#include "base/text_file.h"

namespace freshet::lab {

namespace {

constexpr seconds kDaemonPatience{30};
constexpr milliseconds kBetweenLooksAtDaemon{10};
constexpr milliseconds kRecordWait{500};
// A finished task stays in the table for so long after its deadline. In the long run, finished tasks take no more
// memory.
constexpr seconds kKept{60};
constexpr seconds kUnlimited{3600};  // Tasks without a deadline get this one.

double ms(nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double percentile(std::vector<double>& values, double p) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(p * static_cast<double>(values.size()));
  return values[std::min(values.size() - 1, rank)];
}

uint64_t sum_of(const std::map<std::string, uint64_t>& counts) {
  uint64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

class Daemon final : public Contender {
 public:
  explicit Daemon(Bench bench) : bench_(std::move(bench)), arrivals_(arrivals_of(scenario(), bench_.seed)) {}
  // Kills the daemon: nobody needs its data any more, and a daemon that ends in peace waits for calls that this thread
  // would have to answer.
  ~Daemon() override { scope_.clear(); }

  Async<Result<void>> start() override {
    auto launched = launch();
    if (!launched) co_return launched;
    const std::string ready = bench_.folder + "/ready";
    const auto until = boot() + kDaemonPatience;
    while (!std::filesystem::exists(ready)) {
      if (bench_.options.is_stopped()) co_return fail(stopped_early());
      if (boot() > until || daemon_->has_ended()) co_return gone("the daemon did not start");
      co_await sleep_for(bench_.scheduler, kBetweenLooksAtDaemon);
    }
    const auto url = read_text_file(ready);
    if (!url) co_return fail(url.error());
    api_.emplace(bench_.http, url->substr(0, url->find_last_not_of("\n/") + 1));
    if (bench_.options.records()) co_return co_await api_->record(recorded_, kRecordWait);
    co_return Result<void>();
  }

  void begin(Origin origin) override {
    origin_ = origin;
    scope_.spawn(clients());
    if (bench_.options.records()) recorder_.spawn(record());
  }

  Async<Result<void>> finish(uint64_t done) override {
    recorder_.clear();
    if (bench_.options.records()) {
      auto last = co_await api_->record(recorded_, milliseconds(0));
      if (!last) co_return last;
    }
    if (daemon_->has_ended()) co_return gone("the daemon has ended");
    if (failure_) co_return fail(*failure_);
    // A daemon that the machine has held up may still be shedding.
    auto before = co_await settled_stats();
    for (;;) {
      if (bench_.options.is_stopped()) co_return fail(stopped_early());
      if (!before) co_return fail(before.error());
      auto sheds = co_await api_->sheds();
      if (!sheds) co_return fail(sheds.error());
      auto stats = co_await settled_stats();
      if (stats && stats->shed == before->shed) {
        record_sheds(*sheds, sum_of(stats->shed));
        break;
      }
      before = std::move(stats);
    }
    auto same = compare(*before, done, sum_of(before->shed));
    if (same && bench_.options.records()) same = use_recording();
    co_return same;
  }

  uint64_t resident_bytes() const override { return daemon_ ? daemon_->resident_bytes() : 0; }

  std::map<std::string, double> figures() override {
    if (!lags_.empty()) figures_["sentLateP99Ms"] = percentile(lags_, 0.99);
    if (!accepted_.empty()) {
      figures_["createP50Ms"] = percentile(accepted_, 0.5);
      figures_["createP99Ms"] = percentile(accepted_, 0.99);
    }
    if (!refused_.empty()) {
      figures_["rejectP50Ms"] = percentile(refused_, 0.5);
      figures_["rejectP99Ms"] = percentile(refused_, 0.99);
    }
    return figures_;
  }

 private:
  const Scenario& scenario() const { return bench_.ledger.scenario(); }
  BootTime boot() const { return bench_.scheduler.clock().boot(); }
  nanoseconds now() const { return boot() - origin_.boot; }

  Result<void> gone(const std::string& what) const {
    return fail(gone_with_log(what, &*daemon_, bench_.folder + "/log"));
  }

  Result<void> launch() {
    const auto settings = daemon_settings(bench_.policy, scenario());
    if (!settings) return fail(settings.error());
    const std::string path = bench_.folder + "/lifo.yaml";
    std::ofstream out(path);
    out << shipped_template();
    if (!out.flush()) return fail(ErrorCode::kIo, cannot_write(path));
    std::vector<std::string> argv = {"env"};
    // Settings for the daemons of its user are not for this one.
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string text = *variable;
      if (text.starts_with("FRESHET_")) argv.insert(argv.end(), {"-u", text.substr(0, text.find('='))});
    }
    for (const auto& part :
         {bench_.options.binary, std::string("run"), path, std::string("--data"), bench_.folder + "/store",
          std::string("--listen"), std::string("127.0.0.1:0"), std::string("--ready-file"), bench_.folder + "/ready",
          std::string("--log-level"), std::string("warn"), std::string("--durability"), bench_.options.durability,
          std::string("--set"), "ProcessTasksFunction.TASK_RUNNER=" + bench_.handler}) {
      argv.push_back(part);
    }
    for (const auto& setting : *settings) argv.insert(argv.end(), {"--set", "ProcessTasksFunction." + setting});
    auto started = Child::start(argv, bench_.folder + "/log", false);
    if (!started) return fail(started.error());
    daemon_.emplace(std::move(*started));
    return {};
  }

  // Open loop: a task is sent when it is due, whatever became of those before.
  Async<void> clients() {
    for (const auto& arrival : arrivals_) {
      if (now() < arrival.at) co_await sleep_until(bench_.scheduler, origin_.boot + arrival.at);
      come(arrival, scenario().retries);
    }
  }

  void come(const Arrival& arrival, int tries_left) {
    lags_.push_back(ms(now() - arrival.at));
    const size_t number = bench_.ledger.add(arrival, tries_left);
    scope_.spawn(create(number));
    if (tries_left > 0) scope_.spawn(look_again(number));
  }

  Async<void> look_again(size_t number) {
    const milliseconds due{bench_.ledger.jobs()[number].arrival.deadline_ms};
    co_await sleep_until(bench_.scheduler, origin_.boot + due);
    if (auto again = bench_.ledger.retry(number)) come(*again, bench_.ledger.jobs()[number].tries_left - 1);
  }

  std::string body_of(size_t number) const {
    const Arrival& arrival = bench_.ledger.jobs()[number].arrival;
    const auto patience = milliseconds(arrival.deadline_ms) - arrival.at;
    const seconds kept = bench_.policy.ttl ? std::chrono::ceil<seconds>(patience) + kKept : kUnlimited;
    std::string body = fmt::format("{{\"taskId\":\"{}\",\"ttlSeconds\":{}", number, kept.count());
    if (bench_.policy.ttl) body += fmt::format(",\"deadline\":{}", epoch_ms(origin_.wall) + arrival.deadline_ms);
    if (scenario().quiet_share > 0) body += arrival.quiet ? ",\"group\":\"quiet\"" : ",\"group\":\"loud\"";
    return body + "}";
  }

  Async<void> create(size_t number) {
    std::string body = body_of(number);
    auto answer = co_await api_->create(std::move(body));
    if (!answer) {
      failed(answer.error());
      co_return;
    }
    const Arrival& arrival = bench_.ledger.jobs()[number].arrival;
    const double took = ms(now() - arrival.at);
    // It was held up on its way, and its deadline has passed.
    const bool is_late = answer->status == 400 && now() >= milliseconds(arrival.deadline_ms);
    if (answer->status == 200) {
      accepted_.push_back(took);
    } else if (answer->status == 429 || answer->status == 503 || is_late) {
      bench_.ledger.reject(number, now());
      refused_.push_back(took);
    } else {
      failed({ErrorCode::kInternal, "a creation was answered " + std::to_string(answer->status) + ": " + answer->body,
              nullptr});
    }
  }

  void failed(const Error& error) {
    if (!failure_) failure_ = error;
  }

  Async<void> record() {
    for (;;) {
      auto piece = co_await api_->record(recorded_, kRecordWait);
      if (piece) continue;
      failed(piece.error());
      co_return;
    }
  }

  // Once nothing is in work any more: the handler turns everybody away, and has said for how long.
  Async<Result<QueueStats>> settled_stats() {
    const auto until = boot() + kDaemonPatience;
    for (;;) {
      auto stats = co_await api_->stats();
      if (!stats || stats->depth["TAKEN"] == 0 || boot() > until || bench_.options.is_stopped()) co_return stats;
      co_await sleep_for(bench_.scheduler, kBetweenLooksAtDaemon);
    }
  }

  void record_sheds(const std::vector<ShedTask>& sheds, uint64_t all) {
    auto& ledger = bench_.ledger;
    for (const auto& task : sheds) {
      size_t number = 0;
      std::from_chars(task.id.data(), task.id.data() + task.id.size(), number);
      if (number < ledger.jobs().size()) ledger.shed(number, task.at - origin_.wall);
    }
    if (sheds.size() >= all) return;
    // In a long run TTL has removed most of them. They were shed at their deadlines, or close to them.
    for (size_t number = 0; number < ledger.jobs().size(); ++number) {
      const Job& job = ledger.jobs()[number];
      const milliseconds due(job.arrival.deadline_ms);
      if (job.fate == Job::Fate::kWaiting && due + milliseconds(kKept) < now()) ledger.shed(number, due);
    }
  }

  Result<void> compare(QueueStats& stats, uint64_t done, uint64_t shed) const {
    uint64_t accepted = 0, shed_here = 0, removed = 0;
    for (const auto& job : bench_.ledger.jobs()) {
      accepted += job.fate != Job::Fate::kRejected;
      shed_here += job.fate == Job::Fate::kShed;
    }
    for (const auto& [arrow, count] : stats.flow) removed += arrow.ends_with("->") ? count : 0;
    const uint64_t waiting = stats.depth["PENDING"] + stats.depth["DELAYED"];
    const bool same = stats.flow["->PENDING"] == accepted && stats.flow["TAKEN->SUCCESS"] == done &&
                      shed_here == shed && accepted == done + shed + waiting &&
                      sum_of(stats.depth) + removed == accepted;
    if (same) return {};
    return fail(ErrorCode::kCorruption,
                fmt::format("the daemon's books do not say what was seen from outside, {} tasks accepted, {} done and "
                            "{} shed: {}",
                            accepted, done, shed_here, stats.text));
  }

  // As long as the handler worked.
  Result<Fixture> recording() const {
    auto fixture = read_fixture(recorded_, "the recording");
    const WallTime end = origin_.wall + std::chrono::floor<milliseconds>(length_of_run(scenario()));
    if (fixture) {
      std::erase_if(fixture->records, [end](const ChangeRecord& record) { return record.at > end; });
      fixture->record_lines.clear();
    }
    return fixture;
  }

  Result<void> use_recording() {
    const auto fixture = recording();
    if (!fixture) return fail(fixture.error());
    const auto& folder = bench_.options.record;
    if (!folder.empty()) {
      const auto path = fmt::format("{}/{}-{}-{:g}x-{}.jsonl", folder, bench_.policy.name, name_of(scenario().shape),
                                    scenario().load, bench_.seed);
      std::ofstream out(path, std::ios::binary);
      out << write_fixture(*fixture, Account());
      if (!out.flush()) return fail(ErrorCode::kIo, cannot_write(path));
    }
    return bench_.options.check_simulate ? simulate(*fixture) : Result<void>();
  }

  // Runs the lab in simulated time on the recording of this run.
  Result<void> simulate(const Fixture& fixture) {
    const auto read = read_recording(fixture);
    if (!read) return fail(read.error());
    const auto policy = recorded_policy(*read, {});
    if (!policy) return fail(policy.error());
    const auto& limit = bench_.options.limit;
    const auto outcome = run_trace(*read, scenario_of(*read, scenario().slots), *policy,
                                   limit ? limit->downstream : DownstreamSpec(), bench_.seed);
    if (!outcome) return fail(outcome.error());
    const auto over = [](uint64_t said, uint64_t was) {
      return static_cast<double>(said) / static_cast<double>(std::max<uint64_t>(1, was));
    };
    figures_["simulatedDoneOverReal"] = over(outcome->done, read->real.done);
    if (read->real.refused > 0) figures_["simulatedRefusedOverReal"] = over(outcome->refused, read->real.refused);
    figures_["simulatedInTimeOverReal"] = over(outcome->in_time, read->real.in_time);
    if (read->real.shed > 0) figures_["simulatedShedOverReal"] = over(outcome->shed, read->real.shed);
    return {};
  }

  Bench bench_;
  const std::vector<Arrival> arrivals_;
  std::optional<Child> daemon_;
  std::optional<DaemonApi> api_;
  Origin origin_{};
  std::vector<double> lags_;                // The generator's: from when a task was due to its request, ms.
  std::vector<double> accepted_, refused_;  // How long answers took since the task was due, ms.
  std::map<std::string, double> figures_;
  std::optional<Error> failure_;
  std::string recorded_;
  Scope scope_;
  Scope recorder_;
};

}  // namespace

Result<std::vector<std::string>> daemon_settings(const Policy& policy, const Scenario& scenario) {
  const auto order = policy.from == TakeFrom::kNewest     ? "lifo"
                     : policy.from == TakeFrom::kOldest   ? "fifo"
                     : policy.from == TakeFrom::kAdaptive ? "adaptive"
                     : policy.from == TakeFrom::kDeadline ? "deadline"
                                                          : nullptr;
  if (policy.clairvoyant || policy.dropper != Dropper::kNone || order == nullptr) {
    return invalid("policy '" + policy.name + "' runs in simulated time only: the daemon does not offer it");
  }
  const auto margin = policy.margin == DeadlineMargin::kP90     ? "p90"
                      : policy.margin == DeadlineMargin::kYield ? "yield"
                                                                : "off";
  std::vector<std::string> out{std::string("ORDER=") + order, std::string("DEADLINE_MARGIN=") + margin,
                               "CONCURRENCY=" + (policy.searches ? "adaptive" : std::to_string(scenario.slots)),
                               "MAX_WAITING=" + std::to_string(policy.bounded ? bound_of(scenario) : 0)};
  if (policy.refuses_late) out.emplace_back("REFUSE_LATE=on");
  for (const auto& [name, value] : policy.settings) out.push_back(name + "=" + value);
  return out;
}

std::unique_ptr<Contender> make_daemon(Bench bench) {
  return std::make_unique<Daemon>(std::move(bench));
}

}  // namespace freshet::lab
