#include "app/daemon/record_route.h"

#include <charconv>
#include <map>
#include <utility>

#include "runtime/replay/record.h"
#include "wire/http/simple_route.h"
#include "wire/http/target.h"
#include "wire/tasks/answers.h"

namespace freshet {
namespace {

constexpr milliseconds kPatience = std::chrono::minutes(1);

// Which tables are being recorded, and until when both images are kept for them. Loop thread.
class Recordings {
 public:
  Recordings(EmbeddedTables& store, Scheduler& scheduler) : store_(store), scheduler_(scheduler) {}
  ~Recordings() {
    for (const auto& [table, timer] : timers_) scheduler_.cancel(timer);
  }
  Result<void> touch(const std::string& table) {
    if (auto kept = store_.keep_images(table, true); !kept) {
      if (kept.error().code != ErrorCode::kResourceNotFound) return kept;
      return fail(ErrorCode::kResourceNotFound,
                  "there is no table '" + table + "' (GET /queues lists the tables that are queues)");
    }
    TimerId& timer = timers_[table];
    if (timer != 0) scheduler_.cancel(timer);
    timer = scheduler_.call_after(kPatience, [this, table] { end(table); });
    return {};
  }

 private:
  void end(const std::string& table) {
    timers_.erase(table);
    // The table may be gone; then there is nothing to end.
    [[maybe_unused]] const auto ended = store_.keep_images(table, false);
  }

  EmbeddedTables& store_;
  Scheduler& scheduler_;
  std::map<std::string, TimerId> timers_;
};

// The number that a query member holds; kValidation if it is none.
Result<uint64_t> number_of(const Target& target, const char* name, uint64_t fallback) {
  const auto member = target.query.find(name);
  if (member == target.query.end()) return fallback;
  uint64_t value = 0;
  const auto& text = member->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return invalid(std::string("'") + name + "' must be a number");
  return value;
}

class Recorder {
 public:
  Recorder(EmbeddedTables& store, TaskQueues& queues, Scheduler& scheduler, Account account)
      : store_(store),
        queues_(queues),
        scheduler_(scheduler),
        account_(std::move(account)),
        recordings_(store, scheduler) {}

  Async<HttpResponse> answer(std::string request_target) {
    auto chunk = co_await piece(std::move(request_target));
    if (!chunk) co_return tasks::error_answer(chunk.error());
    HttpResponse response;
    response.content_type = "application/x-ndjson";
    response.headers.emplace_back("X-Freshet-Next", std::to_string(chunk->next));
    response.body = std::move(chunk->lines);
    co_return response;
  }

 private:
  Async<Result<FixtureChunk>> piece(std::string request_target) {
    const auto target = parse_target(request_target);
    if (!target) co_return fail(target.error());
    const auto named = target->query.find("table");
    if (named == target->query.end()) co_return invalid("'table' is missing");
    const std::string& table = named->second;
    if (const auto start = target->query.find("from"); start != target->query.end() && start->second == "latest") {
      co_return co_await latest(table);
    }
    const auto from = number_of(*target, "from", 0);
    const auto wait = number_of(*target, "waitMs", 0);
    if (!from) co_return fail(from.error());
    if (!wait) co_return fail(wait.error());
    if (auto kept = recordings_.touch(table); !kept) co_return fail(kept.error());
    if (*from == 0) {
      BeginFixtureInput input;
      input.table = table;
      if (TaskQueue* queue = queues_.find(table); queue != nullptr) input.policy = queue->policy();
      co_return co_await begin_fixture(store_, scheduler_, std::move(input));
    }
    ContinueFixtureInput input;
    input.table = table;
    input.account = account_;
    input.from = *from;
    input.wait_until = scheduler_.clock().boot() + milliseconds(std::min<uint64_t>(*wait, 30'000));
    co_return co_await continue_fixture(store_, std::move(input));
  }

  // Where to begin with what happens from now on.
  Async<Result<FixtureChunk>> latest(std::string table) {
    if (auto kept = recordings_.touch(table); !kept) co_return fail(kept.error());
    auto bounds = co_await store_.stream_bounds(std::move(table));
    if (!bounds) co_return fail(std::move(bounds.error()));
    co_return FixtureChunk{{}, bounds->next};
  }

  EmbeddedTables& store_;
  TaskQueues& queues_;
  Scheduler& scheduler_;
  const Account account_;
  Recordings recordings_;
};

}  // namespace

std::unique_ptr<Route> make_record_route(EmbeddedTables& store, TaskQueues& queues, Scheduler& scheduler,
                                         Account account) {
  auto recorder = std::make_shared<Recorder>(store, queues, scheduler, std::move(account));
  return make_simple_route("GET", "/record",
                           [recorder](const HttpRequest& request) { return recorder->answer(request.target); });
}

}  // namespace freshet
