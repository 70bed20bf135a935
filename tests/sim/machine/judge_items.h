// Judges the item store by its promises: an acknowledged write stays, across kills and power cuts; a write without an
// answer is there completely or not at all; a state that a read has shown stays; transactions are all or nothing; a
// stream has each change of an item once and in order. Written from docs and DESIGN §8, not from the code.
//
// A register is an item with a version and a value. It has one writer, which writes version n on the condition that
// version n - 1 is there. So at most one of several tries for a version can succeed, however late a lost request
// arrives.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tests/sim/machine/verdict.h"

namespace freshet::sim {

class ItemsJudge {
 public:
  explicit ItemsJudge(Verdict& verdict) : verdict_(verdict) {}

  // Writes. A try is begun, and then acknowledged, refused (certainly not done), or refused because its condition did
  // not hold; otherwise its outcome is unknown.
  void begin(const std::string& key, uint64_t version, const std::string& value);
  void acknowledged(const std::string& key, uint64_t version, const std::string& value);
  void refused(const std::string& key, uint64_t version, const std::string& value);
  // The condition did not hold, so another try of that version must have succeeded.
  void condition_failed(const std::string& key, uint64_t version, const std::string& value);

  // Reads. `known` is known() as of when the read was sent; version 0: no such item.
  uint64_t known(const std::string& key) const;
  void observed(const std::string& key, uint64_t version, const std::string& value, uint64_t known);

  // A function got an event about the write, perhaps not for the first time.
  void delivered(const std::string& key, uint64_t version, const std::string& value) {
    pin(key, registers_[key], version, value, "told");
  }

  // A counter that only grows by one.
  void begin_add(const std::string& key) { ++counters_[key].begun; }
  void acknowledged_add(const std::string& key) { ++counters_[key].acknowledged; }
  void refused_add(const std::string& key) { --counters_[key].begun; }
  uint64_t known_adds(const std::string& key) const;
  void observed_count(const std::string& key, uint64_t value, uint64_t known);

  // A record of the stream, in order. `begins_late`: records before it may have been trimmed.
  void streamed(const std::string& key, uint64_t version, const std::string& value, bool begins_late);
  // The reader starts again at the first record that is left. All changes that have been tried until now may be
  // trimmed.
  void stream_trimmed();
  // The stream has been read to its end.
  void stream_is_over();

  const std::set<std::string>& keys() const { return keys_; }

 private:
  struct Register {
    std::map<uint64_t, std::set<std::string>> tries;  // By version: the values whose write may have succeeded.
    std::map<uint64_t, std::string> done;             // By version: the values that were certainly written.
    uint64_t known = 0;
    uint64_t streamed = 0;
    uint64_t trimmed = 0;  // Changes up to this version may have left the stream unread.
  };
  struct Counter {
    uint64_t begun = 0;
    uint64_t acknowledged = 0;
  };
  void pin(const std::string& key, Register& reg, uint64_t version, const std::string& value, const char* how);

  Verdict& verdict_;
  std::map<std::string, Register> registers_;
  std::map<std::string, Counter> counters_;
  std::set<std::string> keys_;
};

}  // namespace freshet::sim
