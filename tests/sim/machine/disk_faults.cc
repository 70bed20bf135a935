#include "tests/sim/machine/disk_faults.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <vector>

namespace freshet::sim {

void disturb_disk(SimFiles& files, Random& random, Trace& trace, const std::string& name) {
  if (name == "sync-fails") files.fail_sync(1 + random.below(3));
  if (name == "write-fails") files.fail_write(1 + random.below(3));
  if (name == "disk-full") {
    const bool ends = random.below(2) == 0;
    files.set_disk_bytes(ends ? std::numeric_limits<uint64_t>::max()
                              : files.bytes_allocated() + random.below(3u << 20));
  }
  if (name != "calls-fail") return;
  // A kind of call fails, once or from now on.
  static constexpr const char* kCalls[] = {"open", "rename", "remove", "sync directory", "allocate", "list", "read"};
  const std::string kind = kCalls[random.below(std::size(kCalls))];
  auto left = std::make_shared<uint64_t>(random.below(2) == 0 ? 1 : 1'000'000);
  const ErrorCode code = random.below(4) == 0 ? ErrorCode::kDiskFull : ErrorCode::kIo;
  trace.note("   " + kind + " fails " + std::to_string(*left) + " times");
  files.fail_calls(code, [kind, left](const std::string& call) {
    if (!call.starts_with(kind) || *left == 0) return false;
    --*left;
    return true;
  });
}

std::optional<RottenBit> draw_bit(SimFiles& files, Random& random, const std::string& folder) {
  const auto names = files.list(folder);
  std::vector<std::string> segments;
  if (names) {
    std::copy_if(names->begin(), names->end(), std::back_inserter(segments),
                 [](const std::string& name) { return name.starts_with("segment-"); });
  }
  if (segments.size() < 2) return std::nullopt;
  RottenBit bit;
  bit.path = folder + "/" + segments[random.below(segments.size() - 1)];
  bit.before = files.content(bit.path);
  if (bit.before.empty()) return std::nullopt;
  bit.after = bit.before;
  bit.at = random.below(bit.after.size());
  bit.after[bit.at] = static_cast<char>(bit.after[bit.at] ^ (1 << random.below(8)));
  return bit;
}

}  // namespace freshet::sim
