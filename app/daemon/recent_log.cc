#include "app/daemon/recent_log.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "wire/http/simple_route.h"
#include "wire/http/target.h"
#include "wire/tasks/answers.h"

namespace freshet {
namespace {

constexpr size_t kMaxPiece = 1u << 20;
constexpr milliseconds kLongestWait{30'000};
constexpr milliseconds kLook{50};  // Lines come from any thread; only while somebody waits.

Result<uint64_t> number_in(const Target& target, const char* name, uint64_t fallback) {
  const auto member = target.query.find(name);
  if (member == target.query.end()) return fallback;
  uint64_t value = 0;
  const auto& text = member->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return value;
  return invalid(std::string("'") + name + "' must be a number");
}

Async<HttpResponse> answer(const RecentLog& log, Scheduler& scheduler, std::string request_target) {
  const auto target = parse_target(request_target);
  if (!target) co_return tasks::error_answer(target.error());
  const auto from = number_in(*target, "from", 1);
  const auto wait = number_in(*target, "waitMs", 0);
  if (!from) co_return tasks::error_answer(from.error());
  if (!wait) co_return tasks::error_answer(wait.error());
  const auto longest = static_cast<uint64_t>(kLongestWait.count());
  const BootTime until = scheduler.clock().boot() + milliseconds(std::min(*wait, longest));
  auto piece = log.since(*from, kMaxPiece);
  while (piece.lines.empty() && scheduler.clock().boot() < until) {
    co_await sleep_for(scheduler, kLook);
    piece = log.since(*from, kMaxPiece);
  }
  HttpResponse response;
  response.content_type = "application/x-ndjson";
  response.headers.emplace_back("X-Freshet-Next", std::to_string(piece.next));
  response.headers.emplace_back("X-Freshet-Lost", std::to_string(piece.lost));
  response.body = std::move(piece.lines);
  co_return response;
}

}  // namespace

void RecentLog::write(LogLevel level, std::string_view line) {
  next_.write(level, line);
  const std::lock_guard lock(mutex_);
  lines_.emplace_back(line);
  bytes_ += line.size();
  while (bytes_ > max_bytes_ && lines_.size() > 1) {
    bytes_ -= lines_.front().size();
    lines_.pop_front();
    ++first_;
  }
}

RecentLog::Piece RecentLog::since(uint64_t from, size_t max_bytes) const {
  const std::lock_guard lock(mutex_);
  Piece piece;
  const uint64_t end = first_ + lines_.size();
  from = std::max<uint64_t>(from, 1);
  if (from < first_) piece.lost = first_ - from;
  piece.next = std::min(std::max(from, first_), end);
  while (piece.next < end && piece.lines.size() < max_bytes) {
    piece.lines += lines_[piece.next - first_];
    piece.lines += '\n';
    ++piece.next;
  }
  return piece;
}

std::unique_ptr<Route> make_log_route(const RecentLog& log, Scheduler& scheduler) {
  return make_simple_route("GET", "/logs", [&log, &scheduler](const HttpRequest& request) {
    std::string target = request.target;
    return answer(log, scheduler, std::move(target));
  });
}

}  // namespace freshet
