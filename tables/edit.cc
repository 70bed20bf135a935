#include "tables/edit.h"

#include "base/check.h"

namespace freshet {
namespace {

// Every name and value gets a placeholder: any name is allowed.
class Texts {
 public:
  explicit Texts(Placeholders& placeholders) : placeholders_(placeholders) {}

  std::string name(std::string_view name) {
    for (const auto& [known, attribute] : placeholders_.names) {
      if (attribute == name) return known;
    }
    std::string placeholder = "#n" + std::to_string(placeholders_.names.size());
    placeholders_.names.emplace_back(placeholder, name);
    return placeholder;
  }

  std::string value(Value value) {
    std::string placeholder = ":v" + std::to_string(placeholders_.values.size());
    placeholders_.values.set(placeholder, std::move(value));
    return placeholder;
  }

 private:
  Placeholders& placeholders_;
};

void add(std::string& text, std::string_view first, const std::string& more) {
  text.append(text.empty() ? first : ", ").append(more);
}

void copy_key(Item& key, const ItemRef& seen, const KeyAttribute& attribute) {
  const auto value = seen.find(attribute.name);
  FRESHET_CHECK(value.has_value(), "an item that is edited has its key");
  key.set(attribute.name, value->decode());
}

}  // namespace

UpdateItemInput to_update(const EditItemInput& input, const KeySchema& keys) {
  UpdateItemInput update;
  update.table = input.table;
  copy_key(update.key, input.seen, keys.partition);
  if (keys.sort) copy_key(update.key, input.seen, *keys.sort);
  update.return_values = ReturnValues::kAllNew;
  update.return_item_on_failure = input.return_item_on_failure;
  update.cause = input.cause;

  Texts texts(update.placeholders);
  // The item exists if its key does.
  update.condition = "attribute_exists(" + texts.name(keys.partition.name) + ")";
  for (const auto name : input.unchanged) {
    if (name.empty()) continue;
    const auto value = input.seen.find(name);
    update.condition += value ? " AND " + texts.name(name) + " = " + texts.value(value->decode())
                              : " AND attribute_not_exists(" + texts.name(name) + ")";
  }
  std::string sets;
  std::string removes;
  for (const auto& [name, value] : input.edits) {
    if (value) {
      add(sets, "SET ", texts.name(name) + " = " + texts.value(*value));
    } else {
      add(removes, "REMOVE ", texts.name(name));
    }
  }
  update.update = sets.empty() || removes.empty() ? sets + removes : sets + " " + removes;
  return update;
}

PutItemInput with_guards_spelled_out(PutItemInput put, const KeySchema& keys) {
  Placeholders& placeholders = put.placeholders;
  const auto require = [&](const std::string& text) {
    put.condition = put.condition.empty() ? text : "(" + put.condition + ") AND " + text;
  };
  if (put.only_new) {
    placeholders.names.emplace_back("#guard_key", keys.partition.name);
    require("attribute_not_exists(#guard_key)");
  }
  if (!put.rising.empty()) {
    const Value* value = std::as_const(put.item).find(put.rising);
    FRESHET_CHECK(value != nullptr, "a put has the attribute that must rise");
    placeholders.names.emplace_back("#guard_rising", put.rising);
    placeholders.values.set(":guard_rising", *value);
    require("(attribute_not_exists(#guard_rising) OR #guard_rising <= :guard_rising)");
  }
  put.only_new = false;
  put.rising = {};
  return put;
}

// For stores that have no cheaper way.
Async<std::vector<Result<WriteOutput>>> Tables::edit_alike(EditItemInput edit, std::vector<ItemRef> seen) {
  std::vector<EditItemInput> inputs(seen.size(), edit);
  for (size_t i = 0; i < seen.size(); ++i) inputs[i].seen = std::move(seen[i]);
  return edit_many(std::move(inputs));
}

}  // namespace freshet
