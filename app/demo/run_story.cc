#include "app/demo/run_story.h"

#include <algorithm>
#include <memory>

#include "app/demo/contestant.h"
#include "app/demo/limited_api.h"
#include "app/demo/queue_client.h"
#include "app/lab/real/local_http.h"
#include "app/lab/real/temporary_folder.h"
#include "runtime/loop/loop.h"
#include "wire/http/io_waiter.h"

namespace freshet::demo {

namespace {

constexpr milliseconds kLead{200};  // From ready to the first tasks.
constexpr milliseconds kTick{50};
constexpr seconds kMomentEvery{5};
constexpr seconds kStartPatience{30};   // A start may take that long.
constexpr seconds kRivalPatience{300};  // It may have to install its packages.
constexpr milliseconds kLook{10};
constexpr milliseconds kTryAgain{100};
constexpr size_t kMaxCalls = 10'000;

class StoryRun {
 public:
  StoryRun(const Story& story, const std::vector<StoryTask>& tasks, const RunOptions& options)
      : story_(story), tasks_(tasks), options_(options), api_(story, tasks, loop_) {}
  StoryRun(const StoryRun&) = delete;
  StoryRun& operator=(const StoryRun&) = delete;

  Result<Run> run() {
    if (auto opened = open(); !opened) return fail(opened.error());
    scope_.spawn(drive());
    loop_.run();
    scope_.clear();
    queue_.reset();
    if (!result_) return fail(result_.error());
    run_.name = options_.name;
    run_.calls = api_.calls();
    return std::move(run_);
  }

 private:
  Result<void> open() {
    if (folder_.path().empty()) return fail(ErrorCode::kIo, "no temporary folder can be made");
    const auto answer = [this](const HttpRequest& request) { return api_.answer(request.body); };
    if (auto opened = local_.open(answer, kMaxCalls); !opened) return opened;
    const std::string url = local_.url();
    queue_ = is_rival() ? make_rival(folder_.path(), url, options_, story_, tasks_)
                        : make_served_queue(folder_.path(), url, options_);
    return queue_->launch();
  }

  Async<void> drive() {
    result_ = co_await go();
    loop_.stop();
  }

  Async<Result<void>> go() {
    auto ready = co_await until_ready();
    if (!ready) co_return ready;
    const auto wall = loop_.clock().wall().time_since_epoch();
    const auto zero = std::chrono::ceil<milliseconds>(wall) + kLead;
    origin_ = loop_.clock().boot() + (zero - wall);
    origin_wall_ = WallTime(std::chrono::duration_cast<milliseconds>(zero));
    api_.begin(origin_);
    queue_->begin(origin_wall_);
    if (!is_rival()) scope_.spawn(clients());
    bool was_killed = false;
    for (nanoseconds shown_at{0}; now() < story_.length;) {
      co_await sleep_for(loop_, kTick);
      if (options_.stopped && options_.stopped()) co_return fail(ErrorCode::kCancelled, "stopped before its end");
      if (queue_->has_ended()) co_return fail(queue_->gone("the program has ended"));
      if (!was_killed && now() >= story_.killed_at()) {
        was_killed = true;
        auto again = co_await kill_and_start();
        if (!again) co_return again;
      }
      if (options_.on_moment && now() >= shown_at + kMomentEvery) {
        shown_at = now();
        options_.on_moment(moment());
      }
    }
    if (is_rival()) co_return Result<void>();
    co_return co_await ask_books();
  }

  Async<Result<void>> until_ready() {
    const auto until = loop_.clock().boot() + (is_rival() ? kRivalPatience : kStartPatience);
    while (!queue_->is_ready()) {
      if (options_.stopped && options_.stopped()) co_return fail(ErrorCode::kCancelled, "stopped before its end");
      if (loop_.clock().boot() > until || queue_->has_ended())
        co_return fail(queue_->gone("the program did not start"));
      co_await sleep_for(loop_, kLook);
    }
    url_ = queue_->url();
    co_return Result<void>();
  }

  Async<Result<void>> kill_and_start() {
    url_.clear();
    queue_->kill();
    if (options_.killed) options_.killed();
    auto launched = queue_->launch();
    if (!launched) co_return launched;
    auto ready = co_await until_ready();
    if (ready) queue_->begin(origin_wall_);
    co_return ready;
  }

  // Tasks are sent when they are due, however long the answers take.
  Async<void> clients() {
    for (size_t first = 0; first < tasks_.size();) {
      co_await sleep_until(loop_, origin_ + tasks_[first].at);
      size_t end = first;
      while (end < tasks_.size() && tasks_[end].at <= now() && end - first < kMaxBatch) ++end;
      if (end > first) scope_.spawn(create(first, end));
      first = end;
      if (first < tasks_.size() && tasks_[first].at < now() + kTick) co_await sleep_for(loop_, kTick);
    }
  }

  // As a client does that must not lose a task: the same ids again until an answer comes.
  Async<void> create(size_t first, size_t end) {
    const std::string body = creation(tasks_, first, end, origin_wall_);
    while (now() < story_.length) {
      if (!url_.empty()) {
        QueueClient client(local_.client(), url_);
        auto answer = co_await client.create(body);
        if (answer) {
          run_.created += answer->accepted;
          for (const auto& [code, count] : answer->refused) run_.refused[code] += count;
          co_return;
        }
      }
      co_await sleep_for(loop_, kTryAgain);
    }
  }

  Async<Result<void>> ask_books() {
    QueueClient client(local_.client(), url_);
    co_return co_await client.read_books(run_);
  }

  bool is_rival() const { return !options_.rival.empty(); }
  nanoseconds now() const { return loop_.clock().boot() - origin_; }

  Moment moment() const {
    Moment out;
    out.at = now();
    out.limit = story_.limit_at(out.at);
    const auto after = [](nanoseconds at, const StoryTask& task) { return at < task.at; };
    out.arrived = static_cast<uint64_t>(std::upper_bound(tasks_.begin(), tasks_.end(), out.at, after) - tasks_.begin());
    Run so_far;
    so_far.calls = api_.calls();
    out.in_time = ends_in_time(tasks_, so_far, story_).size();
    out.calls = so_far.calls.size();
    out.refused = static_cast<uint64_t>(
        std::count_if(so_far.calls.begin(), so_far.calls.end(), [](const Call& call) { return !call.granted; }));
    return out;
  }

  const Story& story_;
  const std::vector<StoryTask>& tasks_;
  const RunOptions& options_;
  const lab::TemporaryFolder folder_{"freshet-demo"};
  SystemClock clock_;
  IoWaiter waiter_{clock_};
  Loop loop_{clock_, waiter_};
  LimitedApi api_;
  lab::LocalHttp local_{clock_, waiter_, loop_};
  std::unique_ptr<Contestant> queue_;
  std::string url_;  // Empty while the daemon is down.
  BootTime origin_{};
  WallTime origin_wall_{};
  Run run_;
  Result<void> result_;
  Scope scope_;
};

}  // namespace

std::vector<std::string> serve_options() {
  return {"--rate", "adaptive", "--late", "useless", "--keep", "1h"};
}

Result<Run> run_story(const Story& story, const std::vector<StoryTask>& tasks, const RunOptions& options) {
  return StoryRun(story, tasks, options).run();
}

}  // namespace freshet::demo
