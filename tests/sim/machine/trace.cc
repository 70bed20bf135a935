#include "tests/sim/machine/trace.h"

#include <cstdio>

namespace freshet::sim {

namespace {
constexpr size_t kKept = 60;
constexpr uint64_t kPrime = 1099511628211ull;  // FNV-1a.
constexpr size_t kTimeWidth = 14;

// In seconds with six places, and a space: each run prints millions of them.
void append_time(std::string& out, BootTime time) {
  constexpr size_t kPlaces = 6;
  char text[32];
  const int64_t ns = time.time_since_epoch().count();
  if (ns % 1'000 == 500) {  // Which way that is rounded depends on the binary fraction.
    std::snprintf(text, sizeof text, "%14.6f ", std::chrono::duration<double>(time.time_since_epoch()).count());
    out += text;
    return;
  }
  auto left = static_cast<uint64_t>((ns + 500) / 1'000);  // Microseconds.
  size_t at = sizeof text;
  text[--at] = ' ';
  for (size_t digits = 0; left > 0 || digits <= kPlaces; ++digits, left /= 10) {
    if (digits == kPlaces) text[--at] = '.';
    text[--at] = static_cast<char>('0' + left % 10);
  }
  const size_t size = sizeof text - at;
  if (size <= kTimeWidth) out.append(kTimeWidth + 1 - size, ' ');
  out.append(text + at, size);
}
}  // namespace

void Trace::note(std::string_view line) {
  std::string whole;
  whole.reserve(kTimeWidth + 1 + line.size());
  append_time(whole, clock_ ? clock_->boot() : BootTime{});
  whole += line;
  uint64_t hash = hash_;
  for (const char c : whole) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  hash_ = hash;
  ++lines_;
  if (print_) std::printf("%s\n", whole.c_str());
  last_.push_back(std::move(whole));
  if (last_.size() > kKept) last_.pop_front();
}

void Trace::write(LogLevel level, std::string_view line) {
  logged_bytes_ += line.size();
  constexpr std::string_view kEvent = "\"event\":\"";
  if (const size_t at = line.find(kEvent); at != std::string_view::npos) {
    const size_t begin = at + kEvent.size();
    saw("log " + std::string(line.substr(begin, line.find('"', begin) - begin)));
  }
  if (level >= LogLevel::kInfo) note("  log " + std::string(line));
}

}  // namespace freshet::sim
