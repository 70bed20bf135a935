#include "tests/sim/machine/disk_faults.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace freshet::sim {

namespace {

// The disk says that it has room, and refuses it: so do quotas, and directories that cannot grow.
void refuse_space(SimFiles& files, uint64_t calls) {
  auto left = std::make_shared<uint64_t>(calls);
  files.fail_calls(ErrorCode::kDiskFull, [left](const std::string& call) {
    if (*left == 0 || !(call.starts_with("allocate") || call.starts_with("rename"))) return false;
    --*left;
    return true;
  });
}

}  // namespace

bool disturb_disk(SimFiles& files, Random& random, Trace& trace, const std::string& name) {
  if (name == "sync-fails") files.fail_sync(1 + random.below(3));
  if (name == "write-fails") files.fail_write(1 + random.below(3));
  if (name == "disk-full") {
    const bool ends = random.below(2) == 0;
    files.set_disk_bytes(ends ? std::numeric_limits<uint64_t>::max()
                              : files.bytes_allocated() + random.below(3u << 20));
  }
  if (name == "disk-refuses") refuse_space(files, 1 + random.below(random.below(2) == 0 ? 3 : 60));
  if (name != "calls-fail") return name.starts_with("sync-") || name.starts_with("write-") || name.starts_with("disk-");
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
  return true;
}

void fill_disk(SimFiles& files, bool refuses_names) {
  if (refuses_names) {
    refuse_space(files, std::numeric_limits<uint64_t>::max());
  } else {
    files.set_disk_bytes(files.bytes_allocated());
  }
}

void empty_disk(SimFiles& files) {
  files.fail_calls(ErrorCode::kDiskFull, nullptr);
  files.set_disk_bytes(std::numeric_limits<uint64_t>::max());
}

void crash_in_start(SimFiles& files, Random& random, bool removes_much) {
  const uint64_t drawn = random.below(4);
  const bool counts = drawn < (removes_much ? 1 : 2);
  if (counts) return files.crash_at(files.calls() + 1 + random.below(drawn == 0 ? 60 : 600));
  // Before a sync of a segment of the log, or when one has just been removed.
  const bool syncs = drawn == 2 && !removes_much;
  const std::string kind = syncs ? "sync" : "remove";
  const uint64_t after = syncs ? 0 : 1;
  const uint64_t number = removes_much ? 1 + random.below(4) / 3 : 1 + random.below(4);
  files.on_call([&files, kind, after, left = number](const std::string& call) mutable {
    if (left == 0 || !call.starts_with(kind) || call.find("/segment-") == std::string::npos) return;
    if (--left == 0) files.crash_at(files.calls() + 1 + after);
  });
}

void crash_at_a_call(SimFiles& files, Random& random) {
  static constexpr const char* kRare[] = {"rename", "remove", "sync directory", "allocate", "truncate", "open"};
  const uint64_t after = random.below(6);
  if (random.below(3) == 0) return files.crash_at(files.calls() + 1 + random.below(40));
  const std::string kind = kRare[random.below(std::size(kRare))];
  files.on_call([&files, kind, after, met = false](const std::string& call) mutable {
    if (std::exchange(met, met || call.starts_with(kind)) || !met) return;
    files.crash_at(files.calls() + 1 + after);
  });
}

size_t spares_in(SimFiles& files, const std::string& folder) {
  const auto names = files.list(folder);
  if (!names) return 0;
  const auto is_spare = [](const std::string& name) { return name.starts_with("spare-"); };
  return static_cast<size_t>(std::count_if(names->begin(), names->end(), is_spare));
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
