// A FIFO topic of several daemons over one simulated engine: one daemon at a time serves it. Daemons die, stand still
// past their lease, and hand the topic over; calls of the engine are lost, late and doubled. What was acknowledged is
// delivered, in the order of its group; numbers rise; what is published again within five minutes is not sent again.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/invoke/codec.h"
#include "runtime/runtime.h"
#include "streams/topic_service.h"
#include "tables/engine/embedded.h"
#include "tables/lease/events_table.h"
#include "tables/owned/split_tables.h"
#include "tables/value/json.h"
#include "tests/runtime/fakes.h"
#include "tests/runtime/fleet/member_scheduler.h"
#include "tests/sim/seeds.h"
#include "tests/sim/sim_engine.h"

namespace freshet {
namespace {

constexpr const char* kTopic = "Orders.fifo";
constexpr milliseconds kLease{300};

struct Delivered {
  std::string message;  // "GROUP NUMBER".
  std::string id;
  std::string sequence;
};

Delivered delivered_in(std::string_view payload) {
  const auto event = parse_plain_json(payload);
  const List* records = event->get_if<Map>()->find("Records")->get_if<List>();
  const Map* sns = records->elements.at(0).get_if<Map>()->find("Sns")->get_if<Map>();
  return {std::string(sns->string_or("Message")), std::string(sns->string_or("MessageId")),
          std::string(sns->string_or("SequenceNumber"))};
}

std::string group_of(const std::string& message) {
  return message.substr(0, message.find(' '));
}
int number_of(const std::string& message) {
  return std::stoi(message.substr(message.find(' ') + 1));
}

class SharedTopics : public testing::Test {
 protected:
  SharedTopics() : world(clock), random(1) { begin(1); }
  ~SharedTopics() override { end(); }

  struct Daemon final : TopicFleet {
    Daemon(SharedTopics& all, const std::string& id, SimFaults faults, bool in_fleet)
        : test(all),
          name(id),
          is_in_fleet(in_fleet),
          scheduler(all.world, 1),
          shared(*all.store, scheduler, all.random.next(), faults),
          tables(all.folder_of(id), shared, TableChanges::kAllowed, {std::string(kOwnEventsTable)}) {
      natives.add("script", [&all, this](Context& context) { return all.play(*this, context); });
      RuntimePorts ports{tables, scheduler, all.random, http, spawner, natives};
      RuntimeOptions options;
      options.invoker.retry_delay = milliseconds(50);
      options.invoker.max_retry_delay = milliseconds(200);
      runtime = std::make_unique<Runtime>(ports, options);
      if (is_in_fleet) {
        runtime->share_events(id);
        runtime->share_topics(*this);
      }
      scope.spawn(begin());
    }
    Async<void> begin() {
      check(co_await runtime->start());
      TopicDefinition topic{kTopic};
      check(co_await runtime->put_topic(std::move(topic)));
      for (const char* function : {"F", "G"}) {
        FunctionDefinition definition;
        definition.name = function;
        definition.handler = "script";
        definition.async.max_retries = 100;
        check(co_await runtime->put_function(std::move(definition)));
        SubscriptionDefinition subscription{function, kTopic, "lambda", function, "", false, false};
        check(co_await runtime->subscribe(std::move(subscription)));
      }
      is_ready = true;
    }
    template <class T>
    static void check(const Result<T>& done) {
      FRESHET_CHECK(done.has_value(), done ? "" : done.error().message.c_str());
    }
    TopicService& topics() { return runtime->topic_service(); }

    void topics_changed() override {}
    // As FleetCore: by its own clock, which goes on while it stands still.
    bool may_serve(const std::string& topic) const override {
      return topic == kTopic && serves && (test.ignores_leases || scheduler.clock().boot() < lease_until);
    }
    Async<Result<Published>> publish(std::string, PublishInput, MessageByProtocol) override {
      return Result<Published>(fail(ErrorCode::kUnavailable, "another daemon serves it"));
    }

    SharedTopics& test;
    const std::string name;
    const bool is_in_fleet;
    bool is_ready = false;
    bool serves = false;
    BootTime lease_until{BootTime::max()};
    MemberScheduler scheduler;
    SimEngine shared;
    SplitTables tables;
    NativeRegistry natives;
    FakeHttp http{scheduler};
    NoSpawner spawner;
    std::unique_ptr<Runtime> runtime;
    Scope scope;  // The last member, so that it is destroyed first.
  };

  void begin(uint64_t seed) {
    random = Random(seed);
    store = open();
    auto provided = provide_events_table(*store);
    FRESHET_CHECK(provided.is_ready(), "a store in memory answers at once");
    starts.clear();
    successes.clear();
    ids.clear();
    sequences.clear();
    publishers.clear();
    acknowledged.clear();
    unanswered = 0;
    owner.clear();
  }
  void end() {
    publishers.clear();
    daemons.clear();
    for (auto& [name, folder] : folders) world.remove(*folder);
    folders.clear();
    world.remove(*store);
  }
  std::unique_ptr<EmbeddedTables> open() {
    EmbeddedOptions options;
    options.directory = kMemoryDirectory;
    auto opened = open_embedded(nullptr, world, random, options);
    FRESHET_CHECK(opened.has_value(), "a store in memory opens");
    world.add(**opened);
    return std::move(*opened);
  }
  Tables& folder_of(const std::string& daemon) {
    auto& folder = folders[daemon];
    if (!folder) folder = open();
    return *folder;
  }

  Daemon& start(const std::string& id, SimFaults faults = {}, bool is_in_fleet = true) {
    daemons[id] = std::make_unique<Daemon>(*this, id, faults, is_in_fleet);
    Daemon& daemon = *daemons[id];
    world.run_until([&] { return daemon.is_ready; }, seconds(10));
    EXPECT_TRUE(daemon.is_ready);
    if (is_in_fleet) daemon.runtime->serve_events(true);
    return daemon;
  }
  void serve(const std::string& id) {
    Daemon& daemon = *daemons.at(id);
    daemon.serves = true;
    daemon.lease_until = BootTime::max();
    owner = id;
    daemon.topics().serve(kTopic, true);
  }
  static void stop(Daemon& daemon) {
    daemon.serves = false;
    daemon.topics().serve(kTopic, false);
  }
  // The daemon begins nothing more, and the next one waits for what is under way.
  void hand_over(const std::string& to) {
    Daemon& from = *daemons.at(owner);
    stop(from);
    world.run_until([&] { return !from.topics().is_busy(kTopic); }, kLease);
    serve(to);
  }
  void kill() {
    daemons.erase(owner);
    owner.clear();
  }
  // The daemon stands still for so long that another one serves the topic. It learns that only some time after it goes
  // on.
  void freeze(const std::string& next, milliseconds for_time) {
    Daemon& frozen = *daemons.at(owner);
    frozen.scheduler.pause();
    frozen.lease_until = frozen.scheduler.clock().boot() + kLease * 2 / 3;
    world.run_for(kLease);
    serve(next);
    world.run_for(for_time);
    frozen.scheduler.resume();
    world.run_for(milliseconds(random.below(30)));
    stop(frozen);
  }

  Async<Result<std::string>> play(Daemon& daemon, Context& context) {
    const std::string function = context.function.name;
    const Delivered got = delivered_in(context.invocation.payload.text());
    EXPECT_TRUE(daemon.may_serve(kTopic) || !daemon.is_in_fleet)
        << daemon.name << " delivers " << got.message << " without the topic";
    starts[function + group_of(got.message)].push_back(got.message);
    sequences[got.message].insert(got.sequence);
    ids[got.message].insert(got.id);
    co_await sleep_for(daemon.scheduler, milliseconds(random.below(30)));
    if (random.unit() < fails) co_return fail(ErrorCode::kInternal, "it fails now and then");
    ++successes[function + " " + got.message];
    co_return std::string("\"ok\"");
  }

  static PublishInput message(const std::string& text) {
    PublishInput input;
    input.topic_arn = topic_arn(Account{}, kTopic);
    input.message = text;
    input.group_id = group_of(text);
    input.deduplication_id = "of-" + group_of(text) + "-" + std::to_string(number_of(text));
    return input;
  }
  struct Acknowledged {
    std::string message;
    Published published;
    size_t before;  // How many were acknowledged when its publish began.
  };
  // Publishes the messages of one group one after the other, each until it is acknowledged, and now and then again.
  Async<void> produce(std::string group, int count) {
    for (int number = 0; number < count; ++number) {
      const std::string text = group + " " + std::to_string(number);
      const size_t before = acknowledged.size();
      for (bool is_done = false; !is_done;) {
        auto answer = std::make_shared<std::optional<Result<Published>>>();
        Daemon* asked = daemons.contains(owner) ? daemons.at(owner).get() : nullptr;
        if (asked) asked->scope.spawn(ask(*asked, text, answer));
        // A daemon that dies or stands still gives no answer.
        const BootTime end = world.clock().boot() + milliseconds(500);
        while (asked && !*answer && world.clock().boot() < end) co_await sleep_for(world, milliseconds(1));
        if (*answer && **answer) {
          acknowledged.push_back({text, ***answer, before});
          is_done = random.below(4) != 0;
        } else {
          ++unanswered;
          co_await sleep_for(world, milliseconds(5 + random.below(20)));
        }
      }
      co_await sleep_for(world, milliseconds(random.below(40)));
    }
  }
  static Async<void> ask(Daemon& daemon, std::string text, std::shared_ptr<std::optional<Result<Published>>> answer) {
    PublishInput input = message(text);
    MessageByProtocol none;
    auto published = co_await daemon.topics().publish(std::move(input), std::move(none));
    *answer = std::move(published);
  }
  Result<Published> publish(const std::string& id, const std::string& text) {
    auto answer = std::make_shared<std::optional<Result<Published>>>();
    Daemon& daemon = *daemons.at(id);
    daemon.scope.spawn(ask(daemon, text, answer));
    world.run_until([&] { return answer->has_value(); }, seconds(20));
    EXPECT_TRUE(answer->has_value());
    return answer->has_value() ? **answer : Result<Published>(fail(ErrorCode::kTimeout, "no answer"));
  }

  size_t stored(const std::string& kind) {
    QueryInput query;
    query.table = kEventsTable;
    query.key_condition = "#kind = :kind";
    query.placeholders.names = {{"#kind", "kind"}};
    query.placeholders.values.set(":kind", Value(kind));
    auto page = store->query(std::move(query));
    FRESHET_CHECK(page.is_ready(), "a store in memory answers at once");
    return page.take()->items.size();
  }

  // Each acknowledged message was delivered to each subscriber, in the order of its group, and sent once.
  void check_promises() {
    std::map<std::string, std::string> numbers;  // By sequence number.
    std::vector<std::string> highest{""};        // The highest of so many acknowledged ones.
    for (const Acknowledged& one : acknowledged) {
      for (const char* function : {"F", "G"}) {
        EXPECT_GE(successes[function + std::string(" ") + one.message], 1u) << one.message;
      }
      EXPECT_EQ(ids[one.message], std::set<std::string>{one.published.message_id}) << one.message << " was sent twice";
      EXPECT_EQ(sequences[one.message], std::set<std::string>{one.published.sequence_number}) << one.message;
      const auto [known, is_new] = numbers.emplace(one.published.sequence_number, one.message);
      EXPECT_EQ(known->second, one.message) << "a number was given twice";
      if (is_new) {
        EXPECT_GT(one.published.sequence_number, highest[one.before]) << one.message;
      }
      highest.push_back(std::max(highest.back(), one.published.sequence_number));
    }
    for (const auto& [group, messages] : starts) {
      int last = -1;
      for (const std::string& one : messages) {
        EXPECT_LE(number_of(one), last + 1) << group << ": it comes too early";
        EXPECT_GE(number_of(one), last) << group << ": it comes after a later one";
        last = std::max(last, number_of(one));
      }
    }
  }

  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop world;
  Random random;
  double fails = 0;
  bool ignores_leases = false;
  std::string owner;
  std::unique_ptr<EmbeddedTables> store;
  std::map<std::string, std::unique_ptr<EmbeddedTables>> folders;
  std::map<std::string, std::unique_ptr<Daemon>> daemons;
  std::vector<std::unique_ptr<Scope>> publishers;
  std::map<std::string, std::vector<std::string>> starts;  // By function and group.
  std::map<std::string, size_t> successes;                 // By function and message.
  std::map<std::string, std::set<std::string>> ids;        // By message.
  std::map<std::string, std::set<std::string>> sequences;
  std::vector<Acknowledged> acknowledged;
  size_t unanswered = 0;
};

TEST_F(SharedTopics, NumbersGoOnAndWhatWasSentIsKnownAtTheNextDaemon) {
  start("a");
  start("b");
  EXPECT_EQ(publish("a", "g 0").error().code, ErrorCode::kUnavailable);
  serve("a");
  const auto first = publish("a", "g 0");
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->sequence_number, "10000000000000000001");
  kill();
  serve("b");
  const auto again = publish("b", "g 0");
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->message_id, first->message_id);
  EXPECT_EQ(again->sequence_number, first->sequence_number);
  EXPECT_EQ(publish("b", "g 1")->sequence_number, "10000000000000000002");
  // The window ends.
  world.run_for(std::chrono::minutes(6));
  EXPECT_EQ(publish("b", "g 0")->sequence_number, "10000000000000000003");
  EXPECT_EQ(stored(std::string("topic-sent/") + kTopic), 1u) << "what is over is forgotten";
  EXPECT_EQ(stored(events_of_topic(kTopic)), 2u) << "one for each subscription";
  world.run_for(seconds(1));
  EXPECT_EQ(stored(events_of_topic(kTopic)), 0u);
}

TEST_F(SharedTopics, TheNextDaemonDeliversWhatADeadOneHasAcknowledged) {
  fails = 1;
  start("a");
  start("b");
  serve("a");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(publish("a", "g " + std::to_string(i)).has_value());
  world.run_for(seconds(1));
  EXPECT_TRUE(successes.empty());
  kill();
  fails = 0;
  serve("b");
  world.run_for(seconds(5));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(successes["F g " + std::to_string(i)], 1u);
  EXPECT_EQ(stored(events_of_topic(kTopic)), 0u);
}

TEST_F(SharedTopics, ADaemonThatBecomesAMemberGoesOnWithItsNumbers) {
  start("a", {}, false);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(publish("a", "g " + std::to_string(i)).has_value());
  world.run_for(seconds(1));
  daemons.erase("a");
  start("a");
  serve("a");
  EXPECT_EQ(publish("a", "g 3")->sequence_number, "10000000000000000004");
}

TEST_F(SharedTopics, OneThatGivesItUpFinishesWhatIsUnderWay) {
  Daemon& a = start("a");
  start("b");
  serve("a");
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(publish("a", "g " + std::to_string(i)).has_value());
  EXPECT_TRUE(a.topics().is_busy(kTopic));
  hand_over("b");
  EXPECT_FALSE(a.topics().is_busy(kTopic));
  world.run_for(seconds(5));
  for (const auto& [group, messages] : starts) EXPECT_EQ(messages.size(), 10u) << group << ": each once";
}

TEST_F(SharedTopics, ATopicThatIsMadeAnewIsServed) {
  Daemon& a = start("a");
  serve("a");
  ASSERT_TRUE(publish("a", "g 0").has_value());
  world.run_for(seconds(1));
  const auto made_anew = [](Runtime& runtime) -> Async<void> {
    static_cast<void>(co_await runtime.remove_topic(kTopic));
    TopicDefinition topic{kTopic};
    static_cast<void>(co_await runtime.put_topic(std::move(topic)));
  };
  a.scope.spawn(made_anew(*a.runtime));
  world.run_for(milliseconds(100));
  EXPECT_EQ(publish("a", "g 1")->sequence_number, "10000000000000000002");
}

// Takes the topic through many changes of its daemon, with messages of three groups meanwhile.
struct Plan {
  bool kills = false;
  bool freezes = false;
  SimFaults faults{};
};

class SharedTopicsProperty : public SharedTopics {
 protected:
  void run(uint64_t seed, const Plan& plan) {
    end();
    begin(seed);
    fails = 0.1;
    const std::vector<std::string> names{"a", "b", "c"};
    for (const std::string& id : names) start(id, plan.faults);
    serve("a");
    for (const char* group : {"x", "y", "z"}) {
      publishers.push_back(std::make_unique<Scope>());
      publishers.back()->spawn(produce(group, 25));
    }
    for (int step = 0; step < 12; ++step) {
      world.run_for(milliseconds(random.below(300)));
      for (const std::string& id : names) {
        if (!daemons.contains(id)) start(id, plan.faults);
      }
      std::string next = names[random.below(names.size())];
      if (next == owner) continue;
      const uint64_t way = random.below(3);
      if (way == 0 && plan.kills) {
        kill();
        world.run_for(milliseconds(random.below(100)));
        serve(next);
      } else if (way == 1 && plan.freezes) {
        freeze(next, milliseconds(random.below(300)));
      } else {
        hand_over(next);
      }
    }
    world.run_for(seconds(60));
    for (auto& [id, daemon] : daemons) daemon->shared.set_faults({});
    world.run_for(std::chrono::minutes(2));
    EXPECT_GE(acknowledged.size(), 75u) << "all producers have ended";
    EXPECT_EQ(stored(events_of_topic(kTopic)), 0u);
    check_promises();
  }
};

TEST_F(SharedTopicsProperty, HandedOver) {
  for (const uint64_t seed : test_seeds(10)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(seed, {});
    for (const auto& [what, count] : successes) EXPECT_EQ(count, 1u) << what;
  }
}

TEST_F(SharedTopicsProperty, HandedOverOnABadEngine) {
  for (const uint64_t seed : test_seeds(10)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimFaults faults = SimFaults::some();
    faults.everywhere = true;
    run(seed, {false, false, faults});
  }
}

TEST_F(SharedTopicsProperty, KilledAndFrozen) {
  size_t unsure = 0;
  for (const uint64_t seed : test_seeds(25)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimFaults faults = SimFaults::some();
    faults.everywhere = true;
    run(seed, {true, true, faults});
    unsure += unanswered;
  }
  EXPECT_GT(unsure, 20u);
}

}  // namespace
}  // namespace freshet
