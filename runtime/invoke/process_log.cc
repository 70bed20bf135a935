#include "runtime/invoke/process_log.h"

#include <algorithm>
#include <utility>

namespace freshet {

size_t ProcessLog::write(OutputStream stream, std::string_view bytes) {
  Unfinished& unfinished = unfinished_[static_cast<size_t>(stream)];
  const size_t before = bytes.size();
  for (int lines = 0; !bytes.empty() && lines < kLinesAStep && before - bytes.size() < kBytesAStep; ++lines) {
    if (full()) bytes.remove_prefix(drop_lines(stream, bytes));
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    const size_t taken = std::min(end, kMaxLineBytes - unfinished.text.size());
    unfinished.text.append(bytes.substr(0, taken));
    unfinished.cut = unfinished.cut || taken < end;
    if (end == bytes.size()) return before;
    finish(stream);
    bytes.remove_prefix(end + 1);
  }
  return before - bytes.size();
}

void ProcessLog::end_lines() {
  for (const OutputStream stream : {OutputStream::kOutput, OutputStream::kErrorOutput}) {
    if (!unfinished_[static_cast<size_t>(stream)].text.empty()) finish(stream);
  }
}

void ProcessLog::finish(OutputStream stream) {
  Unfinished line = std::exchange(unfinished_[static_cast<size_t>(stream)], {});
  if (line.text.ends_with('\r')) line.text.pop_back();
  add_to_tail(line.text + "\n");
  if (full()) {
    ++dropped_lines_;
    return;
  }
  ++in_second_;
  ++lines_;
  line_(stream, line.text, line.cut);
}

bool ProcessLog::full() {
  const BootTime now = clock_.boot();
  if (now - second_ >= seconds(1)) {
    second_ = now;
    in_second_ = 0;
  }
  return in_second_ >= kMaxLinesASecond;
}

// Drops all complete lines of `bytes` at once, so that a flood of empty lines costs no more than one of long lines.
// Returns their number of bytes.
size_t ProcessLog::drop_lines(OutputStream stream, std::string_view bytes) {
  const size_t whole = bytes.rfind('\n') + 1;  // npos + 1 is 0.
  if (whole == 0) return 0;
  dropped_lines_ +=
      static_cast<uint64_t>(std::count(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(whole), '\n'));
  add_to_tail(std::exchange(unfinished_[static_cast<size_t>(stream)], {}).text);
  add_to_tail(bytes.substr(whole - std::min(whole, kTailBytes), std::min(whole, kTailBytes)));
  return whole;
}

void ProcessLog::add_to_tail(std::string_view text) {
  tail_ += text;
  // Not at every line, because moving the rest is expensive.
  if (tail_.size() > 4 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
}

}  // namespace freshet
