// The part of SharedDefinitions that compares what this daemon has with what the fleet has, and brings along what the
// daemon has made while it was alone.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/definitions/definition_items.h"
#include "runtime/definitions/shared_definitions.h"
#include "runtime/invoke/codec.h"
#include "runtime/invoke/function_qualifiers.h"
#include "streams/arn.h"
#include "streams/system_table.h"
#include "streams/topic_records.h"

namespace freshet {

namespace {

using Items = std::map<DefinitionKey, Item>;

// Two subscriptions, or two mappings, that have this in common send the same thing to the same place. Empty: it sends
// nothing.
std::string delivery_of(const DefinitionKey& key, const Item& item) {
  if (key.kind == kMappingKind) {
    const MappingDefinition mapping = mapping_of(item);
    return "mapping " + mapping.table + " " + mapping.function;
  }
  if (key.kind != kSubscriptionKind) return {};
  const SubscriptionDefinition s = subscription_of(item);
  return s.topic + " " + s.protocol + " " + (s.protocol == "lambda" ? function_name(s.endpoint) : s.endpoint);
}

bool is_pending(const DefinitionKey& key, const Item& item) {
  return key.kind == kSubscriptionKind && subscription_settings_of(item).pending;
}

// The items of both sides, and what follows from them for one that only this daemon has.
class Comparison {
 public:
  Comparison(Items there, Items own) : there_(std::move(there)), own_(std::move(own)) {
    for (const auto& [key, item] : there_) {
      const auto mine = own_.find(key);
      owners_there_.insert(owner_of(key));
      // The fleet has its own one, unless this daemon was about to bring it along.
      if (mine == own_.end() || !(as_shared(mine->second) == as_shared(item))) others_.insert(owner_of(key));
      if (!is_pending(key, item)) deliveries_.insert(delivery_of(key, item));
    }
    for (const auto& [key, item] : own_) {
      if (is_marked(item) && !owners_there_.contains(owner_of(key))) removed_.insert(owner_of(key));
    }
  }

  const Items& there() const { return there_; }
  const Items& own() const { return own_; }
  bool has(const DefinitionKey& key) const { return there_.contains(key); }
  // True if it goes here, too. It is the fleet's that was removed there, or belongs to something that the fleet has
  // otherwise, or no longer has.
  bool goes(const DefinitionKey& key, const Item& item) const {
    const DefinitionName owner = owner_of(key);
    if (is_marked(item) || removed_.contains(owner) || others_.contains(owner)) return true;
    const std::string delivery = delivery_of(key, item);
    if (delivery.empty()) return false;
    if (deliveries_.contains(delivery)) return true;
    return key.kind == kSubscriptionKind && removed_.contains(topic_named(subscription_of(item).topic));
  }

 private:
  const Items there_;
  const Items own_;
  std::set<DefinitionName> owners_there_;
  std::set<DefinitionName> others_;   // Owners of which the fleet has something else.
  std::set<DefinitionName> removed_;  // Owners that were the fleet's, and of which it has nothing now.
  std::set<std::string> deliveries_;
};

// A function before its policies and aliases, and those before its versions: if not all are written together, what the
// others make of the first ones does no harm.
size_t order_in_owner(const DefinitionKey& key) {
  if (key.kind == kQualifiersKind) return 1;
  return key.kind == kFunctionKind && owner_of(key).name != key.id ? 2 : 0;
}

}  // namespace

Async<Result<void>> SharedDefinitions::compare_now() {
  Result<void> done;
  is_stale_ = true;
  for (int tries = 0; tries < kMostTries && is_stale_; ++tries) {
    is_stale_ = false;
    done = co_await compare_once();
  }
  co_return done;
}

Async<Result<void>> SharedDefinitions::compare_once() {
  is_compared_ = false;
  const auto newest = co_await newest_definitions(sharing_.engine);
  if (!newest) co_return fail(newest.error());
  auto names = co_await template_names();
  if (!names) co_return fail(std::move(names.error()));
  Items there;
  Items own;
  for (const std::string& kind : shared_kinds()) {
    auto items = co_await load_items_of(sharing_.engine, kDefinitionsTable, kind, "");
    if (!items) co_return fail(std::move(items.error()));
    for (const ItemRef& ref : *items) there.emplace(key_of(ref.decode()), ref.decode());
    auto here = co_await load_system_items(own_, kind);
    if (!here) co_return fail(std::move(here.error()));
    for (const ItemRef& ref : *here) {
      const DefinitionKey key = key_of(ref.decode());
      if (!names->has(owner_of(key))) own.emplace(key, ref.decode());
    }
  }
  const Comparison comparison(std::move(there), std::move(own));
  std::vector<Found> found;
  std::vector<Item> mine;
  for (const auto& [key, item] : comparison.there()) found.push_back({key, item});
  for (const auto& [key, item] : comparison.own()) {
    if (comparison.has(key)) continue;
    if (comparison.goes(key, item)) {
      found.push_back({key});
    } else {
      mine.push_back(item);
    }
  }
  auto followed = co_await follow(std::move(found));
  if (!followed) co_return fail(std::move(followed.error()));
  if (followed->passing) co_return fail(*followed->passing);
  version_ = *newest;
  is_compared_ = true;
  sweep_code_later();
  if (mine.empty()) co_return Result<void>();
  auto brought = co_await bring_along(std::move(mine));
  if (!brought) is_compared_ = false;
  co_return brought;
}

Async<Result<void>> SharedDefinitions::bring_along(std::vector<Item> items) {
  auto giving = with_code(std::move(items));
  auto given = co_await giving;
  if (!given) co_return fail(std::move(given.error()));
  if (given->empty()) co_return Result<void>();
  for (const Item& item : *given) {
    auto preparing = follower_.before_sharing(item);
    auto prepared = co_await preparing;
    if (!prepared) co_return prepared;
  }
  std::stable_sort(given->begin(), given->end(), [](const Item& a, const Item& b) {
    const DefinitionKey first = key_of(a);
    const DefinitionKey second = key_of(b);
    return std::tuple(owner_of(first), order_in_owner(first)) < std::tuple(owner_of(second), order_in_owner(second));
  });
  std::vector<WriteInput> shared;
  std::vector<WriteInput> marks;
  for (Item& item : *given) {
    shared.push_back(put_shared(item));
    marks.emplace_back(put_system_item(marked(std::move(item))));
  }
  const size_t count = shared.size();
  uint64_t version = version_;
  auto written = co_await write_shared(std::move(shared), version);
  if (written) written = co_await write_together(own_, std::move(marks));
  if (!written) co_return written;
  version_ = version;
  announce();
  log_.info("DEFINITIONS_BROUGHT", {{"version", version}, {"items", count}});
  co_return written;
}

// The fleet has the code first. A function of which some code cannot be given stays this daemon's own.
Async<Result<std::vector<Item>>> SharedDefinitions::with_code(std::vector<Item> items) {
  std::set<DefinitionName> left;
  for (const Item& item : items) {
    std::string folder = code_folder(item);
    if (folder.empty() || !sharing_.code || left.contains(owner_of(key_of(item)))) continue;
    auto giving = sharing_.code->give(std::move(folder));
    auto gave = co_await giving;
    if (gave) continue;
    if (is_passing(gave.error())) co_return fail(std::move(gave.error()));
    log_left(key_of(item), gave.error());
    left.insert(owner_of(key_of(item)));
  }
  std::erase_if(items, [&](const Item& item) { return left.contains(owner_of(key_of(item))); });
  co_return items;
}

}  // namespace freshet
