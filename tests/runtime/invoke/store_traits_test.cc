// The runtime, and an event source mapping, are refused on a store that lacks what they need.
#include <gtest/gtest.h>

#include "runtime/runtime.h"
#include "tests/runtime/invoke/world.h"
#include "tests/sim/sim_engine.h"

namespace freshet {
namespace {

class RuntimeTraits : public ::testing::Test {
 protected:
  RuntimeTraits() : engine_(*world_.tables, world_.sim.loop(), 1) {}
  // A runtime of its own beside the world's, on a store that says this of itself.
  std::unique_ptr<Runtime> runtime(StoreTraits traits) {
    engine_.say_traits(traits);
    return std::make_unique<Runtime>(
        RuntimePorts{engine_, world_.sim.loop(), world_.random, world_.http, world_.spawner, world_.natives, nullptr,
                     nullptr, &world_.tables->wall_guard()},
        RuntimeOptions{});
  }

  RuntimeWorld world_{RuntimeOptions{}};
  SimEngine engine_;
};

TEST_F(RuntimeTraits, ARuntimeNeedsTransactionsAndToBeTheOnlyWriter) {
  StoreTraits traits = engine_.traits();
  traits.transactions = false;
  traits.sole_writer = false;
  const auto started = world_.wait(runtime(traits)->start());
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message,
            "the runtime cannot work on this store, which lacks what it needs: one writer, transactions");
}

TEST_F(RuntimeTraits, AMappingNeedsOneStreamWithFullImages) {
  StoreTraits traits = engine_.traits();
  traits.stream = StreamShape::kSharded;
  traits.full_images = false;
  const auto own = runtime(traits);
  ASSERT_TRUE(world_.wait(own->start()));
  ASSERT_TRUE(world_.wait(own->put_function(RuntimeWorld::function("F"))));
  MappingDefinition mapping;
  mapping.id = "m";
  mapping.table = "Tasks";
  mapping.function = "F";
  const auto put = world_.wait(own->put_mapping(mapping));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().message,
            "the event source mapping of table 'Tasks' cannot work on this store, which lacks what it needs: "
            "a change stream in one shard, full images in its streams");
}

}  // namespace
}  // namespace freshet
