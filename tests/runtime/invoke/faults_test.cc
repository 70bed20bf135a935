// The whole runtime on a store that answers late and out of step, with failing handlers, restarts and power losses,
// from a seed: what was acknowledged is delivered, in order where order is promised, and nothing is left over.
#include <gtest/gtest.h>

#include <set>

#include "tests/runtime/invoke/world.h"

namespace freshet {
namespace {

class FaultTest : public testing::TestWithParam<uint64_t> {
 protected:
  FaultTest() : seed_(GetParam()), dice_(seed_), world_(options(), seed_) {
    AsyncConfig async;
    async.max_retries = 100;
    world_.add_function("Stream");
    world_.add_function("Topic", async, 2);
    world_.add_table("Tasks");
    world_.must(world_.runtime->put_topic({"News"}));
    world_.must(world_.runtime->subscribe({"s", "News", "lambda", "Topic", "", false, false}));
    MappingDefinition mapping;
    mapping.id = "m";
    mapping.table = "Tasks";
    mapping.function = "Stream";
    mapping.batch_size = 7;
    mapping.starting_position = StartingPosition::kTrimHorizon;
    world_.must(world_.runtime->put_mapping(mapping));
    world_.must(world_.tables->durable());
  }
  static RuntimeOptions options() {
    RuntimeOptions options;
    options.invoker.retry_delay = milliseconds(50);
    options.invoker.max_retry_delay = milliseconds(500);
    return options;
  }
  void misbehave() {
    for (const char* function : {"Stream", "Topic"}) {
      const uint64_t kind = dice_.below(4);
      const milliseconds time(dice_.below(30));
      world_.script[function].push_back(kind == 0 ? fails("bad luck", time) : takes(time));
    }
  }
  void act() {
    misbehave();
    if (dice_.below(2) == 0) {
      const std::string id = "t" + std::to_string(10'000 + next_++);
      world_.put("Tasks", Item{{"taskId", id}});
      created_.push_back(id);
    } else {
      PublishInput input;
      input.topic_arn = topic_arn(Account{}, "News");
      input.message = "message-" + std::to_string(10'000 + next_++);
      const std::string text = input.message;
      world_.must(world_.runtime->publisher().publish(std::move(input)));
      published_.insert(text);
    }
    world_.sim.run_for(milliseconds(dice_.below(20)));
  }
  // Ends the runtime, or the machine after what was acknowledged became durable.
  void disrupt() {
    const uint64_t kind = dice_.below(3);
    if (kind == 0) {
      world_.start();
    } else if (kind == 1) {
      world_.must(world_.tables->durable());
      world_.power_loss();
    } else {
      (void)world_.wait(world_.runtime->drain(world_.clock.boot() + seconds(1)));
      world_.start();
    }
  }
  static std::vector<std::string> found(const std::vector<std::string>& payloads, const std::string& prefix,
                                        size_t size) {
    std::vector<std::string> all;
    for (const std::string& payload : payloads) {
      for (size_t at = payload.find(prefix); at != payload.npos; at = payload.find(prefix, at + 1)) {
        all.push_back(payload.substr(at, size));
      }
    }
    return all;
  }

  const uint64_t seed_;
  Random dice_;
  RuntimeWorld world_;
  std::vector<std::string> created_;
  std::set<std::string> published_;
  int next_ = 0;
};

TEST_P(FaultTest, NothingAcknowledgedIsLostAndOrderHolds) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 25; ++i) act();
    disrupt();
  }
  world_.script.clear();
  world_.sim.run_for(seconds(120));
  EXPECT_EQ(world_.stored("event"), 0u);

  // Each record first comes after all that were created before it.
  std::vector<std::string> firsts;
  std::set<std::string> known;
  for (const std::string& id : found(world_.payloads("Stream"), "\"t1", 7)) {
    if (known.insert(id).second) firsts.push_back(id.substr(1));
  }
  EXPECT_EQ(firsts, created_);
  const auto messages = found(world_.payloads("Topic"), "message-", 13);
  EXPECT_EQ(std::set<std::string>(messages.begin(), messages.end()), published_);
  EXPECT_LE(world_.most_running["Topic"], 2);
  EXPECT_EQ(world_.runtime->mappings().at(0).position, created_.size() + 1);
}

// A publish to more subscriptions than one transaction takes is written in parts. Power is lost at the n-th call to the
// files: whole parts are there, from the first on; all of them if it was acknowledged; and each is delivered.
TEST(LargePublish, PowerLossBetweenItsPartsLeavesWholePartsAndTheyAreDelivered) {
  constexpr size_t kAll = 250;
  RuntimeOptions options;
  options.account.id = "123456789012";
  std::set<size_t> found;
  for (uint64_t n = 1; n <= 10; ++n) {
    SCOPED_TRACE("crash at call " + std::to_string(n));
    RuntimeWorld world(options, n);
    world.add_function("Topic", {}, 0);  // Nothing is delivered yet.
    world.must(world.runtime->put_topic({"News"}));
    for (size_t i = 0; i < kAll; ++i) {
      world.must(world.runtime->subscribe({"s" + std::to_string(i), "News", "lambda", "Topic", "", false, false}));
    }
    world.must(world.tables->durable());
    const auto publish = [&] {
      PublishInput input;
      input.topic_arn = topic_arn(options.account, "News");
      input.message = "large";
      return world.wait(world.runtime->publisher().publish(std::move(input)));
    };
    world.files.crash_at(world.files.calls() + n);
    const bool published = publish().has_value();
    const bool acknowledged = published && world.wait(world.tables->durable());
    world.power_loss();
    const size_t kept = world.stored("event");
    found.insert(kept);
    EXPECT_TRUE(kept == kAll || (kept % 100 == 0 && kept < kAll)) << kept;
    if (acknowledged) {
      EXPECT_EQ(kept, kAll);
    } else {
      EXPECT_TRUE(publish());  // As a publisher does that got no answer.
    }
    world.add_function("Topic");
    world.sim.run_for(seconds(60));
    EXPECT_EQ(world.calls("Topic"), acknowledged ? kAll : kept + kAll);
    EXPECT_EQ(world.stored("event"), 0u);
  }
  EXPECT_TRUE(found.contains(100) || found.contains(200)) << "no crash came between the parts";
  EXPECT_TRUE(found.contains(kAll)) << "every crash came early";
}

INSTANTIATE_TEST_SUITE_P(Seeds, FaultTest, testing::Range<uint64_t>(1, 13));

}  // namespace
}  // namespace freshet
