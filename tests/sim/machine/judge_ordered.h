// Judges ordered writes by their promise (docs/ordered-writes.md): whatever the order of arrival, an item ends in the
// state of its newest write; an older put does not undo a delete; a write with the answer OLDER has changed nothing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/sim/machine/judge_tasks.h"

namespace freshet::sim {

class OrderedJudge {
 public:
  explicit OrderedJudge(Verdict& verdict) : verdict_(verdict) {}

  // Returns the first time from `at` on that no write of that item has yet.
  int64_t free_time(const std::string& key, int64_t at) const;
  // An empty value deletes.
  void begin(const std::string& key, int64_t at, const std::string& value);
  void applied(const std::string& key, int64_t at);
  // A newer write is there. `found`: its time, if the answer names it.
  void older(const std::string& key, int64_t at, std::optional<int64_t> found);
  void refused(const std::string& key, int64_t at);  // Certainly not done.

  // The time of the newest write that is certainly done; 0 if there is none.
  int64_t known(const std::string& key) const;
  // `value` is empty if there is no item. `known` is known() as of when the read was sent.
  void observed(const std::string& key, const std::optional<int64_t>& at, const std::string& value, int64_t known);
  const std::set<std::string>& keys() const { return keys_; }

 private:
  struct Item {
    std::map<int64_t, std::string> tries;  // By time: writes that may have been done.
    int64_t known = 0;
  };
  Verdict& verdict_;
  std::map<std::string, Item> items_;
  std::set<std::string> keys_;
};

}  // namespace freshet::sim
