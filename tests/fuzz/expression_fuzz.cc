// The expression language: expressions of every kind, bound to placeholders and carried out on an item, in the decoded
// and in the stored form, which must agree.
//
// An input is lines: the first letter of a line says what it is. `n` and `v` set ExpressionAttributeNames and
// -Values (JSON objects), `i` the item; `c`, `f`, `k`, `u`, `p` are expressions: a condition, a filter, a key
// condition, an update, a projection. What no line sets has a default.
#include "tables/expression/expression.h"
#include "tables/tables.h"
#include "tables/value/json.h"
#include "tables/value/json_reader.h"
#include "tests/fuzz/target.h"

namespace freshet::fuzz {
namespace {

Item item_from(std::string_view json) {
  auto item = parse_item_json(json);
  return item ? std::move(*item) : Item();
}

const Item& usual_item() {
  static const Item kItem = item_from(
      R"({"id":{"S":"one"},"at":{"N":"12"},"n":{"N":"-1.5"},"s":{"S":"text"},"b":{"B":"AQID"},"t":{"BOOL":true},)"
      R"("z":{"NULL":true},"l":{"L":[{"N":"1"},{"S":"x"},{"M":{"in":{"N":"2"}}},{"L":[{"N":"3"}]}]},)"
      R"("m":{"M":{"a":{"N":"1"},"b":{"M":{"c":{"S":"deep"}}}}},"ss":{"SS":["a","b"]},"ns":{"NS":["1","2"]},)"
      R"("bs":{"BS":["AQ==","Ag=="]}})");
  return kItem;
}

Placeholders usual_placeholders() {
  Placeholders placeholders;
  for (const char* name : {"a", "at", "b", "id", "in", "l", "m", "n", "s", "ss"}) {
    placeholders.names.emplace_back("#" + std::string(name), name);
  }
  placeholders.values = item_from(
      R"({":a":{"S":"one"},":b":{"B":"AQI="},":l":{"L":[{"N":"7"}]},":m":{"M":{"x":{"S":"y"}}},":n":{"N":"12"},)"
      R"(":ns":{"NS":["1","5"]},":s":{"S":"te"},":ss":{"SS":["a","c"]},":t":{"BOOL":true},":z":{"NULL":true}})");
  return placeholders;
}

TableDefinition usual_table() {
  TableDefinition table;
  table.name = "Usual";
  table.keys = {{"id", Type::kString}, KeyAttribute{"at", Type::kNumber}};
  return table;
}

KeySchema usual_keys() {
  return usual_table().keys;
}

std::string json_of(const Item& item) {
  std::string json;
  append_item_json(json, item);
  return json;
}

// As a request may hold it: within the limits, and what can be stored can be read back.
void check_item(const Item& item) {
  const ItemRef stored = ItemRef::encode(item);
  require(stored.decode() == item, "an item is not what was stored", json_of(item));
  const auto checked = ItemRef::from_encoded(stored.encoded());
  require(checked.has_value(), "what was stored is no item's encoding", json_of(item));
  const auto read = parse_item_json(json_of(item));
  require(read && *read == item, "an item is not what its JSON says", json_of(item));
}

class Run {
 public:
  void line(std::string_view line) {
    if (line.empty()) return;
    const std::string_view text = line.substr(1);
    switch (line.front()) {
      case 'n':
        names(text);
        break;
      case 'v':
        if (auto values = parse_item_json(text)) placeholders_.values = std::move(*values);
        break;
      case 'i':
        if (auto item = parse_item_json(text)) {
          item_ = std::move(*item);
          check_item(item_);
        }
        break;
      case 'c':
        condition(text, false);
        break;
      case 'f':
        condition(text, true);
        break;
      case 'k':
        key_condition(text);
        break;
      case 'u':
        update(text);
        break;
      case 'p':
        projection(text);
        break;
      default:
        break;
    }
  }

 private:
  void names(std::string_view json) {
    JsonDocument document;
    const auto object = document.parse(json);
    if (!object || !object->is(JsonKind::kObject)) return;
    placeholders_.names.clear();
    for (const JsonView member : *object) {
      if (member.is(JsonKind::kString)) placeholders_.names.emplace_back(member.name(), member.text());
    }
  }

  void condition(std::string_view text, bool filter) {
    Expressions expressions(cache_, placeholders_);
    const auto bound = filter ? expressions.filter(text) : expressions.condition(text);
    finish(expressions);
    if (!bound) return error(bound.error());
    static_cast<void>(filter ? check_filter(*bound, usual_keys()) : check_keys(*bound, usual_table()));
    const ItemRef stored = ItemRef::encode(item_);
    require(evaluate(*bound, item_) == evaluate(*bound, stored), "a condition differs on the stored form", text);
    require(evaluate(*bound, Item()) == evaluate(*bound, ItemRef()), "a condition differs on no item", text);
    static_cast<void>(weight(*bound));
    static_cast<void>(top_level_attributes(*bound));
  }

  void key_condition(std::string_view text) {
    Expressions expressions(cache_, placeholders_);
    const auto bound = expressions.key_condition(text);
    finish(expressions);
    if (!bound) return error(bound.error());
    const auto range = key_range(*bound, usual_keys());
    if (!range) return error(range.error());
    require(range->partition.is(Type::kString), "a partition key of another type", text);
    if (const Value* at = item_.find("at"); at && at->is(Type::kNumber)) static_cast<void>(range->contains(*at));
  }

  void update(std::string_view text) {
    Expressions expressions(cache_, placeholders_);
    const auto bound = expressions.update(text);
    finish(expressions);
    if (!bound) return error(bound.error());
    static_cast<void>(check_update(*bound, usual_table()));
    static_cast<void>(top_level_attributes(*bound));
    static_cast<void>(creates(*bound));
    const auto updated = apply(*bound, item_);
    if (!updated) return error(updated.error());
    check_item(*updated);
    check_item(updated_attributes(*bound, item_));
    const Item now = updated_attributes(*bound, item_, *updated);
    check_item(now);
    require(updated_attributes(*bound, ItemRef::encode(item_), ItemRef::encode(*updated)) == now,
            "what was updated differs on the stored form", text);
    if (const auto edits = plain_edits(*bound)) {
      require(ItemRef::encode(item_).with(*edits).decode() == *updated, "an update in place differs", text);
    }
  }

  void projection(std::string_view text) {
    Expressions expressions(cache_, placeholders_);
    const auto bound = expressions.projection(text);
    finish(expressions);
    if (!bound) return error(bound.error());
    static_cast<void>(check_keys(*bound, usual_table()));
    const Item projected = project(*bound, item_);
    require(projected == project(*bound, ItemRef::encode(item_)), "a projection differs on the stored form", text);
    static_cast<void>(top_level_attributes(*bound));
    check_item(projected);
  }

  static void finish(Expressions& expressions) {
    if (const auto used = expressions.finish(); !used) error(used.error());
  }
  static void error(const Error& error) {
    require(error.code == ErrorCode::kValidation && !error.message.empty(), "not an error of the request",
            error.message);
  }

  ExpressionCache cache_;
  Placeholders placeholders_ = usual_placeholders();
  Item item_ = usual_item();
};

}  // namespace
}  // namespace freshet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  freshet::fuzz::Run run;
  for (const std::string_view line : freshet::fuzz::split(freshet::fuzz::as_text(data, size), "\n")) run.line(line);
  return 0;
}
