#include "tables/partiql/key_reads.h"

#include <algorithm>

#include "tables/expression/text.h"
#include "tables/expression/walk.h"

namespace freshet::partiql {

using expression::Condition;
using expression::Function;
using expression::Operand;
using expression::Operator;

namespace {

constexpr const char* kTooMany = "Too many decomposed read operations for a given query.";

bool is_attribute(const Operand& operand, std::string_view attribute) {
  return operand.kind == Operand::Kind::kPath && operand.path.size() == 1 && operand.path[0].name == attribute;
}

bool is_value(const Operand& operand) {
  return operand.kind == Operand::Kind::kValue;
}

// `attribute IN [values]`.
bool is_choice(const Condition& condition, std::string_view attribute) {
  return condition.op == Operator::kIn && is_attribute(condition.operands[0], attribute) &&
         std::all_of(condition.operands.begin() + 1, condition.operands.end(), is_value);
}

// The test that a condition makes on one key attribute; none if a key condition cannot express it.
std::optional<SortTest> range_test(const Condition& condition, std::string_view attribute) {
  const auto& operands = condition.operands;
  switch (condition.op) {
    case Operator::kEqual:
    case Operator::kLess:
    case Operator::kLessOrEqual:
    case Operator::kGreater:
    case Operator::kGreaterOrEqual:
      if (is_attribute(operands[0], attribute) && is_value(operands[1]))
        return SortTest{condition.op, operands[1].slot};
      if (is_attribute(operands[1], attribute) && is_value(operands[0])) {
        return SortTest{mirrored(condition.op), operands[0].slot};
      }
      return std::nullopt;
    case Operator::kBetween:
      if (!is_attribute(operands[0], attribute) || !is_value(operands[1]) || !is_value(operands[2]))
        return std::nullopt;
      return SortTest{condition.op, operands[1].slot, operands[2].slot};
    case Operator::kFunction: {
      const Operand& call = operands[0];
      if (call.function != Function::kBeginsWith || !is_attribute(call.arguments[0], attribute) ||
          !is_value(call.arguments[1])) {
        return std::nullopt;
      }
      return SortTest{condition.op, call.arguments[1].slot};
    }
    default:
      return std::nullopt;
  }
}

// The least string above all that start with `prefix`; empty if there is none.
std::string successor(std::string prefix) {
  while (!prefix.empty() && static_cast<uint8_t>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

// One way to fulfil the WHERE, or a part of it.
struct Branch {
  std::optional<uint32_t> partition;
  std::optional<SortTest> sort;
  std::vector<const Condition*> filter;
};
using Branches = std::vector<Branch>;

class Decomposition {
 public:
  Decomposition(const Statement& statement, const KeySchema& keys) : statement_(statement), keys_(keys) {}

  Result<std::optional<std::vector<KeyRead>>> run() {
    using Out = std::optional<std::vector<KeyRead>>;
    if (!statement_.where || !is_keyed(*statement_.where)) return Out();
    Branches branches = by_partition(*statement_.where);
    if (too_many_) return invalid(kTooMany);
    std::stable_sort(branches.begin(), branches.end(),
                     [this](const Branch& a, const Branch& b) { return comes_before(a, b); });
    join_overlaps(branches);
    std::vector<KeyRead> reads;
    for (Branch& branch : branches) reads.push_back({*branch.partition, branch.sort, std::move(branch.filter)});
    return Out(std::move(reads));
  }

 private:
  const Value& value(uint32_t slot) const { return statement_.values[slot]; }

  // True if every way to satisfy the condition gives the partition key a value.
  bool is_keyed(const Condition& condition) const {
    const auto keyed = [this](const Condition& child) { return is_keyed(child); };
    const auto& children = condition.children;
    if (condition.op == Operator::kAnd) return std::any_of(children.begin(), children.end(), keyed);
    if (condition.op == Operator::kOr) return std::all_of(children.begin(), children.end(), keyed);
    return equality_on(condition, keys_.partition.name) || is_choice(condition, keys_.partition.name);
  }

  // True if some part of it is a possible key condition on the sort key.
  bool is_ranged(const Condition& condition) const {
    if (!keys_.sort) return false;
    if (condition.op == Operator::kAnd || condition.op == Operator::kOr) {
      return std::any_of(condition.children.begin(), condition.children.end(),
                         [this](const Condition& child) { return is_ranged(child); });
    }
    return range_test(condition, keys_.sort->name) || is_choice(condition, keys_.sort->name);
  }

  void add_all(Branches& branches, Branches more) {
    too_many_ = too_many_ || branches.size() + more.size() > kMaxKeyReads;
    if (too_many_) return;
    std::move(more.begin(), more.end(), std::back_inserter(branches));
  }

  // Only for a condition that is keyed.
  Branches by_partition(const Condition& condition) {
    Branches out;
    if (too_many_) return out;
    if (condition.op == Operator::kOr) {
      for (const Condition& child : condition.children) add_all(out, by_partition(child));
    } else if (condition.op == Operator::kAnd) {
      return by_conjunction(condition);
    } else if (const auto slot = equality_on(condition, keys_.partition.name)) {
      out.push_back({slot, {}, {}});
    } else {
      for (size_t i = 1; i < condition.operands.size(); ++i) {
        if (!is_repeated(condition, i)) add_all(out, {{condition.operands[i].slot, {}, {}}});
      }
    }
    return out;
  }

  static void flatten(const Condition& condition, std::vector<const Condition*>& out) {
    if (condition.op != Operator::kAnd) return out.push_back(&condition);
    for (const Condition& child : condition.children) flatten(child, out);
  }

  Branches by_conjunction(const Condition& condition) {
    std::vector<const Condition*> parts;
    flatten(condition, parts);
    const auto keyed = std::find_if(parts.begin(), parts.end(), [this](const auto* part) { return is_keyed(*part); });
    const Branches partitions = by_partition(**keyed);
    if (partitions.size() == 1 && !partitions[0].sort) drop_same(**keyed, *partitions[0].partition, parts);
    std::erase(parts, *keyed);
    const bool narrowed =
        std::any_of(partitions.begin(), partitions.end(), [](const Branch& branch) { return branch.sort.has_value(); });
    Branches ranges = narrowed ? Branches{{{}, {}, parts}} : by_sort(parts);
    too_many_ = too_many_ || partitions.size() * ranges.size() > kMaxKeyReads;
    Branches out;
    for (size_t i = 0; i < partitions.size() && !too_many_; ++i) {
      for (const Branch& range : ranges) {
        Branch& branch = out.emplace_back(partitions[i]);
        if (!branch.sort) branch.sort = range.sort;
        branch.filter.insert(branch.filter.end(), range.filter.begin(), range.filter.end());
      }
    }
    return out;
  }

  // The same value for the partition key, said again.
  void drop_same(const Condition& kept, uint32_t slot, std::vector<const Condition*>& parts) const {
    std::erase_if(parts, [&](const Condition* part) {
      const auto other = part != &kept ? equality_on(*part, keys_.partition.name) : std::nullopt;
      return other && value(*other) == value(slot);
    });
  }

  // The ranges of the sort key that all parts together allow; the rest of the parts is filter.
  Branches by_sort(const std::vector<const Condition*>& parts) {
    const auto equal = std::find_if(parts.begin(), parts.end(), [this](const Condition* part) {
      return keys_.sort && equality_on(*part, keys_.sort->name).has_value();
    });
    const auto several = std::find_if(parts.begin(), parts.end(), [this](const Condition* part) {
      return is_ranged(*part) && !range_test(*part, keys_.sort->name);
    });
    const auto chosen = equal != parts.end() ? equal : several;
    if (chosen == parts.end()) return {by_range(parts)};
    std::vector<const Condition*> rest;
    for (const Condition* part : parts) {
      const auto other = equality_on(*part, keys_.sort->name);
      const bool same =
          equal != parts.end() && other && value(*other) == value(*equality_on(**equal, keys_.sort->name));
      if (part != *chosen && !same) rest.push_back(part);
    }
    Branches out = alternatives(**chosen);
    for (Branch& branch : out) branch.filter.insert(branch.filter.end(), rest.begin(), rest.end());
    return out;
  }

  // One branch for each alternative of what is ranged.
  Branches alternatives(const Condition& condition) {
    Branches out;
    if (condition.op == Operator::kOr) {
      for (const Condition& child : condition.children) {
        std::vector<const Condition*> parts;
        flatten(child, parts);
        add_all(out, by_sort(parts));
      }
      return out;
    }
    if (const auto test = range_test(condition, keys_.sort->name)) return {{{}, test, {}}};
    for (size_t i = 1; i < condition.operands.size(); ++i) {
      if (is_repeated(condition, i)) continue;
      add_all(out, {{{}, SortTest{Operator::kEqual, condition.operands[i].slot}, {}}});
    }
    return out;
  }

  // True if a candidate of an IN came before: `IN [5, 5.0]`. If there are too many, nobody needs to know.
  bool is_repeated(const Condition& choice, size_t candidate) const {
    const auto& operands = choice.operands;
    const auto same = [&](const Operand& other) { return value(other.slot) == value(operands[candidate].slot); };
    return !too_many_ && std::any_of(operands.begin() + 1, operands.begin() + static_cast<ptrdiff_t>(candidate), same);
  }

  // At most one range: a lower and an upper bound become BETWEEN, with the bounds themselves left to the filter.
  Branch by_range(const std::vector<const Condition*>& parts) const {
    Branch out;
    const Condition* first = nullptr;
    for (const Condition* part : parts) {
      const auto test = keys_.sort ? range_test(*part, keys_.sort->name) : std::nullopt;
      if (test && !out.sort) {
        out.sort = test;
        first = part;
      } else if (test && narrow(*out.sort, *test)) {
        for (const Condition* bound : {first, part}) {
          const bool exclusive = bound->op == Operator::kLess || bound->op == Operator::kGreater;
          if (exclusive) out.filter.push_back(bound);
        }
      } else {
        out.filter.push_back(part);
      }
    }
    return out;
  }

  bool narrow(SortTest& test, const SortTest& other) const {
    const auto is_lower = [](Operator op) { return op == Operator::kGreater || op == Operator::kGreaterOrEqual; };
    const auto is_upper = [](Operator op) { return op == Operator::kLess || op == Operator::kLessOrEqual; };
    const bool forward = is_lower(test.op) && is_upper(other.op);
    if (!forward && !(is_upper(test.op) && is_lower(other.op))) return false;
    const uint32_t lower = forward ? test.first : other.first;
    const uint32_t upper = forward ? other.first : test.first;
    if (!(compare(value(lower), value(upper)) <= 0)) return false;
    test = {Operator::kBetween, lower, upper};
    return true;
  }

  // --- Order and overlaps ---

  // Values of different types, which no key has both of, by type.
  std::weak_ordering order(const Value& a, const Value& b) const {
    if (a.type() != b.type()) return a.type() <=> b.type();
    const auto known = compare(a, b);
    return known < 0   ? std::weak_ordering::less
           : known > 0 ? std::weak_ordering::greater
                       : std::weak_ordering::equivalent;
  }

  KeyRange range_of(const Branch& branch) const {
    KeyRange range;
    if (!branch.sort) return range;
    const Value& first = value(branch.sort->first);
    switch (branch.sort->op) {
      case Operator::kEqual:
        range.lower = range.upper = KeyBound{first, true};
        break;
      case Operator::kLess:
      case Operator::kLessOrEqual:
        range.upper = KeyBound{first, branch.sort->op == Operator::kLessOrEqual};
        break;
      case Operator::kGreater:
      case Operator::kGreaterOrEqual:
        range.lower = KeyBound{first, branch.sort->op == Operator::kGreaterOrEqual};
        break;
      case Operator::kBetween:
        range.lower = KeyBound{first, true};
        range.upper = KeyBound{value(branch.sort->second), true};
        break;
      default:
        set_prefix(first, range);
    }
    return range;
  }

  static void set_prefix(const Value& prefix, KeyRange& range) {
    range.lower = KeyBound{prefix, true};
    const auto* binary = prefix.get_if<Binary>();
    const auto* text = prefix.get_if<std::string>();
    if (!binary && !text) return;
    std::string next = successor(binary ? binary->bytes : *text);
    if (next.empty()) return;
    range.upper = KeyBound{binary ? Value(Binary{std::move(next)}) : Value(std::move(next)), false};
  }

  bool comes_before(const Branch& a, const Branch& b) const {
    const auto partitions = order(value(*a.partition), value(*b.partition));
    if (partitions != 0) return partitions < 0;
    const KeyRange left = range_of(a);
    const KeyRange right = range_of(b);
    if (!left.lower || !right.lower) return !left.lower && right.lower;
    const auto lower = order(left.lower->value, right.lower->value);
    return lower < 0 || (lower == 0 && left.lower->inclusive && !right.lower->inclusive);
  }

  bool overlap(const Branch& a, const Branch& b) const {
    const KeyRange left = range_of(a);
    const KeyRange right = range_of(b);
    const auto ends_before = [this](const std::optional<KeyBound>& upper, const std::optional<KeyBound>& lower) {
      if (!upper || !lower) return false;
      const auto sides = order(upper->value, lower->value);
      return sides < 0 || (sides == 0 && !(upper->inclusive && lower->inclusive));
    };
    return !ends_before(left.upper, right.lower) && !ends_before(right.upper, left.lower);
  }

  bool has_key_types(const Branch& branch) const {
    const auto fits = [this](uint32_t slot) { return value(slot).is(keys_.sort->type); };
    if (!branch.sort) return true;
    return fits(branch.sort->first) && (branch.sort->op != Operator::kBetween || fits(branch.sort->second));
  }

  // Overlapping branches of one partition key would return items twice: they become one read, with the whole WHERE as
  // its filter. Branches with values of wrong types stay, and are refused later.
  void join_overlaps(Branches& branches) const {
    Branches out;
    for (size_t i = 0; i < branches.size();) {
      size_t end = i + 1;
      while (end < branches.size() && value(*branches[end].partition) == value(*branches[i].partition)) ++end;
      bool overlapping = false;
      for (size_t a = i; a < end; ++a) {
        for (size_t b = a + 1; b < end; ++b) overlapping = overlapping || overlap(branches[a], branches[b]);
      }
      const auto first = branches.begin() + static_cast<ptrdiff_t>(i);
      const auto last = branches.begin() + static_cast<ptrdiff_t>(end);
      const bool sound = std::all_of(first, last, [this](const Branch& branch) { return has_key_types(branch); });
      if (overlapping && sound) {
        out.push_back({branches[i].partition, {}, {&*statement_.where}});
      } else {
        std::move(first, last, std::back_inserter(out));
      }
      i = end;
    }
    branches = std::move(out);
  }

  const Statement& statement_;
  const KeySchema& keys_;
  bool too_many_ = false;
};

tl::unexpected<Error> wrong_type(const KeyAttribute& key) {
  return invalid("Key attribute's data type should match its data type in table's schema: Key " + key.name);
}

}  // namespace

std::optional<uint32_t> equality_on(const Condition& condition, std::string_view attribute) {
  if (condition.op != Operator::kEqual) return std::nullopt;
  const auto test = range_test(condition, attribute);
  return test ? std::optional(test->first) : std::nullopt;
}

Result<std::optional<std::vector<KeyRead>>> key_reads(const Statement& statement, const KeySchema& keys) {
  return Decomposition(statement, keys).run();
}

Result<void> check_key_types(const std::vector<KeyRead>& reads, const Statement& statement, const KeySchema& keys) {
  const auto fits = [&](uint32_t slot, const KeyAttribute& key) { return statement.values[slot].is(key.type); };
  for (const KeyRead& read : reads) {
    if (!fits(read.partition, keys.partition)) return wrong_type(keys.partition);
    if (!read.sort) continue;
    const bool second = read.sort->op != Operator::kBetween || fits(read.sort->second, *keys.sort);
    if (!fits(read.sort->first, *keys.sort) || !second) return wrong_type(*keys.sort);
  }
  return {};
}

}  // namespace freshet::partiql
