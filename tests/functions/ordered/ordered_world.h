// Shared by tests of ordered writes: a world, a table in it, and calls that wait for their answer.
#pragma once

#include "functions/ordered/guarded_table.h"
#include "tests/functions/world.h"
#include "tests/sim/seeds.h"

namespace freshet::ordered {

// The post's table: ratings of movies by users.
inline Definition ratings() {
  Definition definition{{}, {{"PK", Type::kString}, KeyAttribute{"SK", Type::kString}}};
  definition.settings.name = definition.settings.table = "Ratings";
  return definition;
}

class OrderedFixture : public ::testing::TestWithParam<StoreKind> {
 protected:
  using Code = OrderedCode;

  std::unique_ptr<QueueWorld> made_ = make_world(GetParam(), 1);
  QueueWorld& world = *made_;
  std::unique_ptr<GuardedTable> table;
  const int64_t start = world.now_ms();

  GuardedTable& open(Definition definition = ratings()) {
    auto opened = world.wait(GuardedTable::open(*world.tables, world.clock, std::move(definition)));
    EXPECT_TRUE(opened) << opened.error().message;
    table = std::move(*opened);
    return *table;
  }
  std::string why_not(Definition definition) {
    auto opened = world.wait(GuardedTable::open(*world.tables, world.clock, std::move(definition)));
    return opened ? "" : opened.error().message;
  }
  static Item key(const std::string& movie = "A") { return {{"PK", Value("User#1")}, {"SK", Value("Movie#" + movie)}}; }
  static Item rating(int64_t stars, const std::string& movie = "A") {
    Item item = key(movie);
    item.set("Rating", Value::number(stars));
    return item;
  }
  std::optional<Value> at(int64_t ms_from_start) const { return Value::number(start + ms_from_start); }

  OrderedResult put(Item item, std::optional<Value> timestamp = {}) {
    return world.wait(table->put({std::move(item), std::move(timestamp)}));
  }
  OrderedResult erase(std::optional<Value> timestamp = {}, Item which = key()) {
    return world.wait(table->erase({std::move(which), std::move(timestamp)}));
  }
  OrderedResult update(Map set, std::optional<Value> timestamp, std::vector<std::string> remove = {}) {
    return world.wait(table->update({key(), std::move(set), std::move(remove), std::move(timestamp)}));
  }
  // As a reader sees it; empty if it does not.
  Item get(Item which = key()) {
    auto item = world.wait(table->get({std::move(which)}));
    EXPECT_TRUE(item) << item.error().message;
    return *item ? item->decode() : Item();
  }
  int64_t stars(const std::string& movie = "A") { return get(key(movie)).int_or("Rating", 0); }

  // As any SDK client would.
  Item raw(Item which = key()) {
    GetItemInput input;
    input.table = "Ratings";
    input.key = std::move(which);
    auto item = world.wait(world.store->get_item(std::move(input)));
    return item && *item ? item->decode() : Item();
  }
  void put_raw(Item item) {
    PutItemInput input;
    input.table = "Ratings";
    input.item = std::move(item);
    auto put = world.wait(world.client().put_item(std::move(input)));
    ASSERT_TRUE(put) << put.error().message;
  }
  static std::string names_of(const Item& item) {
    std::string out;
    for (const auto& [name, value] : item) out += (out.empty() ? "" : " ") + name;
    return out;
  }
};

}  // namespace freshet::ordered
