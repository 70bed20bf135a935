#include "tests/tables/engine/random_transaction.h"

#include <set>

#include "tables/value/json.h"

namespace freshet {
namespace {

Item key_of(const std::string& table, const Item& item) {
  return table == "Queue" ? Item{{"id", *item.find("id")}} : item;
}

WriteInput random_action(Random& random, const std::string& table, const Item& item) {
  const std::string name = table == "Queue" ? "id" : "p";
  const std::string conditions[] = {"", "", "attribute_exists(" + name + ")", "attribute_not_exists(" + name + ")"};
  const std::string condition = conditions[random.below(4)];
  switch (random.below(5)) {
    case 0:
      return DeleteItemInput{table, key_of(table, item), condition, {}};
    case 1:
      return ConditionCheckInput{table, key_of(table, item), conditions[2 + random.below(2)], {}};
    case 2: {
      if (table != "Queue") break;
      UpdateItemInput input{table, key_of(table, item), "SET #st = :to", condition, {}};
      input.placeholders.names = {{"#st", "status"}};
      input.placeholders.values = Map{{":to", *item.find("status")}};
      return input;
    }
    default:
      break;
  }
  return PutItemInput{table, item, condition, {}};
}

}  // namespace

RandomTransaction random_transaction(Random& random, const std::function<Item()>& task,
                                     const std::function<Item()>& pair) {
  RandomTransaction out;
  std::set<std::string> seen;
  for (uint64_t n = 1 + random.below(6); n > 0; --n) {
    const std::string table = random.below(3) ? "Queue" : "Pairs";
    const Item item = table == "Queue" ? task() : pair();
    std::string identity = table;
    append_item_json(identity, key_of(table, item));
    if (seen.insert(identity).second) out.actions.push_back(random_action(random, table, item));
  }
  return out;
}

std::optional<std::vector<ModelWrite>> expected_writes(const StoreModel& model,
                                                       const std::vector<WriteInput>& actions) {
  std::vector<ModelWrite> writes;
  for (const auto& action : actions) {
    const auto& [table, condition] = std::visit(
        [](const auto& one) { return std::pair<std::string, std::string>(one.table, one.condition); }, action);
    const auto* put = std::get_if<PutItemInput>(&action);
    const auto* update = std::get_if<UpdateItemInput>(&action);
    const auto* gone = std::get_if<DeleteItemInput>(&action);
    const Item key = put      ? key_of(table, put->item)
                     : update ? update->key
                     : gone   ? gone->key
                              : std::get<ConditionCheckInput>(action).key;
    const ModelRow* row = model.find(table, key);
    if (condition.starts_with("attribute_exists") && !row) return std::nullopt;
    if (condition.starts_with("attribute_not_exists") && row) return std::nullopt;
    if (put) writes.push_back({table, key, put->item});
    if (gone) writes.push_back({table, key, {}});
    if (!update) continue;
    Item after = row ? row->item : key;
    after.set("status", *update->placeholders.values.find(":to"));
    writes.push_back({table, key, after});
  }
  return writes;
}

}  // namespace freshet
