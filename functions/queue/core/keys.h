// Keys: deduplication and replacement by the latest task. Pure state: no store, clock, coroutine or log. Loop thread.
//
// This part knows which keys have a claim in flight, which keys a create looks at, which tasks of a key the store
// refused to end, and which keys takes passed over. It does not know the leases: the caller passes `held`, which is
// true if a task of the key is in work under a lease (core/claims.h). docs/lifecycle.md, "Keys".
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/keep_times.h"
#include "tables/tables.h"

namespace freshet {

// Tasks that a newer task of their key replaces, but which could not be ended yet.
struct Unreplaced {
  std::string by;               // The newest task of the key.
  std::set<std::string> ids{};  // The tasks that are to end.
  bool all = false;             // The tasks are not known: every other task of the key is to end,
  std::set<std::string> but{};  // except these, which came later.
};

// The outcome of a replacement, from best to worst.
enum class Replaced {
  kAll,      // All older tasks of the key have ended or are marked.
  kMoved,    // One of them moved meanwhile (it was taken, or given back): read them again.
  kRefused,  // The store refused to end one of them.
};

class Keys {
 public:
  Keys() = default;
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  // A claim of a task with that key goes out. An empty key is ignored, here and below.
  void claim_sent(std::string_view key);
  // The claim was answered. The caller then calls freed().
  void claim_answered(std::string_view key);
  // A create, or the end of a task, begins to look at the tasks of the key. No other look may begin before
  // look_ended().
  void look_began(const std::string& key) { looked_at_.insert(key); }
  // The caller then calls freed().
  void look_ended(const std::string& key) { looked_at_.erase(key); }
  bool is_looked_at(std::string_view key) const { return looked_at_.contains(key); }
  // A task of the key is no longer in work, looked at or to be replaced. True if a take passed over a task that waited
  // for this, so that takes must look again.
  [[nodiscard]] bool freed(std::string_view key);

  // True if this part knows of no key that a task could wait for.
  bool idle() const { return claiming_.empty() && looked_at_.empty() && unreplaced_.empty(); }
  // True if a take must pass the task over: a newer task replaces it, or it was created to replace others and one of
  // these is in work. The answer is remembered for freed().
  bool passes_over(const ItemRef& task, std::string_view key, bool held);
  // A take passed a task over because an earlier task of the same take has its key.
  void passed_over(std::string_view key) { passed_.emplace(key); }
  // The number of keys for which takes passed a task over.
  size_t passed() const { return passed_.size(); }

  // True if a newer task of the key replaces the task.
  bool is_replaced(const ItemRef& task, std::string_view key) const;
  // The write for a task that the task `by` replaces: it ends a waiting task, and marks one that is in work. Empty if
  // there is nothing to write. KEEP_MS counts from `keep_from`.
  static std::optional<EditItemInput> replacement(const std::string& table, const ItemRef& old, const std::string& by,
                                                  const KeepTimes& keep, WallTime now, WallTime keep_from);
  // The store refused that write: adds the task to `left`.
  static Replaced refused(const ItemRef& old, ErrorCode why, Unreplaced& left);
  // Some older tasks of the key could not be replaced yet.
  void not_replaced(const std::string& key, Unreplaced left) { unreplaced_[key] = std::move(left); }
  // All tasks of the key are replaced. True if some were left before: the caller then calls freed().
  [[nodiscard]] bool all_replaced(const std::string& key) { return unreplaced_.erase(key) > 0; }
  // The task has ended by itself. If it is redriven, it counts as newer than the task that was to replace it. True if
  // no task of the key is left to be replaced: the caller then calls freed().
  [[nodiscard]] bool has_ended(const ItemRef& task, std::string_view key);
  // Another attempt begins, for the newest task `by`.
  void replaces_again(const std::string& key, const std::string& by) { unreplaced_[key].by = by; }
  bool has_unreplaced(std::string_view key) const { return unreplaced_.contains(key); }
  // The newest task, which replaces the others; empty if none is left to be replaced.
  std::optional<std::string> replacing(std::string_view key) const;
  std::vector<std::string> unreplaced_keys() const;
  // True if another attempt to replace what is left may begin now; it ends with replaced_again().
  bool may_replace_again();
  void replaced_again() { replacing_again_ = false; }

  // The table was deleted: forgets its tasks. Claims and looks go on until they are answered.
  void table_lost();

 private:
  std::map<std::string, size_t, std::less<>> claiming_;  // Claims in flight.
  std::set<std::string, std::less<>> looked_at_;
  std::set<std::string, std::less<>> passed_;                  // Takes passed a task over that waits for one of these.
  std::map<std::string, Unreplaced, std::less<>> unreplaced_;  // By key.
  bool replacing_again_ = false;
};

}  // namespace freshet
