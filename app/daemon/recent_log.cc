#include "app/daemon/recent_log.h"

#include <algorithm>
#include <list>
#include <utility>
#include <vector>

#include "base/number_text.h"
#include "tables/value/json.h"
#include "wire/http/target.h"
#include "wire/service/api_route.h"
#include "wire/tasks/answers.h"

namespace freshet {
namespace {

constexpr size_t kMaxPiece = 1u << 20;
constexpr milliseconds kLongestWait{30'000};

Result<uint64_t> number_in(const Target& target, const char* name, uint64_t fallback) {
  const auto member = target.query.find(name);
  if (member == target.query.end()) return fallback;
  if (uint64_t value = 0; read_number_in(member->second, value)) return value;
  return invalid(std::string("'") + name + "' must be a number");
}

// Those who wait for a line. Loop thread; lines come from any.
class Followers final : public std::enable_shared_from_this<Followers> {
 public:
  Followers(RecentLog& log, Scheduler& scheduler, Mailbox& mailbox)
      : log_(log), scheduler_(scheduler), mailbox_(mailbox) {}
  Followers(const Followers&) = delete;
  Followers& operator=(const Followers&) = delete;
  ~Followers() { log_.on_next_line(nullptr); }

  // One waiting reader, for as long as this object lives. `came` is set when a new line arrives.
  struct Waiting {
    explicit Waiting(std::shared_ptr<Followers> all) : followers(std::move(all)), came(followers->scheduler_) {
      place = followers->waiting_.insert(followers->waiting_.end(), this);
      followers->ask_for_line();
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() { followers->waiting_.erase(place); }

    const std::shared_ptr<Followers> followers;
    const Promise<bool> came;
    std::list<Waiting*>::iterator place;
  };

 private:
  void ask_for_line() {
    log_.on_next_line([this, alive = weak_from_this()] {
      return mailbox_.deliver([alive] {
        if (const auto followers = alive.lock()) followers->wake();
      });
    });
  }
  void wake() {
    for (const Waiting* one : waiting_) one->came.set(true);
  }
  RecentLog& log_;
  Scheduler& scheduler_;
  Mailbox& mailbox_;
  std::list<Waiting*> waiting_;
};

class Alarm {
 public:
  Alarm(Scheduler& scheduler, BootTime when, Promise<bool> set)
      : scheduler_(scheduler), id_(scheduler.call_at(when, [set] { set.set(false); })) {}
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() { scheduler_.cancel(id_); }

 private:
  Scheduler& scheduler_;
  const TimerId id_;
};

struct Wanted {
  uint64_t from = 1;
  uint64_t newest = 0;  // Not 0: that many lines, instead of those from `from` on.
  milliseconds wait{0};
  std::string mark;  // Lines must contain it.
};

// Lines are JSON without blanks, in which a quote inside of a text has a backslash before it. So only a line with that
// member contains this.
std::string mark_of(const std::string& function) {
  std::string mark = R"("function":)";
  append_json_string(mark, function);
  return mark;
}

Result<Wanted> wanted(const std::string& request_target) {
  const auto target = parse_target(request_target);
  if (!target) return fail(target.error());
  const auto from = number_in(*target, "from", 1);
  const auto wait = number_in(*target, "waitMs", 0);
  const auto newest = number_in(*target, "newest", 0);
  for (const auto* number : {&from, &wait, &newest}) {
    if (!*number) return fail(number->error());
  }
  if (target->query.contains("from") && target->query.contains("newest")) {
    return invalid("there are 'from' and 'newest'; a request has one of them");
  }
  const auto function = target->query.find("function");
  return Wanted{*from, *newest, std::min(milliseconds(std::min<uint64_t>(*wait, 1u << 20)), kLongestWait),
                function == target->query.end() ? std::string() : mark_of(function->second)};
}

Async<HttpResponse> answer(const RecentLog& log, Scheduler& scheduler, std::shared_ptr<Followers> followers,
                           std::string request_target) {
  const auto asked = wanted(request_target);
  if (!asked) co_return tasks::error_answer(asked.error());
  const BootTime until = scheduler.clock().boot() + asked->wait;
  auto piece =
      asked->newest > 0 ? log.newest(asked->newest, asked->mark) : log.since(asked->from, kMaxPiece, asked->mark);
  uint64_t lost = piece.lost;
  const auto read_on = [&] {
    piece = log.since(piece.next, kMaxPiece, asked->mark);
    lost += piece.lost;
  };
  while (piece.lines.empty() && scheduler.clock().boot() < until) {
    const Followers::Waiting waiting(followers);
    const Alarm alarm(scheduler, until, waiting.came);
    read_on();  // Lines that came before anybody waited for them.
    if (!piece.lines.empty()) break;
    co_await waiting.came.future();
    read_on();
  }
  HttpResponse response;
  response.content_type = "application/x-ndjson";
  response.headers.emplace_back("X-Freshet-Next", std::to_string(piece.next));
  response.headers.emplace_back("X-Freshet-Lost", std::to_string(lost));
  response.body = std::move(piece.lines);
  co_return response;
}

}  // namespace

void RecentLog::write(LogLevel level, std::string_view line) {
  next_.write(level, line);
  std::function<bool()> wake;
  {
    const MutexLock lock(mutex_);
    lines_.emplace_back(line);
    bytes_ += line.size();
    while (bytes_ > max_bytes_ && lines_.size() > 1) {
      bytes_ -= lines_.front().size();
      lines_.pop_front();
      ++first_;
    }
    wake = std::exchange(wake_, nullptr);
  }
  if (!wake || wake()) return;
  const MutexLock lock(mutex_);
  if (!wake_) wake_ = std::move(wake);
}

void RecentLog::on_next_line(std::function<bool()> wake) {
  const MutexLock lock(mutex_);
  wake_ = std::move(wake);
}

RecentLog::Piece RecentLog::since(uint64_t from, size_t max_bytes, std::string_view mark) const {
  const MutexLock lock(mutex_);
  Piece piece;
  const uint64_t end = first_ + lines_.size();
  from = std::max<uint64_t>(from, 1);
  if (from < first_) piece.lost = first_ - from;
  piece.next = std::min(std::max(from, first_), end);
  while (piece.next < end && piece.lines.size() < max_bytes) {
    const std::string& line = lines_[piece.next - first_];
    ++piece.next;
    if (line.find(mark) == std::string::npos) continue;
    piece.lines += line;
    piece.lines += '\n';
  }
  return piece;
}

RecentLog::Piece RecentLog::newest(uint64_t count, std::string_view mark) const {
  const MutexLock lock(mutex_);
  std::vector<const std::string*> found;
  for (auto line = lines_.rbegin(); line != lines_.rend() && found.size() < count; ++line) {
    if (line->find(mark) != std::string::npos) found.push_back(&*line);
  }
  Piece piece;
  piece.next = first_ + lines_.size();
  for (auto line = found.rbegin(); line != found.rend(); ++line) (piece.lines += **line) += '\n';
  return piece;
}

std::unique_ptr<Route> make_log_route(RecentLog& log, Scheduler& scheduler, Mailbox& mailbox) {
  auto followers = std::make_shared<Followers>(log, scheduler, mailbox);
  return make_api_route(ApiCall::kLogs, [&log, &scheduler, followers](const HttpRequest& request) {
    std::string target = request.target;
    std::shared_ptr<Followers> waiting = followers;
    return answer(log, scheduler, std::move(waiting), std::move(target));
  });
}

}  // namespace freshet
