// Updates on decoded items: all operands are read from the item as it was, then everything is written.

#include <algorithm>
#include <span>

#include "base/limits.h"
#include "tables/expression/paths.h"
#include "tables/value/nesting.h"

namespace freshet {
namespace expression {
namespace {

constexpr const char* kBadPath = "The document path provided in the update expression is invalid for update";
constexpr const char* kMissing = "The provided expression refers to an attribute that does not exist in the item";
constexpr const char* kTooDeep =
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit";

// The effect of an action on its place: the new value, or its removal.
struct Write {
  const Action* action;
  const Value* borrowed = nullptr;  // From the placeholders.
  Value owned;
  bool remove = false;
  const Value& value() const { return borrowed ? *borrowed : owned; }
};

size_t depth_of(const Value& value) {
  size_t deepest = 0;
  if (const auto* map = value.get_if<Map>()) {
    for (const auto& [name, member] : *map) deepest = std::max(deepest, 1 + depth_of(member));
    return std::max<size_t>(deepest, 1);
  }
  if (const auto* list = value.get_if<List>()) {
    for (const auto& member : list->elements) deepest = std::max(deepest, 1 + depth_of(member));
    return std::max<size_t>(deepest, 1);
  }
  return 0;
}

template <class Members>
Members united(const Members& a, const Members& b) {
  Members out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

// The time does not grow with `b`, which may be large and the same in many actions of one 16 MB request.
template <class Members>
Members without(const Members& a, const Members& b) {
  Members out;
  std::copy_if(a.begin(), a.end(), std::back_inserter(out),
               [&](const auto& member) { return !std::binary_search(b.begin(), b.end(), member); });
  return out;
}

class Update {
 public:
  Update(const BoundUpdate& update, Item& item)
      : actions_(update.compiled->actions), bindings_(update.bindings), item_(item) {}

  Result<void> run() {
    for (const auto& action : actions_) {
      auto write = plan(action);
      if (!write) return fail(write.error());
      if (!*write) continue;
      if (auto fits = check_depth(action.path, **write); !fits) return fits;
      // Paths do not overlap, so the item will be larger than their sum: this finds out before anything large is
      // copied.
      if (!(*write)->remove) written_ += billed_size((*write)->value());
      if (written_ > limits::kMaxItemBytes) return too_large_item(true);
      writes_.push_back(std::move(**write));
    }
    return write_all();
  }

  // Call it after run(): the present positions of the actions' paths, except those of removed values.
  std::vector<Path> places() const {
    std::vector<Path> out;
    for (const auto& action : actions_) {
      const bool gone = std::find(removed_.begin(), removed_.end(), &action) != removed_.end();
      if (gone || action.kind == ActionKind::kRemove) continue;
      Path& path = out.emplace_back(action.path);
      for (const auto& [which, index] : appended_) {
        if (which == &action) path.back().number = index;
      }
      move_up(path);
    }
    return out;
  }

 private:
  using Planned = Result<std::optional<Write>>;  // Empty: the action changes nothing.

  Planned plan(const Action& action) {
    switch (action.kind) {
      case ActionKind::kSet:
        return plan_set(action);
      case ActionKind::kRemove:
        if (!has_place(action.path)) return invalid(kBadPath);
        if (is_past_the_end(action.path)) return std::optional<Write>();
        return Write{&action, nullptr, {}, true};
      case ActionKind::kAdd:
        return plan_add(action);
      default:
        return plan_delete(action);
    }
  }

  Planned plan_set(const Action& action) {
    Write write{&action, nullptr, {}, false};
    if (action.arithmetic == 0 && action.left.kind == Operand::Kind::kValue) {
      write.borrowed = bindings_.values[action.left.slot];
      return write;
    }
    Value left_storage;
    auto left = operand(action.left, left_storage);
    if (!left) return fail(left.error());
    if (action.arithmetic == 0) {
      // A conditional operator would copy in both cases.
      if (*left == &left_storage) {
        write.owned = std::move(left_storage);
      } else {
        write.owned = **left;
      }
      return write;
    }
    Value right_storage;
    auto right = operand(action.right, right_storage);
    if (!right) return fail(right.error());
    const auto* a = (*left)->get_if<Decimal>();
    const auto* b = (*right)->get_if<Decimal>();
    if (!a || !b) return invalid(std::string(kOperandType));
    auto sum = action.arithmetic == '+' ? Decimal::add(*a, *b) : Decimal::subtract(*a, *b);
    if (!sum) return fail(sum.error());
    write.owned = Value(*sum);
    return write;
  }

  Planned plan_add(const Action& action) {
    const Value* addend = bindings_.values[action.left.slot];
    const Value* held = find(action.path, item_, bindings_);
    Write write{&action, nullptr, {}, false};
    if (!held) {
      write.borrowed = addend;
      return write;
    }
    if (held->type() != addend->type()) return invalid(std::string(kOperandType));
    if (const auto* number = addend->get_if<Decimal>()) {
      auto sum = Decimal::add(*held->get_if<Decimal>(), *number);
      if (!sum) return fail(sum.error());
      write.owned = Value(*sum);
    } else if (const auto* strings = addend->get_if<StringSet>()) {
      write.owned = Value(StringSet{united(held->get_if<StringSet>()->members, strings->members)});
    } else if (const auto* numbers = addend->get_if<NumberSet>()) {
      write.owned = Value(NumberSet{united(held->get_if<NumberSet>()->members, numbers->members)});
    } else if (const auto* binaries = addend->get_if<BinarySet>()) {
      write.owned = Value(BinarySet{united(held->get_if<BinarySet>()->members, binaries->members)});
    }
    return write;
  }

  Planned plan_delete(const Action& action) {
    if (!has_place(action.path)) return invalid(kBadPath);
    const Value* gone = bindings_.values[action.left.slot];
    const Value* held = find(action.path, item_, bindings_);
    if (!held) return std::optional<Write>();
    if (held->type() != gone->type()) return invalid(std::string(kOperandType));
    Write write{&action, nullptr, {}, false};
    if (const auto* strings = gone->get_if<StringSet>()) {
      StringSet left{without(held->get_if<StringSet>()->members, strings->members)};
      write.remove = left.members.empty();
      write.owned = Value(std::move(left));
    } else if (const auto* numbers = gone->get_if<NumberSet>()) {
      NumberSet left{without(held->get_if<NumberSet>()->members, numbers->members)};
      write.remove = left.members.empty();
      write.owned = Value(std::move(left));
    } else if (const auto* binaries = gone->get_if<BinarySet>()) {
      BinarySet left{without(held->get_if<BinarySet>()->members, binaries->members)};
      write.remove = left.members.empty();
      write.owned = Value(std::move(left));
    }
    return write;
  }

  // `storage` holds computed ones; others belong to the item or the placeholders.
  Result<const Value*> operand(const Operand& operand, Value& storage) {
    if (operand.kind == Operand::Kind::kValue) return bindings_.values[operand.slot];
    if (operand.kind == Operand::Kind::kPath) {
      const Value* held = find(operand.path, item_, bindings_);
      if (!held) return invalid(kMissing);
      return held;
    }
    if (operand.function == Function::kIfNotExists) {
      if (const Value* held = find(operand.arguments[0].path, item_, bindings_)) return held;
      return this->operand(operand.arguments[1], storage);
    }
    return list_append(operand, storage);
  }

  Result<const Value*> list_append(const Operand& call, Value& storage) {
    List joined;
    size_t size = 0;
    for (const auto& argument : call.arguments) {
      Value argument_storage;
      auto part = operand(argument, argument_storage);
      if (!part) return fail(part.error());
      const auto* list = (*part)->get_if<List>();
      if (!list) return invalid(std::string(kOperandType));
      size += billed_size(**part);
      if (size > 2 * limits::kMaxItemBytes) return too_large_item(true);  // Both lists may have their own overhead.
      joined.elements.insert(joined.elements.end(), list->elements.begin(), list->elements.end());
    }
    storage = Value(std::move(joined));
    return &storage;
  }

  // True if the map or list of the path's last element exists and has the right type.
  bool has_place(const Path& path) const {
    if (path.size() == 1) return true;
    const Value* parent = find_parent(path, item_, bindings_);
    if (!parent) return false;
    return is_index(path.back()) ? parent->is(Type::kList) : parent->is(Type::kMap);
  }

  // Uses the list as it was: elements that the same update appends do not count.
  bool is_past_the_end(const Path& path) const {
    if (path.size() == 1 || !is_index(path.back())) return false;
    const auto* list = find_parent(path, item_, bindings_)->get_if<List>();
    return list && path.back().number >= list->elements.size();
  }

  static Result<void> check_depth(const Path& path, const Write& write) {
    if (path.size() == 1 || write.remove) return {};
    if (path.size() - 1 + depth_of(write.value()) > kMaxContainers) return invalid(kTooDeep);
    return {};
  }

  // The value that holds the last element of a path, in the item that is being written.
  Value* parent_of(const Path& path) { return const_cast<Value*>(find_parent(path, item_, bindings_)); }

  // Indexes mean positions in the lists as they were: so first the writes that keep all positions, then appends, lowest
  // index first, and removals last, highest index first.
  Result<void> write_all() {
    absl::InlinedVector<Write*, 4> appends;
    absl::InlinedVector<Write*, 4> removals;
    for (auto& write : writes_) {
      const Path& path = write.action->path;
      if (write.remove) {
        removals.push_back(&write);
      } else if (path.size() == 1) {
        item_.set(element_name(path[0], bindings_), take(write));
      } else if (!write_nested(write)) {
        appends.push_back(&write);
      }
      if (bad_path_) return invalid(kBadPath);
    }
    const auto earlier = [&](const Write* a, const Write* b) {
      return compare_paths(a->action->path, b->action->path, bindings_) < 0;
    };
    std::sort(appends.begin(), appends.end(), earlier);
    for (Write* write : appends) {
      auto& elements = parent_of(write->action->path)->get_if<List>()->elements;
      appended_.emplace_back(write->action, static_cast<uint32_t>(elements.size()));
      elements.push_back(take(*write));
    }
    // Removes the deepest first, so that the other paths still lead there; all of one list or map together.
    std::sort(removals.begin(), removals.end(), [&](const Write* a, const Write* b) {
      const size_t depth = a->action->path.size();
      return depth != b->action->path.size() ? depth > b->action->path.size() : earlier(a, b);
    });
    for (auto first = removals.begin(); first != removals.end();) {
      auto last = std::find_if(first, removals.end(), [&](const Write* write) {
        return !are_siblings((*first)->action->path, write->action->path);
      });
      remove(std::span<Write*>(&*first, static_cast<size_t>(last - first)));
      first = last;
    }
    return {};
  }

  bool are_siblings(const Path& a, const Path& b) const {
    if (a.size() != b.size() || is_index(a.back()) != is_index(b.back())) return false;
    return std::equal(a.begin(), a.end() - 1, b.begin(), [&](const PathElement& x, const PathElement& y) {
      return compare_elements(x, y, bindings_) == std::strong_ordering::equal;
    });
  }

  // Skips the elements that were removed before those of the path.
  void move_up(Path& path) const {
    const Path old = path;
    for (const Action* action : removed_) {
      const Path& gone = action->path;
      const size_t last = gone.size() - 1;
      if (gone.size() > old.size() || !is_index(gone[last]) || !is_index(old[last])) continue;
      const bool same_list = std::equal(gone.begin(), gone.end() - 1, old.begin(), [&](const auto& x, const auto& y) {
        return compare_elements(x, y, bindings_) == std::strong_ordering::equal;
      });
      if (same_list && gone[last].number < old[last].number) --path[last].number;
    }
  }

  // False when the value has to be appended to its list.
  bool write_nested(Write& write) {
    const Path& path = write.action->path;
    Value* parent = parent_of(path);
    auto* list = parent ? parent->get_if<List>() : nullptr;
    auto* map = parent ? parent->get_if<Map>() : nullptr;
    if (is_index(path.back()) ? !list : !map) {
      bad_path_ = true;
      return true;
    }
    if (map) {
      map->set(element_name(path.back(), bindings_), take(write));
      return true;
    }
    if (path.back().number >= list->elements.size()) return false;
    list->elements[path.back().number] = take(write);
    return true;
  }

  // Handles siblings in order, in one walk over their container, which may be large.
  void remove(std::span<Write* const> siblings) {
    for (const Write* write : siblings) removed_.push_back(write->action);
    const Path& first = siblings[0]->action->path;
    if (!is_index(first.back())) {
      remove(siblings, first.size() == 1 ? item_ : *parent_of(first)->get_if<Map>());
    } else {
      remove(siblings, *parent_of(first)->get_if<List>());
    }
  }

  void remove(std::span<Write* const> siblings, Map& map) const {
    if (siblings.size() == 1) {
      map.erase(last_name(*siblings[0]));
      return;
    }
    Map left;
    left.reserve(map.size());
    size_t next = 0;
    for (auto& [name, value] : map.entries()) {
      while (next < siblings.size() && last_name(*siblings[next]) < name) ++next;
      const bool gone = next < siblings.size() && last_name(*siblings[next]) == name;
      if (!gone) left.append_sorted(std::move(name), std::move(value));
    }
    map = std::move(left);
  }

  static void remove(std::span<Write* const> siblings, List& list) {
    auto& elements = list.elements;
    size_t kept = 0;
    size_t next = 0;
    for (size_t i = 0; i < elements.size(); ++i) {
      if (next < siblings.size() && siblings[next]->action->path.back().number == i) {
        ++next;
      } else if (kept++ != i) {
        elements[kept - 1] = std::move(elements[i]);
      }
    }
    elements.resize(kept);
  }
  std::string_view last_name(const Write& write) const { return element_name(write.action->path.back(), bindings_); }

  static Value take(Write& write) {
    if (write.borrowed) return *write.borrowed;
    return std::move(write.owned);
  }

  const std::vector<Action>& actions_;
  const Bindings& bindings_;
  Item& item_;
  absl::InlinedVector<Write, 2> writes_;
  size_t written_ = 0;  // Bytes of all values, as the service counts them.
  // The elements that run() appended, with their indexes before any removal; and those that it removed.
  absl::InlinedVector<std::pair<const Action*, uint32_t>, 2> appended_;
  absl::InlinedVector<const Action*, 2> removed_;
  bool bad_path_ = false;
};

}  // namespace
}  // namespace expression

Result<Item> apply(const BoundUpdate& update, Item item) {
  if (!update) return item;
  if (auto done = expression::Update(update, item).run(); !done) return fail(done.error());
  if (billed_size(item) > limits::kMaxItemBytes) return too_large_item(true);
  return item;
}

std::optional<ItemEdits> plain_edits(const BoundUpdate& update) {
  ItemEdits edits;
  if (!update) return edits;
  for (const auto& action : update.compiled->actions) {
    const bool sets = action.kind == expression::ActionKind::kSet && action.arithmetic == 0 &&
                      action.left.kind == expression::Operand::Kind::kValue;
    if (action.path.size() != 1 || !(sets || action.kind == expression::ActionKind::kRemove)) return std::nullopt;
    edits.push_back({expression::element_name(action.path[0], update.bindings),
                     sets ? update.bindings.values[action.left.slot] : nullptr});
  }
  std::sort(edits.begin(), edits.end(), [](const ItemEdit& a, const ItemEdit& b) { return a.name < b.name; });
  return edits;
}

bool creates(const BoundUpdate& update) {
  if (!update) return true;
  return std::any_of(update.compiled->actions.begin(), update.compiled->actions.end(), [](const auto& action) {
    return action.kind == expression::ActionKind::kSet || action.kind == expression::ActionKind::kAdd;
  });
}

namespace {
// The attributes that the update uses, from an item; empty for a null item.
Item looked_at(const BoundUpdate& update, const ItemRef& item) {
  Item some;
  if (!item) return some;
  for (const auto name : top_level_attributes(update)) {
    if (const auto value = item.find(name)) some.append_sorted(std::string(name), value->decode());
  }
  return some;
}
}  // namespace

Item updated_attributes(const BoundUpdate& update, const Item& before) {
  if (!update) return {};
  return expression::extract(update.compiled->written, before, update.bindings);
}

Item updated_attributes(const BoundUpdate& update, const ItemRef& before) {
  return updated_attributes(update, looked_at(update, before));
}

Item updated_attributes(const BoundUpdate& update, const Item& before, const Item& after) {
  if (!update) return {};
  const auto has_index = [](const expression::Path* path) {
    return std::any_of(path->begin(), path->end(), expression::is_index);
  };
  const auto& written = update.compiled->written;
  if (std::none_of(written.begin(), written.end(), has_index)) return updated_attributes(update, after);
  Item again = before;
  expression::Update done(update, again);
  if (!done.run()) return {};  // The item cannot be a result of apply().
  const auto places = done.places();
  std::vector<const expression::Path*> paths;
  for (const auto& place : places) paths.push_back(&place);
  return expression::extract(paths, after, update.bindings);
}

Item updated_attributes(const BoundUpdate& update, const ItemRef& before, const ItemRef& after) {
  return updated_attributes(update, looked_at(update, before), looked_at(update, after));
}

}  // namespace freshet
