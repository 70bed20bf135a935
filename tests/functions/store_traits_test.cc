// A part that needs more of its store than the store can do is refused when it starts, and says why.
#include <gtest/gtest.h>

#include "functions/count/counter_table.h"
#include "functions/filtered/table_queue.h"
#include "functions/priority/table_queue.h"
#include "runtime/runtime.h"
#include "tests/functions/world.h"

namespace freshet {
namespace {

class StoreTraitsTest : public ::testing::Test {
 protected:
  // From now on the store says that it cannot do this.
  void lack(bool StoreTraits::*trait) {
    traits_.*trait = false;
    engine_.say_traits(traits_);
  }
  std::string refusal_of_queue() {
    Queues queues(services_, EventLog(), QueueIdentity{"n", "life"}, nullptr, &world_.store->wall_guard());
    auto opened = world_.wait(queues.open("QueueTable", QueueSettings{}));
    return opened ? "" : opened.error().message;
  }
  std::string refusal_of_priority() {
    priority::Settings settings;
    settings.name = "Orders";
    settings.table = "Orders";
    auto opened = world_.wait(priority::TableQueue::open(services_, settings, {}, nullptr));
    return opened ? "" : opened.error().message;
  }
  std::string refusal_of_filtered() {
    filtered::Settings settings;
    settings.name = "Agents";
    settings.table = "Agents";
    filtered::FilterAttribute skill;
    skill.name = "skill";
    skill.values = {"a", "b"};
    settings.attributes.push_back(skill);
    auto opened = world_.wait(filtered::TableQueue::open(services_, settings));
    return opened ? "" : opened.error().message;
  }

  QueueWorld world_{false};
  SimEngine engine_{*world_.store, world_.scheduler, 1};
  StoreTraits traits_ = engine_.traits();
  Services services_{engine_, world_.topics, world_.scheduler, world_.random, world_.http, world_.spawner};
};

TEST_F(StoreTraitsTest, AStoreThatCanDoAllServesAll) {
  EXPECT_EQ(refusal_of_queue(), "");
  EXPECT_EQ(refusal_of_priority(), "");
  EXPECT_EQ(refusal_of_filtered(), "");
}

TEST_F(StoreTraitsTest, AQueueNeedsExactIndexesAndSaysSo) {
  lack(&StoreTraits::exact_index);
  EXPECT_EQ(refusal_of_queue(),
            "queue 'QueueTable' cannot work on this store, which lacks what it needs: exact indexes");
  EXPECT_EQ(refusal_of_priority(),
            "priority queue 'Orders' cannot work on this store, which lacks what it needs: exact indexes");
  EXPECT_EQ(refusal_of_filtered(), "") << "it reads the table itself";
}

TEST_F(StoreTraitsTest, AQueueNamesAllThatItsStoreLacks) {
  lack(&StoreTraits::exact_index);
  lack(&StoreTraits::books);
  lack(&StoreTraits::prompt_ttl);
  EXPECT_EQ(refusal_of_queue(),
            "queue 'QueueTable' cannot work on this store, which lacks what it needs: exact indexes, books");
}

TEST_F(StoreTraitsTest, WithoutTransactionsMuchIsRefused) {
  lack(&StoreTraits::transactions);
  EXPECT_NE(refusal_of_queue(), "");
  EXPECT_NE(refusal_of_priority(), "");
  EXPECT_EQ(refusal_of_filtered(),
            "filtered queue 'Agents' cannot work on this store, which lacks what it needs: transactions");
  CounterTable counters(engine_, "Metrics", "QueueTable#taskStatus");
  const auto counted = world_.wait(counters.check());
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().message, "count_states cannot work on this store, which lacks what it needs: transactions");
}

}  // namespace
}  // namespace freshet
