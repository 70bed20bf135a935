// Updates on decoded items: all operands are read from the item as it was, then everything is written.

#include <algorithm>

#include "base/limits.h"
#include "tables/expression/paths.h"
#include "tables/value/nesting.h"

namespace freshet {
namespace expression {
namespace {

constexpr const char* kBadPath = "The document path provided in the update expression is invalid for update";
constexpr const char* kBadType = "An operand in the update expression has an incorrect data type";
constexpr const char* kMissing = "The provided expression refers to an attribute that does not exist in the item";
constexpr const char* kTooDeep =
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit";

// What an action does to its place: the new value, or its removal.
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

template <class Members>
Members without(const Members& a, const Members& b) {
  Members out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
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
      // Paths do not overlap, so the item will be larger than that: found out before anything large is copied.
      if (!(*write)->remove) written_ += billed_size((*write)->value());
      if (written_ > limits::kMaxItemBytes) return too_large_item(true);
      writes_.push_back(std::move(**write));
    }
    return write_all();
  }

 private:
  using Planned = Result<std::optional<Write>>;  // Nothing: the action changes nothing.

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
      // No conditional operator: it would copy both ways.
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
    if (!a || !b) return invalid(kBadType);
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
    if (held->type() != addend->type()) return invalid(kBadType);
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
    if (held->type() != gone->type()) return invalid(kBadType);
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
      if (!list) return invalid(kBadType);
      size += billed_size(**part);
      if (size > 2 * limits::kMaxItemBytes) return too_large_item(true);  // Both lists may have their own overhead.
      joined.elements.insert(joined.elements.end(), list->elements.begin(), list->elements.end());
    }
    storage = Value(std::move(joined));
    return &storage;
  }

  // Whether the map or list that the path's last element is looked up in is there and of the right kind.
  bool has_place(const Path& path) const {
    if (path.size() == 1) return true;
    const Value* parent = find_parent(path, item_, bindings_);
    if (!parent) return false;
    return is_index(path.back()) ? parent->is(Type::kList) : parent->is(Type::kMap);
  }

  // Of the list as it was: what the same update appends there is not meant.
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

  // Indexes mean places in the lists as they were: so first what keeps all places, then what appends, lowest index
  // first, and removals last, highest index first.
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
    for (Write* write : appends) parent_of(write->action->path)->get_if<List>()->elements.push_back(take(*write));
    std::sort(removals.begin(), removals.end(), earlier);
    for (auto write = removals.rbegin(); write != removals.rend(); ++write) remove((*write)->action->path);
    return {};
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

  void remove(const Path& path) {
    if (path.size() == 1) {
      item_.erase(element_name(path[0], bindings_));
      return;
    }
    Value* parent = parent_of(path);
    if (auto* map = parent->get_if<Map>()) {
      map->erase(element_name(path.back(), bindings_));
    } else if (auto* list = parent->get_if<List>(); list && path.back().number < list->elements.size()) {
      list->elements.erase(list->elements.begin() + path.back().number);
    }
  }

  static Value take(Write& write) {
    if (write.borrowed) return *write.borrowed;
    return std::move(write.owned);
  }

  const std::vector<Action>& actions_;
  const Bindings& bindings_;
  Item& item_;
  absl::InlinedVector<Write, 2> writes_;
  size_t written_ = 0;  // Bytes of all values, as the service counts them.
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

Item updated_attributes(const BoundUpdate& update, const Item& item) {
  if (!update) return {};
  return expression::extract(update.compiled->written, item, update.bindings);
}

bool touches(const BoundUpdate& update, std::string_view attribute) {
  if (!update) return false;
  return std::any_of(update.compiled->written.begin(), update.compiled->written.end(), [&](const auto* path) {
    return expression::element_name((*path)[0], update.bindings) == attribute;
  });
}

}  // namespace freshet
