#include "tests/sim/machine/judge_items.h"

#include <algorithm>

namespace freshet::sim {

namespace {
std::string name_of(const std::string& key, uint64_t version) {
  return key + " version " + std::to_string(version);
}
}  // namespace

void ItemsJudge::begin(const std::string& key, uint64_t version, const std::string& value) {
  keys_.insert(key);
  registers_[key].tries[version].insert(value);
}

void ItemsJudge::pin(const std::string& key, Register& reg, uint64_t version, const std::string& value,
                     const char* how) {
  verdict_.expect(reg.tries[version].contains(value), "a write appears that nobody made, or that was refused",
                  [&] { return name_of(key, version) + " has the value '" + value + "' (" + how + ")"; });
  const auto [at, fresh] = reg.done.try_emplace(version, value);
  const std::string& done = at->second;
  verdict_.expect(fresh || done == value, "two writes took the place of one version",
                  [&] { return name_of(key, version) + " was '" + done + "' and is '" + value + "' (" + how + ")"; });
  reg.known = std::max(reg.known, version);
}

void ItemsJudge::acknowledged(const std::string& key, uint64_t version, const std::string& value) {
  pin(key, registers_[key], version, value, "acknowledged");
}

void ItemsJudge::refused(const std::string& key, uint64_t version, const std::string& value) {
  Register& reg = registers_[key];
  const auto done = reg.done.find(version);
  verdict_.expect(done == reg.done.end() || done->second != value, "a refused write was done",
                  [&] { return name_of(key, version) + " '" + value + "' was refused, and has been seen"; });
  reg.tries[version].erase(value);
}

void ItemsJudge::condition_failed(const std::string& key, uint64_t version, const std::string& value) {
  Register& reg = registers_[key];
  refused(key, version, value);
  verdict_.expect(!reg.tries[version].empty(), "a condition failed that holds",
                  [&] { return name_of(key, version) + ": no other try of it can have been done"; });
}

uint64_t ItemsJudge::known(const std::string& key) const {
  const auto found = registers_.find(key);
  return found == registers_.end() ? 0 : found->second.known;
}

void ItemsJudge::observed(const std::string& key, uint64_t version, const std::string& value, uint64_t known) {
  verdict_.expect(version >= known, "an acknowledged or seen write is lost", [&] {
    return key + " is at version " + std::to_string(version) + ", and was at " + std::to_string(known) +
           " before the read was sent";
  });
  if (version > 0) pin(key, registers_[key], version, value, "read");
}

uint64_t ItemsJudge::known_adds(const std::string& key) const {
  const auto found = counters_.find(key);
  return found == counters_.end() ? 0 : found->second.acknowledged;
}

void ItemsJudge::observed_count(const std::string& key, uint64_t value, uint64_t known) {
  verdict_.expect(value >= known, "an acknowledged addition is lost", [&] {
    return key + " is " + std::to_string(value) + ", and " + std::to_string(known) + " were acknowledged";
  });
  const uint64_t begun = counters_[key].begun;
  verdict_.expect(value <= begun, "an addition was done twice", [&] {
    return key + " is " + std::to_string(value) + ", and " + std::to_string(begun) + " were sent and not refused";
  });
}

void ItemsJudge::streamed(const std::string& key, uint64_t version, const std::string& value, bool begins_late) {
  Register& reg = registers_[key];
  const bool next = version == reg.streamed + 1 || (begins_late && version > reg.streamed);
  verdict_.expect(next, "the stream has a gap, a double or a wrong order", [&] {
    return key + ": version " + std::to_string(version) + " comes after " + std::to_string(reg.streamed);
  });
  reg.streamed = version;
  pin(key, reg, version, value, "stream");
}

void ItemsJudge::stream_trimmed() {
  for (auto& [key, reg] : registers_) {
    reg.trimmed = std::max(reg.known, reg.tries.empty() ? 0 : reg.tries.rbegin()->first);
  }
}

void ItemsJudge::stream_is_over() {
  for (const auto& [key, reg] : registers_) {
    // An item that nobody writes again is in the stream once, and that record may have been trimmed.
    const bool is_trimmed = reg.streamed < reg.known && reg.known <= reg.trimmed;
    verdict_.expect(reg.streamed == reg.known || is_trimmed, "the stream lacks a change",
                    key + ": the stream ends at version " + std::to_string(reg.streamed) + ", the item is at " +
                        std::to_string(reg.known));
  }
}

}  // namespace freshet::sim
