#include "tables/engine/plan.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"
#include "tables/engine/cost.h"
#include "tables/engine/keys.h"
#include "tables/engine/request_checks.h"

namespace freshet {
namespace {

Result<void> condition_failed(const ItemRef& item, bool with_item) {
  std::shared_ptr<ConditionFailed> detail;
  if (with_item && item) {
    detail = std::make_shared<ConditionFailed>();
    detail->item = item;
  }
  return fail(ErrorCode::kConditionalCheckFailed, "The conditional request failed", std::move(detail));
}

Result<void> check_returns(ReturnValues wanted) {
  if (wanted == ReturnValues::kNone || wanted == ReturnValues::kAllOld) return {};
  return invalid("ReturnValues can only be ALL_OLD or NONE");
}

ItemRef item_at(const OrderedItems::Position& place) {
  const ItemRef* item = place.item();
  return item ? *item : ItemRef{};
}

// The checks of a request that need its table only, in the order in which the service reports faults. The values of a
// new item are normalised.
Result<void> check_request(PutItemInput& input, const TableDefinition& table) {
  if (auto ok = check_returns(input.return_values); !ok) return ok;
  if (auto ok = check_item_keys(input.item, table.keys); !ok) return ok;
  if (auto ok = check_index_keys(input.item, table); !ok) return ok;
  return check_put_item(input.item);
}

Result<void> check_request(const DeleteItemInput& input, const TableDefinition& table) {
  if (auto ok = check_returns(input.return_values); !ok) return ok;
  return check_key(input.key, table.keys);
}

Result<void> check_request(const UpdateItemInput& input, const TableDefinition& table) {
  return check_key(input.key, table.keys);
}

Result<void> check_request(const ConditionCheckInput& input, const TableDefinition& table) {
  return check_key(input.key, table.keys);
}

// Where the item of a request is; `item` is empty if there is none.
struct Target {
  Table& table;
  OrderedItems::Position place;
  ItemRef item;

  const TableDefinition& definition() const { return table.definition(); }
};

template <class Input>
Result<Target> find_target(const Catalog& catalog, Input& input) {
  auto table = catalog.find(input.table);
  if (!table) return fail(table.error());
  const TableDefinition& definition = (*table)->definition();
  if (auto ok = check_request(input, definition); !ok) return fail(ok.error());
  const ItemKey key(input_key(input), definition.keys);
  const OrderedItems::Position place = (*table)->place(key.view());
  return Target{**table, place, item_at(place)};
}

// Binds the condition, then checks that all placeholders are used and that keys have values of their types, then that
// the condition holds.
template <class Input>
Result<void> check_condition(Expressions& expressions, Effort& effort, const Input& input, const Target& target) {
  auto condition = expressions.condition(input.condition);
  if (!condition) return fail(condition.error());
  if (auto ok = expressions.finish(); !ok) return ok;
  if (auto ok = check_keys(*condition, target.definition()); !ok) return ok;
  if (!*condition) return {};
  const bool holds = Evaluator(*condition).holds(target.item, effort);
  if (effort.is_spent()) return too_much_effort(ExpressionKind::kCondition);
  return holds ? Result<void>() : condition_failed(target.item, input.return_item_on_failure);
}

// PutItemInput::only_new and ::rising.
bool guards_hold(const PutItemInput& input, const ItemRef& old, const ItemRef& after) {
  if (!old) return true;
  if (input.only_new) return false;
  if (input.rising.empty()) return true;
  const auto there = old.find(input.rising);
  if (!there) return true;
  const auto wanted = after.find(input.rising);
  FRESHET_CHECK(wanted && wanted->type() <= Type::kBinary,
                "a put has the attribute that must rise, of an ordered type");
  return there->type() == wanted->type() && there->key_bytes() <= wanted->key_bytes();
}

template <class Input>
Plan make_plan(Target target, ItemRef after, const Input& input) {
  Plan plan;
  ItemRef& before = target.item;
  if (input.measure) plan.output.cost = cost_of_write(target.table, input_key(input), before, after);
  if (!before && !after) return plan;
  if (before && after && before.same_bytes(after)) {
    plan.unchanged = std::move(before);
    return plan;
  }
  plan.change = Change{&target.table, std::move(before), std::move(after), input.cause, target.place};
  return plan;
}

Result<ItemRef> create_item(const BoundUpdate& update, const TableDefinition& definition, Item key) {
  auto item = apply(update, std::move(key));
  if (!item) return fail(item.error());
  if (auto ok = normalize_item(*item); !ok) return fail(ok.error());
  if (auto ok = check_item_size(*item, true); !ok) return fail(ok.error());
  if (auto ok = check_updated_index_keys(*item, definition); !ok) return fail(ok.error());
  return ItemRef::encode(*item);
}

Result<ItemRef> edit_item(const ItemEdits& edits, const TableDefinition& definition, const ItemRef& old) {
  uint64_t written = 0;  // An item that would be too large is not even copied.
  for (const auto& edit : edits) written += edit.value ? billed_size(*edit.value) : 0;
  if (written > limits::kMaxItemBytes) return too_large_item(true);
  ItemRef after = old.with(edits);
  if (may_exceed(after.encoded().size(), limits::kMaxItemBytes) && billed_bytes(after) > limits::kMaxItemBytes) {
    return too_large_item(true);
  }
  if (auto ok = check_updated_index_keys(edits, after, definition); !ok) return fail(ok.error());
  return after;
}

// Decodes only the attributes that the update uses, which for most updates are none; the rest keeps its bytes.
Result<ItemRef> update_item(const BoundUpdate& update, const TableDefinition& definition, Effort& effort,
                            const ItemRef& old) {
  constexpr uint64_t kDecoding = 16;  // The cost of decoding and encoding, in units for each byte.
  if (const auto edits = plain_edits(update)) return edit_item(*edits, definition, old);
  const auto names = top_level_attributes(update);
  Item some;
  for (const auto name : names) {
    const auto value = old.find(name);
    if (!value) continue;
    effort.note(kDecoding * value->encoded().size());
    some.append_sorted(std::string(name), value->decode());
  }
  auto item = apply(update, std::move(some));
  if (!item) return fail(item.error());
  if (auto ok = normalize_item(*item); !ok) return fail(ok.error());
  ItemEdits edits;
  for (const auto name : names) edits.push_back({name, std::as_const(*item).find(name)});
  return edit_item(edits, definition, old);
}

// The attributes that UpdateItem gives back.
ItemRef updated(ReturnValues wanted, const BoundUpdate& update, const ItemRef& before, const ItemRef& after) {
  const auto some = [](const Item& item) { return item.empty() ? ItemRef{} : ItemRef::encode(item); };
  switch (wanted) {
    case ReturnValues::kNone:
      return {};
    case ReturnValues::kAllOld:
      return before;
    case ReturnValues::kAllNew:
      return after;
    case ReturnValues::kUpdatedOld:
      return before ? some(updated_attributes(update, before)) : ItemRef{};
    case ReturnValues::kUpdatedNew:
      return some(updated_attributes(update, before, after));
  }
  return {};
}

bool same_attribute(const ItemRef& a, const ItemRef& b, std::string_view name) {
  const auto in_a = a.find(name);
  const auto in_b = b.find(name);
  return in_a ? in_b && in_a->encoded() == in_b->encoded() : !in_b;
}

// True if the item is still as the caller saw it.
bool is_unchanged(const ItemRef& old, const EditItemInput& input) {
  if (!old) return false;
  if (old.identity() == input.seen.identity()) return true;
  const auto same = [&](std::string_view name) { return name.empty() || same_attribute(old, input.seen, name); };
  return std::all_of(input.unchanged.begin(), input.unchanged.end(), same);
}

// The edits, sorted by name.
Result<ItemEdits> edits_of(EditItemInput& input, const KeySchema& keys) {
  ItemEdits edits;
  for (auto& [name, value] : input.edits) {
    FRESHET_CHECK(name != keys.partition.name && (!keys.sort || name != keys.sort->name), "a key is never edited");
    if (value && value->type() > Type::kNull) {
      if (auto ok = normalize(*value, name); !ok) return fail(ok.error());
    }
    edits.push_back({name, value ? &*value : nullptr});
  }
  // Bulk writers pass sorted edits.
  const auto rises = [](const ItemEdit& a, const ItemEdit& b) { return a.name < b.name; };
  const auto stays = [&](const ItemEdit& a, const ItemEdit& b) { return !rises(a, b); };
  if (std::adjacent_find(edits.begin(), edits.end(), stays) == edits.end()) return edits;
  std::sort(edits.begin(), edits.end(), rises);
  const auto same = [](const ItemEdit& a, const ItemEdit& b) { return a.name == b.name; };
  FRESHET_CHECK(std::adjacent_find(edits.begin(), edits.end(), same) == edits.end(), "an attribute is edited once");
  return edits;
}

Result<Plan> plan_write(ExpressionCache& cache, Effort& effort, PutItemInput& input, Target target) {
  Expressions expressions(cache, input.placeholders);
  if (auto ok = check_condition(expressions, effort, input, target); !ok) return fail(ok.error());
  ItemRef after = ItemRef::encode(input.item);
  if (!guards_hold(input, target.item, after)) {
    return fail(condition_failed(target.item, input.return_item_on_failure).error());
  }
  ItemRef old = input.return_values == ReturnValues::kAllOld ? target.item : ItemRef{};
  Plan plan = make_plan(std::move(target), std::move(after), input);
  plan.output.attributes = std::move(old);
  return plan;
}

Result<Plan> plan_write(ExpressionCache& cache, Effort& effort, DeleteItemInput& input, Target target) {
  Expressions expressions(cache, input.placeholders);
  if (auto ok = check_condition(expressions, effort, input, target); !ok) return fail(ok.error());
  ItemRef old = input.return_values == ReturnValues::kAllOld ? target.item : ItemRef{};
  Plan plan = make_plan(std::move(target), {}, input);
  plan.output.attributes = std::move(old);
  return plan;
}

Result<Plan> plan_write(ExpressionCache& cache, Effort& effort, UpdateItemInput& input, Target target) {
  Expressions expressions(cache, input.placeholders);
  auto update = expressions.update(input.update);
  if (!update) return fail(update.error());
  const TableDefinition& definition = target.definition();
  if (auto ok = check_update(*update, definition); !ok) return fail(ok.error());
  if (auto ok = check_condition(expressions, effort, input, target); !ok) return fail(ok.error());
  if (!target.item && !creates(*update)) {
    // There is nothing to remove, but errors in a path do not depend on the item's existence.
    if (auto nothing = apply(*update, input.key); !nothing) return fail(nothing.error());
    return make_plan(std::move(target), {}, input);
  }
  auto after = target.item ? update_item(*update, definition, effort, target.item)
                           : create_item(*update, definition, input.measure ? Item(input.key) : std::move(input.key));
  if (!after) return fail(after.error());
  ItemRef output = updated(input.return_values, *update, target.item, *after);
  Plan plan = make_plan(std::move(target), std::move(*after), input);
  plan.output.attributes = std::move(output);
  return plan;
}

Result<Plan> plan_write(ExpressionCache& cache, Effort& effort, ConditionCheckInput& input, Target target) {
  Expressions expressions(cache, input.placeholders);
  if (auto ok = check_condition(expressions, effort, input, target); !ok) return fail(ok.error());
  Plan plan;
  if (input.measure) plan.output.cost = cost_of_write(target.table, input.key, target.item, target.item);
  plan.unchanged = std::move(target.item);
  return plan;
}

// Returns the fault that the service would report.
template <class Input>
Result<Plan> plan_or_fault(const Catalog& catalog, ExpressionCache& cache, Effort& effort, Input& input) {
  const auto planned = [&]() -> Result<Plan> {
    auto target = find_target(catalog, input);
    if (!target) return fail(target.error());
    return plan_write(cache, effort, input, std::move(*target));
  };
  auto plan = planned();
  if (plan) return plan;
  return fail(first_write_fault(cache, input, std::move(plan.error())));
}

}  // namespace

Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, PutItemInput& input) {
  return plan_or_fault(catalog, cache, effort, input);
}
Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, UpdateItemInput& input) {
  return plan_or_fault(catalog, cache, effort, input);
}
Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, DeleteItemInput& input) {
  return plan_or_fault(catalog, cache, effort, input);
}
Result<Plan> plan(const Catalog& catalog, ExpressionCache& cache, Effort& effort, ConditionCheckInput& input) {
  return plan_or_fault(catalog, cache, effort, input);
}

Result<Plan> plan(const Catalog& catalog, ExpressionCache&, Effort&, EditItemInput& input) {
  FRESHET_CHECK(input.seen, "an item that is edited was read before");
  auto table = catalog.find(input.table);
  if (!table) return fail(table.error());
  const TableDefinition& definition = (*table)->definition();
  const auto key = table_key_of(input.seen, definition.keys);
  if (!key) return invalid("The provided key element does not match the schema");
  const OrderedItems::Position place = (*table)->place(*key);
  ItemRef old = item_at(place);
  if (!is_unchanged(old, input)) return fail(condition_failed(old, input.return_item_on_failure).error());
  const auto edits = edits_of(input, definition.keys);
  if (!edits) return fail(edits.error());
  auto after = edit_item(*edits, definition, old);
  if (!after) return fail(after.error());
  Plan plan;
  plan.output.attributes = *after;
  if (old.same_bytes(*after)) {
    plan.unchanged = std::move(old);
  } else {
    plan.change = Change{*table, std::move(old), std::move(*after), input.cause, place};
  }
  return plan;
}

}  // namespace freshet
