#include "app/cli/play.h"
#include "app/cli/interrupt.h"

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/play_plan.h"
#include "app/cli/progress.h"
#include "app/cli/refusal.h"
#include "app/cli/remote.h"
#include "base/plain_text.h"
#include "base/there_are.h"
#include "functions/queue/fixture_states.h"

namespace freshet::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kBetweenLooksAtPlay{50};  // How soon a signal and progress are seen.

double ms(SteadyClock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// Counts the outcomes of the calls. Any thread.
class Outcomes {
 public:
  void accepted(bool created) {
    const std::lock_guard lock(mutex_);
    ++(created ? accepted_ : existing_);
  }
  void refused(const std::string& place, const RefusalText& refusal) {
    const std::lock_guard lock(mutex_);
    ++refusals_[refusal.code.empty() ? "another error" : refusal.code];
    if (!first_refusal_.empty()) return;
    first_refusal_ = place + ": " + refusal.message;
    first_code_ = refusal.code;
  }
  // No answer came, or one that does not say whether the call was done.
  void unknown(const std::string& place, const std::string& why) {
    const std::lock_guard lock(mutex_);
    ++unknown_;
    if (first_unknown_.empty()) first_unknown_ = place + ": " + why;
  }
  void sent(size_t index, double behind_ms) {
    const std::lock_guard lock(mutex_);
    ++sent_;
    most_behind_ms_ = std::max(most_behind_ms_, behind_ms);
    if (index < last_) return;
    last_ = index;
    behind_ms_ = behind_ms;
  }
  std::string progress(size_t all) {
    const std::lock_guard lock(mutex_);
    return fmt::format("{} of {} calls sent, {} refused, {:.1f} s behind schedule", sent_, all, count_of_refusals(),
                       behind_ms_ / 1000);
  }

  int exit_status(size_t all) const {
    if (unknown_ > 0) return kUnreachable;
    if (!refusals_.empty()) return exit_status_of(first_code_);
    return sent_ < all ? kFailed : kDone;
  }

  Json report(const PlayPlan& plan, double seconds) const {
    Json out{{"calls", plan.calls.size()},
             {"sent", sent_},
             {"accepted", accepted_},
             {"alreadyThere", existing_},
             {"refused", refusals_},
             {"unknown", unknown_},
             {"leftOut", plan.left_out},
             {"seconds", seconds},
             {"behindMs", {{"most", most_behind_ms_}, {"end", behind_ms_}}}};
    if (!first_refusal_.empty()) out["firstRefusal"] = first_refusal_;
    if (!first_unknown_.empty()) out["firstUnknown"] = first_unknown_;
    return out;
  }

  void print(const PlayPlan& plan, double seconds) const {
    std::cout << fmt::format(
        "sent      {} of {} calls in {:.1f} s; behind schedule {:.1f} s at most, {:.1f} s at the end\n", sent_,
        plan.calls.size(), seconds, most_behind_ms_ / 1000, behind_ms_ / 1000);
    std::cout << fmt::format("accepted  {}", accepted_ + existing_);
    if (existing_ > 0) std::cout << fmt::format(", {} of them there already", existing_);
    std::cout << fmt::format("\nrefused   {}", count_of_refusals());
    print_counts(refusals_);
    if (!first_refusal_.empty()) std::cout << "          the first: " << plain_text(first_refusal_) << '\n';
    std::cout << fmt::format("unknown   {}\n", unknown_);
    if (!first_unknown_.empty()) std::cout << "          the first: " << plain_text(first_unknown_) << '\n';
    size_t left_out = 0;
    for (const auto& [why, count] : plan.left_out) left_out += count;
    std::cout << fmt::format("left out  {}", left_out);
    print_counts(plan.left_out);
  }

 private:
  size_t count_of_refusals() const {
    size_t out = 0;
    for (const auto& [code, count] : refusals_) out += count;
    return out;
  }
  static void print_counts(const std::map<std::string, size_t>& counts) {
    const char* between = ": ";
    for (const auto& [name, count] : counts) {
      std::cout << between << plain_text(name) << ' ' << count;
      between = ", ";
    }
    std::cout << '\n';
  }

  std::mutex mutex_;
  size_t sent_ = 0, accepted_ = 0, existing_ = 0, unknown_ = 0;
  std::map<std::string, size_t> refusals_;  // By code.
  std::string first_refusal_, first_code_, first_unknown_;
  size_t last_ = 0;  // The place in the plan of the last call that was sent.
  double most_behind_ms_ = 0, behind_ms_ = 0;
};

class Player {
 public:
  Player(const Fixture& fixture, const PlayOptions& options)
      : fixture_(fixture), options_(options), table_(options.table.empty() ? fixture.header.table : options.table) {}

  int run() {
    for (int i = 0; i < options_.connections; ++i) {
      auto client = connect();
      if (!client) return wrong(client.error());
      clients_.push_back(std::move(*client));
    }
    if (const int status = look_at_target(); status != kDone) return status;
    plan_ = play_plan(fixture_, is_queue_);
    if (is_queue_ && !plan_.calls.empty() && !has_payloads()) {
      std::cerr << "the fixture holds no payloads (the flight recorder keeps none): its tasks are created without\n";
    }
    hear_interrupts();
    start_ = SteadyClock::now();
    running_ = clients_.size();
    std::vector<std::thread> threads;
    for (size_t i = 0; i < clients_.size(); ++i) threads.emplace_back([this, i] { send(i); });
    {
      Progress progress("0 calls sent");
      for (; running_ > 0; std::this_thread::sleep_for(kBetweenLooksAtPlay))
        progress.show(outcomes_.progress(plan_.calls.size()));
    }
    for (auto& thread : threads) thread.join();
    const double seconds = ms(SteadyClock::now() - start_) / 1000;
    if (options_.json) {
      std::cout << outcomes_.report(plan_, seconds).dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    } else {
      outcomes_.print(plan_, seconds);
    }
    return outcomes_.exit_status(plan_.calls.size());
  }

 private:
  bool has_payloads() const {
    const auto& snapshot = fixture_.snapshot;
    const auto& records = fixture_.records;
    return std::any_of(snapshot.begin(), snapshot.end(),
                       [](const Item& item) { return item.find("payload") != nullptr; }) ||
           std::any_of(records.begin(), records.end(),
                       [](const ChangeRecord& one) { return one.after && one.after.find("payload"); });
  }

  Result<std::unique_ptr<BlockingClient>> connect() const {
    BlockingClientOptions options{{}, options_.ca, "dynamodb", options_.region};
    if (!options_.credentials.empty()) {
      auto keys = Credentials::read(options_.credentials);
      if (!keys) return fail(keys.error());
      options.key = keys->first();
    }
    return BlockingClient::make(options_.url, std::move(options));
  }

  static int wrong(const Error& error) {
    std::cerr << "freshet: " << plain_text(error.message) << '\n';
    return kUsage;
  }

  // Asks if the table is a queue. If it is none, checks that it exists and has the fixture's key.
  int look_at_target() {
    const auto queues = clients_.front()->call("GET", "/queues", "");
    if (!queues) return unreachable(queues.error(), "--into");
    if (queues->status != 200) return report_refusal(*queues, options_.credentials);
    const Json document = Json::parse(queues->body, nullptr, false);
    if (!document.is_object() || !document.contains("queues") || !document["queues"].is_array()) {
      return strange_answer(options_.url);
    }
    std::vector<std::string> names;
    for (const auto& name : document["queues"]) {
      if (name.is_string()) names.push_back(name.get<std::string>());
    }
    is_queue_ = std::find(names.begin(), names.end(), table_) != names.end();
    if (is_queue_) {
      const auto states = check_states(fixture_);
      return states ? kDone : wrong(states.error());
    }
    const auto answer = clients_.front()->call(
        "POST", "/", Json{{"TableName", table_}}.dump(),
        {{"X-Amz-Target", "DynamoDB_20120810.DescribeTable"}, {"Content-Type", "application/x-amz-json-1.0"}});
    if (!answer) return unreachable(answer.error(), "--into");
    if (exit_status_of(refusal_in(*answer).code) == kNotFound) return no_target(names);
    if (answer->status != 200) return report_refusal(*answer, options_.credentials);
    return look_at_keys(Json::parse(answer->body, nullptr, false));
  }

  // The daemon has no table of that name.
  int no_target(const std::vector<std::string>& queues) const {
    std::cerr << "freshet: the daemon has no queue and no table '" << plain_text(table_) << "'"
              << (options_.table.empty() ? ", which is the fixture's" : "") << "; --table NAME plays into another one"
              << (queues.empty() ? "" : plain_text("; of queues " + there_are(queues))) << '\n';
    return kNotFound;
  }

  int look_at_keys(const Json& description) const {
    if (!description.is_object() || !description.contains("Table")) return strange_answer(options_.url);
    const auto show = [](const std::string& partition, const std::string& sort) {
      return partition + (sort.empty() ? "" : ", " + sort);
    };
    const auto& keys = fixture_.header.keys;
    const auto wanted = show(keys.partition.name, keys.sort ? keys.sort->name : "");
    std::string partition, sort;
    for (const auto& part : description["Table"].value("KeySchema", Json::array())) {
      (part.value("KeyType", "") == "HASH" ? partition : sort) = part.value("AttributeName", "");
    }
    const auto found = show(partition, sort);
    if (found == wanted) return kDone;
    return wrong(invalid("table " + table_ + " has the key " + found + ", and " + wanted + " in the fixture").value());
  }

  // Thirty years at most: nanoseconds cannot hold every span of a fixture at every speed.
  SteadyClock::time_point due(const PlayedCall& call) const {
    return start_ + seconds_of(static_cast<double>(call.at.count()) / 1000 / options_.speed);
  }

  // False if it is to stop.
  static bool wait_until(SteadyClock::time_point due) {
    while (!interrupted()) {
      const auto left = due - SteadyClock::now();
      if (left.count() <= 0) return true;
      std::this_thread::sleep_for(std::min<SteadyClock::duration>(left, kBetweenLooksAtPlay));
    }
    return false;
  }

  // The part of the calls that one connection sends.
  void send(size_t connection) {
    for (size_t i = 0; i < plan_.calls.size(); ++i) {
      const auto& call = plan_.calls[i];
      if (std::hash<std::string>()(call.order) % clients_.size() != connection) continue;
      if (!wait_until(due(call))) break;
      outcomes_.sent(i, std::max(0.0, ms(SteadyClock::now() - due(call))));
      send_one(*clients_[connection], call);
    }
    --running_;
  }

  void send_one(BlockingClient& client, const PlayedCall& call) {
    const auto request = played_request(call, table_, SystemClock().wall());
    const auto answer = client.call("POST", request.target, request.body, request.headers);
    if (!answer) return outcomes_.unknown(call.place, answer.error().message);
    if (answer->status < 300) return outcomes_.accepted(answer->body.find("\"created\":false") == std::string::npos);
    const auto refusal = refusal_in(*answer);
    const bool says_nothing = answer->status >= 500 && answer->status != 503;
    if (says_nothing) return outcomes_.unknown(call.place, refusal.message);
    outcomes_.refused(call.place, refusal);
  }

  const Fixture& fixture_;
  const PlayOptions& options_;
  const std::string table_;
  std::vector<std::unique_ptr<BlockingClient>> clients_;
  bool is_queue_ = false;
  PlayPlan plan_;
  SteadyClock::time_point start_;
  std::atomic<size_t> running_{0};
  Outcomes outcomes_;
};

}  // namespace

int play_into(const Fixture& fixture, const PlayOptions& options) {
  return Player(fixture, options).run();
}

}  // namespace freshet::cli
