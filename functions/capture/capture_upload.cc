#include "functions/capture/capture_upload.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "functions/capture/capture_name.h"

namespace freshet {
namespace {

constexpr milliseconds kFirstWait{1'000};
constexpr milliseconds kLongestWait{60'000};
constexpr size_t kReadStep = 1u << 20;

// In a fleet the records of a shard may be in the folders of two daemons, so that two files with one name differ.
std::string object_name(const std::string& name, std::string_view body) {
  const auto parsed = parse_capture_name(name);
  if (!parsed || !parsed->series.is_shard()) return name;
  const size_t end = name.rfind('.');
  return fmt::format("{}_{:016x}{}", name.substr(0, end), XXH3_64bits(body.data(), body.size()), name.substr(end));
}

}  // namespace

void CaptureUpload::set_target(ObjectTarget target, std::string prefix) {
  target_ = std::move(target);
  prefix_ = std::move(prefix);
  start();
}

void CaptureUpload::add(const std::string& folder, const std::string& table, const std::string& name) {
  if (!has_target()) return;
  Waiting file{folder + "/" + table, table, name};
  if (!paths_.insert(file.path()).second) return;
  waiting_.push_back(std::move(file));
  start();
}

void CaptureUpload::start() {
  if (running_ || waiting_.empty() || !has_target()) return;
  running_ = true;
  work_.spawn(run());
}

Async<void> CaptureUpload::run() {
  milliseconds wait = kFirstWait;
  while (!waiting_.empty() && has_target()) {
    Waiting file = waiting_.front();
    auto done = co_await put(file);
    if (!done && !is_gone(file)) {
      if (parts_.failures) parts_.failures->add();
      parts_.log.warn("CAPTURE_UPLOAD_FAILED", {{"file", file.path()},
                                                {"error", done.error().message},
                                                {"waiting", waiting_.size()},
                                                {"tryAgainMs", wait.count()}});
      co_await sleep_for(parts_.scheduler, wait);
      wait = std::min(wait * 2, kLongestWait);
      continue;
    }
    if (done && parts_.uploads) parts_.uploads->add();
    waiting_.pop_front();
    paths_.erase(file.path());
    wait = kFirstWait;
  }
  running_ = false;
}

// Taken away by somebody: it is theirs.
bool CaptureUpload::is_gone(const Waiting& file) {
  const auto names = parts_.files.list(file.directory);
  return names && !std::binary_search(names->begin(), names->end(), file.name);
}

Async<Result<void>> CaptureUpload::put(Waiting file) {
  std::string path = file.path();
  auto body = co_await read(path);
  if (!body) co_return fail(body.error());
  ObjectTarget target = target_;
  std::string key = prefix_ + file.table + "/" + object_name(file.name, *body);
  auto put = co_await parts_.objects.put(std::move(target), std::move(key), std::move(*body));
  if (!put) co_return put;
  // A removal that a power loss undoes only puts the same object again.
  co_return parts_.files.remove(path);
}

Async<Result<std::string>> CaptureUpload::read(std::string path) {
  auto file = parts_.files.open(path, OpenMode::kRead);
  if (!file) co_return fail(file.error());
  auto size = (*file)->size();
  if (!size) co_return fail(size.error());
  std::string text(*size, '\0');
  for (size_t at = 0; at < text.size(); at += kReadStep) {
    auto read = (*file)->read_at(at, {text.data() + at, std::min(kReadStep, text.size() - at)});
    if (!read) co_return fail(read.error());
    co_await sleep_for(parts_.scheduler, nanoseconds(0));
  }
  co_return text;
}

}  // namespace freshet
