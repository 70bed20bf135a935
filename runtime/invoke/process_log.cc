#include "runtime/invoke/process_log.h"

#include <algorithm>
#include <utility>

namespace freshet {

void ProcessLog::write(OutputStream stream, std::string_view bytes) {
  Unfinished& unfinished = unfinished_[static_cast<size_t>(stream)];
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    const size_t taken = std::min(end, kMaxLineBytes - unfinished.text.size());
    unfinished.text.append(bytes.substr(0, taken));
    unfinished.cut = unfinished.cut || taken < end;
    if (end == bytes.size()) return;
    finish(stream);
    bytes.remove_prefix(end + 1);
  }
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
  const BootTime now = clock_.boot();
  if (now - second_ >= seconds(1)) {
    second_ = now;
    in_second_ = 0;
  }
  if (++in_second_ > kMaxLinesASecond) {
    ++dropped_lines_;
    return;
  }
  ++lines_;
  line_(stream, line.text, line.cut);
}

void ProcessLog::add_to_tail(std::string_view text) {
  tail_ += text;
  // Not at every line: moving the rest costs.
  if (tail_.size() > 4 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
}

}  // namespace freshet
