#include "tests/sim/machine/trace.h"

#include <cstdio>

namespace freshet::sim {

namespace {
constexpr size_t kKept = 60;
constexpr uint64_t kPrime = 1099511628211ull;  // FNV-1a.
}  // namespace

void Trace::note(std::string_view line) {
  char time[32];
  const double now = clock_ ? std::chrono::duration<double>(clock_->boot().time_since_epoch()).count() : 0;
  std::snprintf(time, sizeof(time), "%14.6f ", now);
  std::string whole = time;
  whole += line;
  for (const char c : whole) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kPrime;
  ++lines_;
  if (print_) std::printf("%s\n", whole.c_str());
  last_.push_back(std::move(whole));
  if (last_.size() > kKept) last_.pop_front();
}

void Trace::write(LogLevel level, std::string_view line) {
  constexpr std::string_view kEvent = "\"event\":\"";
  if (const size_t at = line.find(kEvent); at != std::string_view::npos) {
    const size_t begin = at + kEvent.size();
    saw("log " + std::string(line.substr(begin, line.find('"', begin) - begin)));
  }
  if (level >= LogLevel::kInfo) note("  log " + std::string(line));
}

}  // namespace freshet::sim
