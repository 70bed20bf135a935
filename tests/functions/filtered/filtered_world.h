// Shared by tests of filtered queues: a world, the call centre in it, and calls that wait for their answer.
#pragma once

#include "functions/filtered/table_queue.h"
#include "tests/functions/world.h"
#include "tests/sim/seeds.h"

namespace freshet::filtered {

inline Settings call_centre() {
  Settings settings;
  settings.name = "calls";
  settings.table = "AgentQueueFIFO";
  settings.attributes = {{"Languages", true, {"English", "French", "Spanish"}, 0},
                         {"Gender", false, {"F", "M", "T"}, 0}};
  settings.copied = {"AgentName"};
  return settings;
}

class FilteredFixture : public ::testing::TestWithParam<StoreKind> {
 protected:
  std::unique_ptr<QueueWorld> made_ = make_world(GetParam(), 1);
  QueueWorld& world = *made_;
  std::unique_ptr<TableQueue> queue;

  TableQueue& open(Settings settings = call_centre()) {
    auto opened = world.wait(TableQueue::open(*world.services, std::move(settings)));
    EXPECT_TRUE(opened) << opened.error().message;
    queue = std::move(*opened);
    return *queue;
  }
  static Item attributes(std::vector<std::string> languages, const std::string& gender) {
    return Item{{"Gender", Value(gender)}, {"Languages", Value(StringSet{std::move(languages)})}};
  }
  Result<FilteredMember> put(const std::string& id, std::vector<std::string> languages, const std::string& gender) {
    return world.wait(queue->put_member(id, attributes(std::move(languages), gender)));
  }
  Result<Enqueued> enqueue(const std::string& id) { return world.wait(queue->enqueue(id)); }
  // Puts a member and queues it.
  void queued(const std::string& id, std::vector<std::string> languages, const std::string& gender) {
    const auto made = put(id, std::move(languages), gender);
    ASSERT_TRUE(made) << made.error().message;
    const auto done = enqueue(id);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(done->member.status, "queued");
    world.pass(milliseconds(1));
  }
  // {"Languages": "Spanish", "Gender": "M"}
  static MatchAlternative like(std::vector<std::pair<std::string, std::vector<std::string>>> values) {
    return {"", std::move(values)};
  }
  Result<Assigned> assign(Match match, const std::string& request = {}, bool wait = false) {
    return world.wait(queue->assign({std::move(match), request, wait}));
  }
  Result<Assigned> assign_from(const std::string& key, const std::string& request = {}, bool wait = false) {
    return assign({{key, {}}}, request, wait);
  }
  // The member's id; what came of it if none.
  std::string given(const Result<Assigned>& assigned) {
    if (!assigned) return "error: " + assigned.error().message;
    if (assigned->outcome == AssignOutcome::kAssigned) return assigned->member.id;
    return assigned->outcome == AssignOutcome::kWaiting ? "waiting" : "none";
  }
  Result<Enqueued> release(const std::string& id, const std::string& assignment = {}, bool again = false) {
    return world.wait(queue->release({id, assignment, again}));
  }
  std::string status(const std::string& id) {
    const auto member = world.wait(queue->get_member(id));
    return member ? member->status : "error: " + member.error().message;
  }
  CombinationStats at(const std::string& key) {
    const auto stats = world.wait(queue->stats());
    EXPECT_TRUE(stats) << stats.error().message;
    for (const auto& one : stats->queues) {
      if (one.key == key) return one;
    }
    ADD_FAILURE() << "no queue " << key;
    return {};
  }
  void expect_right() {
    const auto recount = world.wait(queue->recount());
    ASSERT_TRUE(recount) << recount.error().message;
    EXPECT_EQ(recount->wrong, 0u) << recount->differences.front();
  }

  // As any SDK client would.
  Item item(const std::string& pk, const std::string& sk, const std::string& table = "AgentQueueFIFO") {
    GetItemInput input;
    input.table = table;
    input.key = Item{{"pk", Value(pk)}, {"sk", Value(sk)}};
    auto read = world.wait(world.store->get_item(std::move(input)));
    return read && *read ? read->decode() : Item();
  }
  void put_item(const std::string& pk, const std::string& sk, Item item) {
    PutItemInput input;
    input.table = "AgentQueueFIFO";
    input.item = std::move(item);
    input.item.set("pk", Value(pk));
    input.item.set("sk", Value(sk));
    auto put = world.wait(world.store->put_item(std::move(input)));
    ASSERT_TRUE(put) << put.error().message;
  }
  void update_item(const std::string& pk, const std::string& sk, const std::string& update, Map values = {}) {
    UpdateItemInput input;
    input.table = "AgentQueueFIFO";
    input.key = Item{{"pk", Value(pk)}, {"sk", Value(sk)}};
    input.update = update;
    input.placeholders.values = std::move(values);
    auto updated = world.wait(world.store->update_item(std::move(input)));
    ASSERT_TRUE(updated) << updated.error().message;
  }
  std::vector<ItemRef> all_items() {
    ScanInput scan;
    scan.table = "AgentQueueFIFO";
    auto page = world.wait(world.store->scan(std::move(scan)));
    EXPECT_TRUE(page);
    return page->items;
  }
};

}  // namespace freshet::filtered
