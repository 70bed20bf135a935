#include "functions/filtered/policy/combinations.h"

#include <algorithm>
#include <limits>

namespace freshet::filtered {
namespace {

constexpr char kSeparator = '#';

// "3 x 1" and what it comes to; as much as fits.
struct Arithmetic {
  std::string text;
  size_t result = 1;

  void times(size_t factor) {
    text += (text.empty() ? "" : " x ") + std::to_string(factor);
    result = factor > 0 && result > std::numeric_limits<size_t>::max() / factor ? std::numeric_limits<size_t>::max()
                                                                                : result * factor;
  }
};

// For messages, whatever somebody sent.
std::string shown(const std::string& text) {
  constexpr size_t kMostBytes = 100;
  return "'" + (text.size() > kMostBytes ? text.substr(0, kMostBytes) + "..." : text) + "'";
}

// "there are a, b"; of many the first ones.
std::string there_are(const std::vector<std::string>& names) {
  constexpr size_t kMostNames = 20;
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) out += (i > 0 ? ", " : "") + names[i].substr(0, 100);
  if (names.size() > kMostNames) out += ", ... (" + std::to_string(names.size()) + " in all)";
  return (names.size() == 1 ? "there is " : "there are ") + out;
}

std::string count(size_t n) {
  return n == std::numeric_limits<size_t>::max() ? "more than can be counted" : std::to_string(n);
}

// One transaction must hold all of it. This is known before there is any member.
Result<void> check_members(const Settings& settings) {
  Arithmetic combinations;
  std::string names;
  for (const auto& attribute : settings.attributes) {
    combinations.times(attribute.most());
    names += (names.empty() ? "" : " x ") + attribute.name;
  }
  if (combinations.result <= kMostQueuesAtOnce) return {};
  const std::string n = count(combinations.result);
  const bool counted = combinations.result <= std::numeric_limits<size_t>::max() / 4;
  return invalid("a member may be in " + combinations.text + " = " + n + " queues (" + names +
                 "), so taking it out of them needs 2 x " + n +
                 " + 1 = " + (counted ? std::to_string(2 * combinations.result + 1) : "more") +
                 " actions (and 1 for the request); " + "a transaction has at most " +
                 std::to_string(limits::kMaxTransactionActions) + ", which is " + std::to_string(kMostQueuesAtOnce) +
                 " queues: use fewer values, or 'max_values'");
}

Result<void> check_all(const Settings& settings) {
  Arithmetic queues;
  size_t bits = 0;
  for (const auto& attribute : settings.attributes) {
    queues.times(attribute.values.size());
    bits += attribute.values.size();
  }
  if (queues.result > kMostQueues) {
    return invalid("the values of the attributes make " + queues.text + " = " + count(queues.result) +
                   " queues; there may be " + std::to_string(kMostQueues));
  }
  if (settings.keys == Keys::kBitmask && bits > kMostBits) {
    return invalid("the attributes have " + std::to_string(bits) + " values in all; a bitmask has " +
                   std::to_string(kMostBits) + " bits: use text keys");
  }
  return {};
}

}  // namespace

Result<Combinations> Combinations::make(const Settings& settings) {
  const std::string where = "queue '" + settings.name + "': ";
  for (const auto& checked : {check_members(settings), check_all(settings)}) {
    if (!checked) return invalid(where + checked.error().message);
  }
  Combinations out;
  out.attributes_ = settings.attributes;
  for (const auto& attribute : out.attributes_) {
    auto& indexes = out.indexes_.emplace_back();
    for (size_t value = 0; value < attribute.values.size(); ++value) indexes.emplace(attribute.values[value], value);
  }
  size_t all = 1;
  for (const auto& attribute : out.attributes_) all *= attribute.values.size();
  for (size_t queue = 0; queue < all; ++queue) {
    std::string text;
    uint64_t mask = 0;
    size_t rest = queue;
    size_t stride = all;
    size_t first_bit = 0;
    for (const auto& attribute : out.attributes_) {
      stride /= attribute.values.size();
      const size_t value = rest / stride;
      rest %= stride;
      text += (text.empty() ? "" : std::string(1, kSeparator)) + attribute.values[value];
      if (settings.keys == Keys::kBitmask) mask |= uint64_t{1} << (first_bit + value);
      first_bit += attribute.values.size();
    }
    if (settings.keys == Keys::kBitmask) text = std::to_string(mask);
    out.keys_.push_back(settings.layout.queue_prefix + text);
    out.waiting_keys_.push_back(settings.layout.waiting_prefix + text);
    if (out.keys_.back().size() > limits::kMaxSortKeyBytes ||
        out.waiting_keys_.back().size() > limits::kMaxPartitionKeyBytes) {
      return invalid(where + "the key '" + out.keys_.back().substr(0, 60) + "...' is longer than " +
                     std::to_string(limits::kMaxSortKeyBytes) + " bytes");
    }
    if (!out.by_key_.emplace(out.keys_.back(), queue).second) {
      return invalid(where + "two combinations have the key '" + out.keys_.back() + "': values with '" + kSeparator +
                     "' in them can be confused; change them, or use bitmask keys");
    }
  }
  for (const auto& waiting : out.waiting_keys_) {
    const Layout& l = settings.layout;
    const bool taken =
        out.by_key_.contains(waiting) || waiting == l.members || waiting == l.queues || waiting == l.requests;
    if (taken) return invalid(where + "the key '" + waiting + "' of requests that wait is also another one");
  }
  for (const auto& reserved : {settings.layout.members, settings.layout.queues, settings.layout.requests}) {
    if (out.by_key_.contains(reserved)) {
      return invalid(where + "the key '" + reserved + "' of a queue is also that of a partition of 'layout'");
    }
  }
  return out;
}

std::optional<size_t> Combinations::find(std::string_view key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Combinations::values_of(size_t queue) const {
  std::vector<std::string> out;
  size_t stride = size();
  for (const auto& attribute : attributes_) {
    stride /= attribute.values.size();
    out.push_back(attribute.values[queue / stride]);
    queue %= stride;
  }
  return out;
}

QueueSet Combinations::product(const std::vector<std::vector<size_t>>& values) const {
  QueueSet out{0};
  for (size_t i = 0; i < attributes_.size(); ++i) {
    QueueSet next;
    for (const size_t queue : out) {
      for (const size_t value : values[i]) next.push_back(queue * attributes_[i].values.size() + value);
    }
    out = std::move(next);
  }
  return out;
}

Result<std::vector<size_t>> Combinations::value_indexes(size_t index, const ItemRef& item,
                                                        const std::string& where) const {
  const FilterAttribute& attribute = attributes_[index];
  const std::string what = "attribute '" + attribute.name + "' of " + where;
  const auto stored = item.find(attribute.name);
  const Type wanted = attribute.set ? Type::kStringSet : Type::kString;
  const std::string must_be = attribute.set ? "it must be a list of texts (SS)" : "it must be a text (S)";
  if (!stored) return invalid(what + " is missing: " + must_be);
  if (stored->type() != wanted) {
    return invalid(what + " is of type " + std::string(type_name(stored->type())) + "; " + must_be);
  }
  const Value value = stored->decode();
  std::vector<std::string> names;
  if (attribute.set) {
    names = value.get_if<StringSet>()->members;
  } else {
    names.push_back(*value.get_if<std::string>());
  }
  if (names.size() > attribute.most()) {
    return invalid(what + " has " + std::to_string(names.size()) + " values; the definition allows " +
                   std::to_string(attribute.most()));
  }
  std::vector<size_t> out;
  for (const auto& name : names) {
    const auto found = indexes_[index].find(name);
    if (found == indexes_[index].end()) {
      return invalid(what + " has the value " + shown(name) + "; " + there_are(attribute.values));
    }
    out.push_back(found->second);
  }
  return out;
}

Result<QueueSet> Combinations::of_item(const ItemRef& item, const std::string& where) const {
  std::vector<std::vector<size_t>> values;
  for (size_t i = 0; i < attributes_.size(); ++i) {
    auto indexes = value_indexes(i, item, where);
    if (!indexes) return fail(indexes.error());
    values.push_back(std::move(*indexes));
  }
  return product(values);
}

Result<size_t> Combinations::attribute_named(const std::string& name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < attributes_.size(); ++i) {
    if (attributes_[i].name == name) return i;
    names.push_back(attributes_[i].name);
  }
  return invalid(shown(name) + " is no attribute of this queue; " + there_are(names));
}

Result<std::vector<size_t>> Combinations::wanted_indexes(size_t attribute,
                                                         const std::vector<std::string>& wanted) const {
  const std::string& name = attributes_[attribute].name;
  if (wanted.empty()) return invalid("'" + name + "' has no value: leave it out if any will do");
  if (wanted.size() > kMostQueuesAtOnce) {
    return invalid("'" + name + "' has " + std::to_string(wanted.size()) + " values; " +
                   std::to_string(kMostQueuesAtOnce) + " is the most");
  }
  std::vector<size_t> out;
  for (const auto& text : wanted) {
    const auto value = indexes_[attribute].find(text);
    if (value == indexes_[attribute].end()) {
      return invalid(shown(text) + " is no value of '" + name + "'; " + there_are(attributes_[attribute].values));
    }
    if (std::find(out.begin(), out.end(), value->second) == out.end()) out.push_back(value->second);
  }
  return out;
}

Result<QueueSet> Combinations::of_alternative(const MatchAlternative& alternative) const {
  if (!alternative.queue.empty()) {
    const auto found = find(alternative.queue);
    if (!found) return invalid("there is no queue " + shown(alternative.queue) + "; stats lists them");
    return QueueSet{*found};
  }
  std::vector<std::vector<size_t>> values(attributes_.size());
  for (const auto& [name, wanted] : alternative.values) {
    const auto attribute = attribute_named(name);
    if (!attribute) return fail(attribute.error());
    if (!values[*attribute].empty()) return invalid("'" + name + "' stands twice in one alternative");
    auto indexes = wanted_indexes(*attribute, wanted);
    if (!indexes) return fail(indexes.error());
    values[*attribute] = std::move(*indexes);
  }
  Arithmetic queues;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) {
      for (size_t value = 0; value < attributes_[i].values.size(); ++value) values[i].push_back(value);
    }
    queues.times(values[i].size());
  }
  if (queues.result > kMostQueuesAtOnce) {
    return invalid("an alternative accepts " + queues.text + " = " + count(queues.result) + " queues; " +
                   std::to_string(kMostQueuesAtOnce) + " is the most: name more values");
  }
  return product(values);
}

Result<Alternatives> Combinations::of_match(const Match& match) const {
  if (match.size() > kMostAlternatives) {
    return invalid("a request has at most " + std::to_string(kMostAlternatives) + " alternatives");
  }
  Alternatives out;
  for (const auto& alternative : match.empty() ? Match(1) : match) {
    auto queues = of_alternative(alternative);
    if (!queues) return fail(queues.error());
    add_alternative(out, std::move(*queues));
  }
  const size_t all = flatten(out).size();
  if (all > kMostQueuesAtOnce) {
    return invalid(
        "the request accepts " + std::to_string(all) + " queues, so waiting in them needs 2 x " + std::to_string(all) +
        " + 1 = " + std::to_string(2 * all + 1) + " actions (and 1 for the member); a transaction has at most " +
        std::to_string(limits::kMaxTransactionActions) + ", which is " + std::to_string(kMostQueuesAtOnce) + " queues");
  }
  return out;
}

void add_alternative(Alternatives& into, QueueSet queues) {
  std::erase_if(queues, [&](size_t queue) {
    return std::any_of(into.begin(), into.end(), [&](const QueueSet& before) {
      return std::find(before.begin(), before.end(), queue) != before.end();
    });
  });
  if (!queues.empty()) into.push_back(std::move(queues));
}

QueueSet flatten(const Alternatives& alternatives) {
  QueueSet out;
  for (const auto& queues : alternatives) {
    for (const size_t queue : queues) {
      if (std::find(out.begin(), out.end(), queue) == out.end()) out.push_back(queue);
    }
  }
  return out;
}

}  // namespace freshet::filtered
