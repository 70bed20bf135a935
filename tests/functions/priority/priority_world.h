// Shared by tests of priority queues: a world, a queue in it, and calls that wait for their answer.
#pragma once

#include "functions/priority/table_queue.h"
#include "tests/functions/world.h"
#include "tests/sim/seeds.h"

namespace freshet::priority {

inline Settings shipment_settings() {
  Settings settings;
  settings.name = "shipments";
  settings.table = "Shipment";
  return settings;
}

class PriorityFixture : public ::testing::TestWithParam<StoreKind> {
 protected:
  using Code = PriorityCode;

  std::unique_ptr<QueueWorld> made_ = make_world(GetParam(), 1);
  QueueWorld& world = *made_;
  std::unique_ptr<TableQueue> queue;

  TableQueue& open(Settings settings = shipment_settings(), std::optional<TableDefinition> wanted = {}) {
    auto opened = world.wait(
        TableQueue::open(*world.services, std::move(settings), std::move(wanted), &world.store->wall_guard()));
    EXPECT_TRUE(opened) << opened.error().message;
    queue = std::move(*opened);
    return *queue;
  }
  static RecordCall on(const std::string& id, const std::string& receipt = {}) {
    RecordCall call;
    call.id = id;
    call.receipt = receipt;
    return call;
  }
  PriorityResult put(const std::string& id, const std::string& status = "READY_TO_SHIP") {
    PutRecordInput input;
    input.id = id;
    input.status = status;
    input.attributes.set("data", Value(Map{{"id", Value(id)}}));
    return world.wait(queue->put(std::move(input)));
  }
  PriorityResult enqueue(const std::string& id, std::optional<int64_t> priority = {},
                         std::optional<milliseconds> delay = {}) {
    EnqueueInput input;
    input.call.id = id;
    input.priority = priority;
    input.delay = delay;
    return world.wait(queue->enqueue(std::move(input)));
  }
  void queued(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      ASSERT_TRUE(put(name).ok());
      const auto result = enqueue(name);
      ASSERT_TRUE(result.ok()) << result.detail;
      world.pass(milliseconds(1));
    }
  }
  std::vector<PriorityResult> peek_many(int max) {
    PeekInput input;
    input.max = max;
    return world.wait(queue->peek(std::move(input)));
  }
  PriorityResult peek(std::optional<milliseconds> visibility = {}) {
    PeekInput input;
    input.visibility = visibility;
    return world.wait(queue->peek(std::move(input))).front();
  }
  PriorityResult restore(const std::string& id, const std::string& receipt = {},
                         std::optional<milliseconds> delay = {}) {
    RestoreInput input;
    input.call = on(id, receipt);
    input.delay = delay;
    return world.wait(queue->restore(std::move(input)));
  }
  PriorityResult remove(const std::string& id, const std::string& receipt = {}) {
    return world.wait(queue->remove(on(id, receipt)));
  }
  // Does the work of the timer. Returns the records that it could not write.
  std::vector<std::string> sweep() {
    std::vector<std::string> passed;
    const auto more = world.wait(queue->sweep(100, &passed));
    EXPECT_TRUE(more) << more.error().message;
    return passed;
  }
  PriorityStats stats() { return *world.wait(queue->stats()); }

  // As any SDK client would.
  Item item(const std::string& id, const std::string& table = "Shipment") {
    GetItemInput input;
    input.table = table;
    input.key.set("id", Value(id));
    auto read = world.wait(world.store->get_item(std::move(input)));
    return read && *read ? read->decode() : Item();
  }
  void put_item(Item item, const std::string& table = "Shipment") {
    PutItemInput input;
    input.table = table;
    input.item = std::move(item);
    auto put = world.wait(world.client().put_item(std::move(input)));
    ASSERT_TRUE(put) << put.error().message;
    world.shown();
  }
  Result<WriteOutput> update_item(const std::string& id, const std::string& update, Map values,
                                  std::vector<std::pair<std::string, std::string>> names = {}) {
    UpdateItemInput input;
    input.table = "Shipment";
    input.key.set("id", Value(id));
    input.update = update;
    input.placeholders = {std::move(names), std::move(values)};
    auto updated = world.wait(world.client().update_item(std::move(input)));
    world.shown();
    return updated;
  }
  // Names of the item's attributes, those of system_info with a dot before them.
  std::string shape(const std::string& id) {
    std::string out;
    const Item read = item(id);
    for (const auto& [name, value] : read) out += (out.empty() ? "" : " ") + name;
    if (const Value* system_info = read.find("system_info")) {
      for (const auto& [name, value] : *system_info->get_if<Map>()) out += " ." + name;
    }
    return out;
  }
  Value in_info(const std::string& id, const std::string& name) {
    const Item read = item(id);
    const Value* system_info = read.find("system_info");
    const Value* value = system_info ? system_info->get_if<Map>()->find(name) : nullptr;
    return value ? *value : Value();
  }
};

}  // namespace freshet::priority
