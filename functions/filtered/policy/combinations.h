// The queues of a definition: one for each combination of values, with their keys, and the queues that belong to the
// values of a member or of a request. Pure; a value type, constant after it is made.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "functions/filtered/settings.h"
#include "runtime/api/filtered_queue.h"

namespace freshet::filtered {

// Queues by their index, from 0.
using QueueSet = std::vector<size_t>;
// In order of preference, each without duplicates.
using Alternatives = std::vector<QueueSet>;

// A transaction that takes a member out of all of its queues has two actions for each (entry and queue), one for the
// member and one for the request. The same holds for a request that waits in several.
inline constexpr size_t kMostQueuesAtOnce = (limits::kMaxTransactionActions - 2) / 2;
inline constexpr size_t kMostQueues = 10'000;
inline constexpr size_t kMostBits = 63;
inline constexpr size_t kMostAlternatives = 100;  // The most alternatives of a request.

class Combinations {
 public:
  // kValidation with the calculation: a member may be in too many queues for one transaction, there are too many
  // queues, a mask has too many bits, two queues have the same key, or a key is too long.
  static Result<Combinations> make(const Settings& settings);

  size_t size() const { return keys_.size(); }
  const std::string& key(size_t queue) const { return keys_[queue]; }
  const std::string& waiting_key(size_t queue) const { return waiting_keys_[queue]; }
  std::optional<size_t> find(std::string_view key) const;
  std::vector<std::string> values_of(size_t queue) const;

  // The queues for an item with these attributes. `where` names the item in messages. kValidation: an attribute is
  // missing, of another type, has a value that is not in the definition, or too many values.
  Result<QueueSet> of_item(const ItemRef& item, const std::string& where) const;
  // The queues that a request accepts; an alternative omits those of earlier ones, which come first. kValidation:
  // unknown attributes, values, queues; more than kMostQueuesAtOnce in all, or an attribute with more values than
  // that.
  Result<Alternatives> of_match(const Match& match) const;

 private:
  Result<std::vector<size_t>> value_indexes(size_t index, const ItemRef& item, const std::string& where) const;
  Result<size_t> attribute_named(const std::string& name) const;
  Result<std::vector<size_t>> wanted_indexes(size_t attribute, const std::vector<std::string>& wanted) const;
  Result<QueueSet> of_alternative(const MatchAlternative& alternative) const;
  QueueSet product(const std::vector<std::vector<size_t>>& values) const;

  std::vector<FilterAttribute> attributes_;
  std::vector<std::map<std::string, size_t, std::less<>>> indexes_;  // For each attribute, by value.
  std::vector<std::string> keys_;
  std::vector<std::string> waiting_keys_;
  std::map<std::string, size_t, std::less<>> by_key_;
};

// Adds the queues that are not in an earlier alternative: if that one found no member, this one will not either.
void add_alternative(Alternatives& into, QueueSet queues);
// All queues, without duplicates, in order of preference.
QueueSet flatten(const Alternatives& alternatives);

}  // namespace freshet::filtered
