// The log beside the bare system calls it is made of: append + sync against pwrite + fdatasync into a preallocated
// file, in turns within one run so that both see the same disk; then how fast a log is replayed.
//   log_bench [DIRECTORY] [OPERATIONS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/files.h"
#include "tables/log/log.h"

namespace freshet {
namespace {

using Steady = std::chrono::steady_clock;

double micros_since(Steady::time_point start) {
  return std::chrono::duration<double, std::micro>(Steady::now() - start).count();
}

double percentile(std::vector<double>& values, double p) {
  const auto at = values.begin() + static_cast<ptrdiff_t>(p * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::cerr << "log_bench: " << result.error().message << "\n";
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

Result<void> ignore(const LogBatch&) {
  return {};
}

// Both sides do the same turn after turn; which goes first alternates.
void compare_syncs(const std::string& directory, size_t payload_bytes, size_t operations) {
  auto files = make_posix_files();
  SystemClock clock;
  LogOptions options;
  options.directory = directory + "/log";
  auto log = must(open_log(*files, options, ignore));
  auto bare = must(files->open(directory + "/bare", OpenMode::kCreate));
  must(bare->preallocate(64u << 20));
  const std::string payload(payload_bytes, 'x');
  uint64_t offset = 0;
  std::vector<double> ours;
  std::vector<double> theirs;
  std::vector<double> appends;
  const auto turn_of_ours = [&] {
    const auto start = Steady::now();
    must(log->append(BatchKind::kCommit, payload));
    appends.push_back(micros_since(start));
    must(log->sync(clock.boot(), Waiting::kMany, log->last_sequence()));
    ours.push_back(micros_since(start));
  };
  const auto turn_of_theirs = [&] {
    const auto start = Steady::now();
    must(bare->write_at(offset, payload));
    must(bare->sync());
    offset += payload.size();
    theirs.push_back(micros_since(start));
  };
  for (size_t i = 0; i < operations; ++i) {
    if (i % 2 == 0) turn_of_ours();
    turn_of_theirs();
    if (i % 2 == 1) turn_of_ours();
  }
  std::printf(
      "%6zu-byte batches: log append+sync p50 %6.1f us p99 %6.1f us | pwrite+fdatasync p50 %6.1f us p99 %6.1f us "
      "| ratio of p50 %.2f | append alone p50 %.2f us\n",
      payload_bytes, percentile(ours, 0.5), percentile(ours, 0.99), percentile(theirs, 0.5), percentile(theirs, 0.99),
      percentile(ours, 0.5) / percentile(theirs, 0.5), percentile(appends, 0.5));
  bare.reset();
  must(files->remove(directory + "/bare"));
}

void measure_replay(const std::string& directory, size_t payload_bytes, uint64_t total) {
  auto files = make_posix_files();
  LogOptions options;
  options.directory = directory + "/replay";
  options.durability.mode = DurabilityMode::kNone;
  const std::string payload(payload_bytes, 'x');
  auto start = Steady::now();
  {
    auto log = must(open_log(*files, options, ignore));
    while (log->bytes_used() < total) must(log->append(BatchKind::kCommit, payload));
  }
  const double written = micros_since(start);
  uint64_t batches = 0;
  start = Steady::now();
  auto log = must(open_log(*files, options, [&](const LogBatch&) -> Result<void> {
    ++batches;
    return {};
  }));
  const double replayed = micros_since(start);
  const auto bytes = static_cast<double>(log->bytes_used());
  std::printf("%6zu-byte batches: append without sync %.0f MB/s (%.2f us each), replay %.0f MB/s (%llu batches)\n",
              payload_bytes, bytes / written, written / static_cast<double>(batches), bytes / replayed,
              static_cast<unsigned long long>(batches));
  log.reset();
  std::filesystem::remove_all(options.directory);
}

int run(int count, char** arguments) {
  const std::string parent = count > 1 ? arguments[1] : ".";
  const size_t operations = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 2000;
  std::string directory = parent + "/log_bench-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr || operations == 0) {
    std::cerr << "usage: log_bench [DIRECTORY] [OPERATIONS]; the directory must be writable\n";
    return 2;
  }
  for (const size_t bytes : {300, 5'000, 80'000}) {
    compare_syncs(directory, bytes, operations);
    std::filesystem::remove_all(directory + "/log");
  }
  for (const size_t bytes : {300, 5'000}) measure_replay(directory, bytes, 1u << 30);
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace freshet

int main(int count, char** arguments) {
  return freshet::run(count, arguments);
}
