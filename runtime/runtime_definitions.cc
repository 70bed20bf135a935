// The part of the runtime for definitions that the daemons of a fleet share.
#include <utility>

#include "runtime/definitions/definition_items.h"
#include "runtime/invoke/codec.h"
#include "runtime/runtime_parts.h"
#include "streams/topic_records.h"

namespace freshet {

void Runtime::share_definitions(DefinitionSharing sharing) {
  Parts& p = *parts_;
  p.definitions = std::make_unique<SharedDefinitions>(std::move(sharing), p.ports.tables, p.ports.scheduler,
                                                      p.ports.random, p.options.log, p);
  p.topics.share_definitions(*p.definitions);
  p.functions.share(*p.definitions);
  p.mappings.share_definitions(*p.definitions);
}

Async<Result<void>> Runtime::follow_definitions() {
  return parts_->definitions->compare();
}

void Runtime::definitions_are_at(uint64_t version) {
  parts_->definitions->newest_is(version);
}

uint64_t Runtime::definitions_version() const {
  return parts_->definitions ? parts_->definitions->version() : 0;
}

bool Runtime::shares_definitions() const {
  return parts_->definitions != nullptr;
}

Async<void> Runtime::look_for(DefinitionName what) {
  if (!parts_->definitions || parts_->has(what)) return {};
  return parts_->definitions->look_for_new();
}

bool Runtime::Parts::has(const DefinitionName& what) const {
  if (what.kind == kTopicKind) return topics.has_topic(what.name);
  if (what.kind == kSubscriptionKind) return topics.find_subscription(what.name).has_value();
  if (what.kind == kMappingKind) return mappings.has(what.name);
  return functions.find(what.name) != nullptr;
}

Async<Result<void>> Runtime::check_is_of_clients(DefinitionName what) {
  if (!parts_->definitions) co_return Result<void>();
  auto looking = parts_->definitions->refresh();
  auto looked = co_await looking;
  if (!looked) co_return looked;
  const std::string text = what.kind + " " + what.name;
  auto own = co_await parts_->definitions->is_of_template(std::move(what));
  if (!own) co_return fail(std::move(own.error()));
  if (!*own) co_return Result<void>();
  co_return invalid("In a fleet, clients cannot change what the template defines: " + text +
                    ". Change the template, and deploy it to each daemon");
}

Async<Result<void>> Runtime::create_topic(std::string name, TopicSettings asked) {
  return parts_->for_client<void>(topic_named(name), [this, name, asked] {
    return parts_->make_topic(name, [this, name, asked] { return parts_->topics.create_topic(name, asked); });
  });
}

Async<Result<void>> Runtime::Parts::make_topic(std::string name, std::function<Async<Result<void>>()> body) {
  auto making = body();
  auto made = co_await making;
  if (made) find_endpoints(name);
  co_return made;
}

void Runtime::Parts::find_endpoints(const std::string& topic) {
  for (const SubscriptionState& one : topics.subscriptions_after(topic, "", SIZE_MAX)) {
    if (one.definition.protocol == "lambda") continue;
    const std::string target = one.settings.pending ? confirmation_target(one.arn) : one.arn;
    if (!functions.find(target)) functions.put_endpoint(endpoint_of(one.definition, target));
  }
}

Async<Result<void>> Runtime::change_topic(std::string name, ChangeTopic change) {
  return parts_->for_client<void>(topic_named(name),
                                  [this, name, change] { return parts_->topics.change_topic(name, change); });
}

Async<Result<void>> Runtime::change_subscription(std::string arn, ChangeSubscription change) {
  return parts_->for_client<void>(subscription_named(arn),
                                  [this, arn, change] { return parts_->topics.change_subscription(arn, change); });
}

Async<Result<std::string>> Runtime::put_mapping(MappingDefinition mapping) {
  if (mapping.id.empty()) mapping.id = parts_->ports.random.uuid();
  return parts_->for_client<std::string>(mapping_by_id(mapping.id),
                                         [this, mapping] { return parts_->mappings.put(mapping); });
}

Async<Result<std::string>> Runtime::create_mapping(MappingDefinition mapping, std::function<Result<void>()> check) {
  if (mapping.id.empty()) mapping.id = parts_->ports.random.uuid();
  auto provided = co_await parts_->mappings.provide_positions();
  if (!provided) co_return fail(std::move(provided.error()));
  auto making = parts_->for_client<std::string>(
      mapping_by_id(mapping.id), [this, mapping, check] { return parts_->mappings.create(mapping, check); });
  auto made = co_await making;
  if (!made) parts_->mappings.remove_positions_later(std::move(mapping));
  co_return made;
}

Async<Result<std::string>> Runtime::change_mapping(std::string id,
                                                   std::function<Result<void>(MappingDefinition&)> change) {
  return parts_->for_client<std::string>(mapping_by_id(id),
                                         [this, id, change] { return parts_->mappings.change(id, change); });
}

Async<Result<void>> Runtime::remove_mapping(std::string id) {
  return parts_->for_client<void>(mapping_by_id(id), [this, id] { return parts_->remove_mapping(id); });
}

// Other daemons may still have a template's mapping, so its positions stay.
Async<Result<void>> Runtime::Parts::remove_mapping(std::string id) {
  using Positions = EventSourceMappings::Positions;
  Positions positions = Positions::kStay;
  if (definitions) {
    auto looking = definitions->is_of_template(mapping_by_id(id));
    const auto own = co_await looking;
    if (own && !*own) positions = Positions::kGo;
  }
  co_return co_await mappings.remove(std::move(id), positions);
}

Async<Result<void>> Runtime::Parts::before_sharing(Item item) {
  if (key_of(item).kind != kMappingKind) return Result<void>();
  return mappings.bring_positions(mapping_of(item));
}

void Runtime::Parts::follow(const DefinitionKey& key, const Item* item) {
  if (key.kind == kTopicKind) follow_topic(key.id, item);
  if (key.kind == kSubscriptionKind) follow_subscription(key.id, item);
  if (key.kind == kFunctionKind) follow_function(key.id, item);
  if (key.kind == kQualifiersKind) follow_qualifiers(key.id, item);
  if (key.kind == kMappingKind) follow_mapping(key.id, item);
}

void Runtime::Parts::follow_function(const std::string& name, const Item* item) {
  if (item == nullptr) {
    if (const FunctionPtr before = functions.forget(name)) gone(before);
    return;
  }
  const FunctionPtr before = functions.accept(function_of(*item));
  const FunctionPtr now = functions.find(name);
  if (before && *before == *now) return;
  invoker.events().changed(name);
  if (before) left(*before);
}

void Runtime::Parts::follow_qualifiers(const std::string& name, const Item* item) {
  const std::vector<FunctionPtr> before = qualified(name);
  if (item == nullptr) {
    functions.forget_qualifiers(name);
  } else {
    functions.accept(qualifiers_of(*item));
  }
  aliases_changed(before);
}

void Runtime::Parts::follow_mapping(const std::string& id, const Item* item) {
  if (item == nullptr) return mappings.forget(id);
  mappings.accept(mapping_of(*item));
}

void Runtime::Parts::follow_topic(const std::string& name, const Item* item) {
  if (item != nullptr) {
    topics.accept_topic(name, topic_settings_of(*item));
    return find_endpoints(name);
  }
  for (const std::string& arn : topics.forget_topic(name)) remove_endpoints(arn);
}

void Runtime::Parts::follow_subscription(const std::string& arn, const Item* item) {
  if (item == nullptr) {
    topics.forget_subscription(arn);
    return remove_endpoints(arn);
  }
  const SubscriptionDefinition definition = subscription_of(*item);
  const SubscriptionSettings settings = subscription_settings_of(*item);
  const auto before = topics.find_subscription(arn);
  if (before && before->definition == definition && before->settings == settings) return;
  topics.accept_subscription(definition, settings);
  // Without its topic it waits for one of that name.
  if (definition.protocol == "lambda" || !topics.find_subscription(arn)) return;
  if (settings.pending) return functions.put_endpoint(endpoint_of(definition, confirmation_target(arn)));
  if (before && before->settings.pending) remove_endpoints(arn);
  functions.put_endpoint(endpoint_of(definition, arn));
  invoker.events().changed(arn);
}

}  // namespace freshet
