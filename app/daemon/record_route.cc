#include "app/daemon/record_route.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/number_text.h"
#include "base/there_are.h"
#include "runtime/replay/record.h"
#include "wire/http/target.h"
#include "wire/service/api_route.h"
#include "wire/service/audited_route.h"
#include "wire/tasks/answers.h"

namespace freshet {
namespace {

// Which tables are being recorded, and until when both images are kept for them. Loop thread.
class Recordings {
 public:
  Recordings(EmbeddedTables& store, const TaskQueues& queues, Scheduler& scheduler)
      : store_(store), queues_(queues), scheduler_(scheduler) {}
  ~Recordings() {
    for (const auto& [table, timer] : timers_) scheduler_.cancel(timer);
  }
  Result<void> touch(const std::string& table) {
    if (auto kept = store_.keep_images(table, true); !kept) {
      if (kept.error().code != ErrorCode::kResourceNotFound) return kept;
      const auto names = queues_.names();
      return fail(ErrorCode::kResourceNotFound,
                  "there is no table '" + table + "'; " +
                      (names.empty() ? "this daemon has no queues" : "of this daemon's queues " + there_are(names)));
    }
    TimerId& timer = timers_[table];
    if (timer != 0) scheduler_.cancel(timer);
    timer = scheduler_.call_after(kRecordingPatience, [this, table] { end(table); });
    return {};
  }

 private:
  void end(const std::string& table) {
    timers_.erase(table);
    // The table may be gone; then there is nothing to end.
    [[maybe_unused]] const auto ended = store_.keep_images(table, false);
  }

  EmbeddedTables& store_;
  const TaskQueues& queues_;
  Scheduler& scheduler_;
  std::map<std::string, TimerId> timers_;
};

// kValidation if the query member `name` does not hold a number.
Result<uint64_t> whole_number(const std::string& text, const char* name) {
  uint64_t value = 0;
  if (read_number_in(text, value)) return value;
  return invalid(std::string("'") + name + "' must be a number");
}

// Where a recording goes on: the next change of the table, and the next one of its queue's policy.
struct RecordCursor {
  uint64_t change = 0;             // 0: the recording begins.
  std::optional<uint64_t> policy;  // Not given: the client wants none.
  // When the queue was opened that numbers its changes so, in epoch milliseconds. Older daemons did not tell it.
  uint64_t opened = 0;

  std::string text() const {
    if (!policy) return std::to_string(change);
    return std::to_string(change) + "." + std::to_string(*policy) + "." + std::to_string(opened);
  }
};

uint64_t opening(const PolicyChanges& changes) {
  return static_cast<uint64_t>(std::max<int64_t>(epoch_ms(changes.first.at), 0));
}

// `CHANGE`, `CHANGE.POLICY` or `CHANGE.POLICY.OPENED`.
Result<RecordCursor> cursor_of(const Target& target) {
  RecordCursor out;
  const auto member = target.query.find("from");
  if (member == target.query.end()) return out;
  const std::string& text = member->second;
  const size_t dot = text.find('.');
  const auto change = whole_number(text.substr(0, dot), "from");
  if (!change) return fail(change.error());
  out.change = *change;
  if (dot == std::string::npos) return out;
  const size_t second = text.find('.', dot + 1);
  const auto policy = whole_number(text.substr(dot + 1, second - dot - 1), "from");
  if (!policy) return fail(policy.error());
  out.policy = *policy;
  if (second == std::string::npos) return out;
  const auto opened = whole_number(text.substr(second + 1), "from");
  if (!opened) return fail(opened.error());
  out.opened = *opened;
  return out;
}

class Recorder {
 public:
  Recorder(EmbeddedTables& store, TaskQueues& queues, Scheduler& scheduler, Account account)
      : store_(store),
        queues_(queues),
        scheduler_(scheduler),
        account_(std::move(account)),
        recordings_(store, queues, scheduler) {}

  Async<HttpResponse> answer(std::string request_target) {
    auto piece = co_await read(std::move(request_target));
    if (!piece) co_return tasks::error_answer(piece.error());
    HttpResponse response;
    response.content_type = "application/x-ndjson";
    response.headers.emplace_back("X-Freshet-Next", piece->next.text());
    response.body = std::move(piece->lines);
    co_return response;
  }

 private:
  struct Piece {
    std::string lines;
    RecordCursor next;
  };

  Async<Result<Piece>> read(std::string request_target) {
    const auto target = parse_target(request_target);
    if (!target) co_return fail(target.error());
    const auto named = target->query.find("table");
    if (named == target->query.end()) co_return invalid("'table' is missing");
    const std::string& table = named->second;
    if (const auto start = target->query.find("from"); start != target->query.end() && start->second == "latest") {
      co_return co_await latest(table);
    }
    const auto from = cursor_of(*target);
    if (!from) co_return fail(from.error());
    const auto waits = target->query.find("waitMs");
    const auto wait = waits == target->query.end() ? Result<uint64_t>(0) : whole_number(waits->second, "waitMs");
    if (!wait) co_return fail(wait.error());
    if (auto kept = recordings_.touch(table); !kept) co_return fail(kept.error());
    if (from->change == 0) co_return co_await begin(table);
    co_return co_await go_on(table, *from, milliseconds(std::min<uint64_t>(*wait, 30'000)));
  }

  Async<Result<Piece>> begin(std::string table) {
    BeginFixtureInput input;
    input.table = table;
    RecordCursor next;
    if (const auto queue = queues_.find(table)) {
      input.policy = queue->policy();
      const PolicyChanges none = queue->policy_changes(UINT64_MAX);
      next.policy = none.next;
      next.opened = opening(none);
    }
    auto chunk = co_await begin_fixture(store_, scheduler_, std::move(input));
    if (!chunk) co_return fail(std::move(chunk.error()));
    next.change = chunk->next;
    co_return Piece{std::move(chunk->lines), next};
  }

  // Changes of the policy come before the changes of the table that were read after them.
  Async<Result<Piece>> go_on(std::string table, RecordCursor from, milliseconds wait) {
    ContinueFixtureInput input;
    input.table = table;
    input.account = account_;
    input.from = from.change;
    input.wait_until = scheduler_.clock().boot() + wait;
    auto chunk = co_await continue_fixture(store_, std::move(input));
    if (!chunk) co_return fail(std::move(chunk.error()));
    Piece out{{}, from};
    out.next.change = chunk->next;
    if (auto added = add_policy(table, out); !added) co_return fail(std::move(added.error()));
    out.lines += chunk->lines;
    co_return out;
  }

  // The changes of the queue's policy since the cursor at which the piece begins. If the queue has been opened anew
  // since, the policy that it had then is the first of them. kTrimmedDataAccess if some have been forgotten.
  Result<void> add_policy(const std::string& table, Piece& piece) {
    RecordCursor& next = piece.next;
    const auto queue = next.policy ? queues_.find(table) : nullptr;
    if (queue == nullptr) return {};
    PolicyChanges news = queue->policy_changes(*next.policy);
    if (next.opened != opening(news)) {
      news = queue->policy_changes(0);
      next.opened = opening(news);
      piece.lines += policy_line({news.first.at, *news.first.policy});
    }
    if (news.missing > 0) {
      return fail(ErrorCode::kTrimmedDataAccess,
                  "the recording of '" + table + "' has a gap and is over: " + std::to_string(news.missing) +
                      (news.missing == 1 ? " change of its policy is" : " changes of its policy are") +
                      " forgotten; begin a new one, and read on before 1,000 further changes are made");
    }
    for (auto& change : news.changes) piece.lines += policy_line({change.at, *change.policy});
    next.policy = news.next;
    return {};
  }

  // Where to begin with what happens from now on.
  Async<Result<Piece>> latest(std::string table) {
    if (auto kept = recordings_.touch(table); !kept) co_return fail(kept.error());
    auto bounds = co_await store_.stream_bounds(std::move(table));
    if (!bounds) co_return fail(std::move(bounds.error()));
    co_return Piece{{}, {bounds->next, {}}};
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
  return make_api_route(ApiCall::kRecord,
                        [recorder](const HttpRequest& request) { return recorder->answer(request.target); },
                        {.get_changes = true});
}

}  // namespace freshet
