// A strict priority queue that two daemons serve at the same time, which is worse than what a fleet does: over one
// engine whose indexes lag, with lost, late and doubled writes.
#include <algorithm>
#include <array>

#include "base/limits.h"
#include "functions/priority/table_queues.h"
#include "tests/functions/priority/priority_world.h"
#include "tests/runtime/fleet/member_scheduler.h"

namespace freshet::priority {
namespace {

constexpr milliseconds kLagOfIndexes{1500};
constexpr int kQueued = 12;
constexpr milliseconds kClocksDiffer{900};

Settings strict_settings() {
  Settings settings = shipment_settings();
  settings.strict = true;
  settings.visibility = milliseconds(3000);
  return settings;
}

// One daemon's view of the engine, and its queue.
class SharingDaemon {
 public:
  SharingDaemon(QueueWorld& world, const Settings& settings, milliseconds ahead)
      : world_(world), scheduler_(world.scheduler, 1) {
    scheduler_.set_ahead(ahead);
    EmbeddedOptions in_memory;
    in_memory.directory = kMemoryDirectory;
    auto opened = open_embedded(nullptr, world.scheduler, world.random, in_memory);
    EXPECT_TRUE(opened) << opened.error().message;
    memory_ = std::move(*opened);
    world.scheduler.add(*memory_);
    OwnedOptions options;
    options.version = "taskRev";
    tables_ = std::make_unique<OwnedTables>(world.client(), *memory_, scheduler_, options);
    services_ = std::make_unique<Services>(
        Services{*tables_, world.topics, scheduler_, world.random, world.http, world.spawner});
    auto queue_opened = world.wait(TableQueue::open(*services_, settings, {}, nullptr, {}, true));
    EXPECT_TRUE(queue_opened) << queue_opened.error().message;
    queue_ = std::move(*queue_opened);
  }
  SharingDaemon(const SharingDaemon&) = delete;
  SharingDaemon& operator=(const SharingDaemon&) = delete;
  ~SharingDaemon() {
    queue_.reset();
    services_.reset();
    tables_.reset();
    world_.scheduler.remove(*memory_);
  }
  TableQueue& queue() { return *queue_; }

 private:
  QueueWorld& world_;
  MemberScheduler scheduler_;
  std::unique_ptr<EmbeddedTables> memory_;
  std::unique_ptr<OwnedTables> tables_;
  std::unique_ptr<Services> services_;
  std::unique_ptr<TableQueue> queue_;
};

class SharedPriorityQueueTest : public testing::Test {
 protected:
  void begin(uint64_t seed, SimFaults faults, const Settings& settings = strict_settings()) {
    ready_ = settings.states.ready;
    EngineStore engine;
    engine.index_lag = kLagOfIndexes;
    engine.faults = {};
    world_ = std::make_unique<QueueWorld>(engine, seed);
    daemons_[0] = std::make_unique<SharingDaemon>(*world_, settings, milliseconds(0));
    daemons_[1] = std::make_unique<SharingDaemon>(*world_, settings, kClocksDiffer);
    for (int i = 0; i < kQueued; ++i) add("r" + std::to_string(i));
    world_->shown();
    world_->set_faults(faults);
  }
  ~SharedPriorityQueueTest() override {
    scope_.clear();
    daemons_ = {};
  }
  void add(const std::string& id) {
    PutRecordInput put;
    put.id = id;
    put.status = ready_;
    put.attributes.set("data", Value(Map{{"id", Value(id)}}));
    ASSERT_TRUE(world_->wait(queue(0).put(std::move(put))).ok());
    EnqueueInput enqueue;
    enqueue.call.id = id;
    ASSERT_TRUE(world_->wait(queue(0).enqueue(std::move(enqueue))).ok());
    world_->pass(milliseconds(1));
  }
  TableQueue& queue(size_t daemon) { return daemons_[daemon]->queue(); }
  static RecordCall on(const PriorityResult& record) {
    RecordCall call;
    call.id = record.id;
    call.receipt = record.receipt;
    return call;
  }
  PriorityResult peek(size_t daemon) { return world_->wait(queue(daemon).peek(PeekInput{})).front(); }
  // The records that are in flight in the engine, whatever their timeouts: no two daemons agree on the time.
  std::vector<std::string> in_flight() {
    std::vector<std::string> out;
    ScanInput scan;
    scan.table = "Shipment";
    const auto page = world_->wait(world_->store->scan(std::move(scan)));
    EXPECT_TRUE(page);
    for (const ItemRef& item : page->items) {
      const auto facts =
          read_facts(item, {{"id", Type::kString}, {}}, strict_settings(), epoch_ms(world_->clock.wall()));
      EXPECT_TRUE(facts);
      if (facts->place == RecordPlace::kInFlight) out.push_back(facts->id);
    }
    return out;
  }

  // Peeks, and settles what it gets, or does not.
  Async<void> consume(size_t daemon, Random& random) {
    PeekInput input;
    auto peeked = co_await queue(daemon).peek(input);
    if (!peeked.front().ok()) co_return;
    const PriorityResult mine = std::move(peeked.front());
    co_await sleep_for(world_->scheduler, milliseconds(random.below(1500)));
    const size_t other = random.below(daemons_.size());
    const auto what = random.below(10);
    if (what < 5) {
      static_cast<void>(co_await queue(other).remove(on(mine)));
    } else if (what < 7) {
      RestoreInput restore;
      restore.call = on(mine);
      static_cast<void>(co_await queue(other).restore(std::move(restore)));
    } else if (what < 9) {
      co_await sleep_for(world_->scheduler, milliseconds(random.below(2500)));
      static_cast<void>(co_await queue(other).extend(on(mine), milliseconds(1 + random.below(4000))));
    }
  }

  // Makes the item as large as an item can be.
  void fill(const std::string& id) {
    GetItemInput get;
    get.table = "Shipment";
    get.key.set("id", Value(id));
    auto read = world_->wait(world_->store->get_item(std::move(get)));
    ASSERT_TRUE(read && *read);
    PutItemInput put;
    put.table = "Shipment";
    put.item = read->decode();
    const size_t rest = limits::kMaxItemBytes - billed_size(put.item) - std::string("filler").size();
    put.item.set("filler", Value(std::string(rest, 'x')));
    ASSERT_TRUE(world_->wait(world_->client().put_item(std::move(put))));
    world_->shown();
  }

  std::string ready_;
  std::unique_ptr<QueueWorld> world_;
  std::array<std::unique_ptr<SharingDaemon>, 2> daemons_;
  Scope scope_;
};

TEST_F(SharedPriorityQueueTest, OneRecordIsInFlightWhileIndexesLag) {
  begin(1, {});
  const PriorityResult first = peek(0);
  ASSERT_TRUE(first.ok()) << first.detail;
  EXPECT_EQ(first.id, "r0");
  const PriorityResult refused = peek(1);
  EXPECT_EQ(refused.code, PriorityCode::kEmptyQueue);
  EXPECT_EQ(refused.detail, "'shipments' is strict, and record 'r0' is in flight");
  ASSERT_TRUE(world_->wait(queue(1).remove(on(first))).ok());
  // The index still shows the first one.
  const PriorityResult second = peek(1);
  ASSERT_TRUE(second.ok()) << second.detail;
  EXPECT_EQ(second.id, "r1");
  EXPECT_EQ(peek(0).code, PriorityCode::kEmptyQueue);
}

TEST_F(SharedPriorityQueueTest, AfterATimeoutTheNextRecordCanBeClaimed) {
  begin(2, {});
  ASSERT_EQ(peek(0).id, "r0");
  world_->pass(milliseconds(3001));
  const PriorityResult next = peek(1);
  ASSERT_TRUE(next.ok()) << next.detail;
  EXPECT_EQ(in_flight(), std::vector<std::string>{next.id});
}

TEST_F(SharedPriorityQueueTest, ARecordThatWasDeletedLocksNothing) {
  begin(3, {});
  ASSERT_EQ(peek(0).id, "r0");
  ASSERT_TRUE(world_->wait(queue(1).erase("r0")).ok());
  EXPECT_EQ(peek(1).id, "r1");
}

TEST_F(SharedPriorityQueueTest, ARecordThatCannotBeWrittenLocksNothing) {
  Settings settings = strict_settings();
  // A long name of the state that it returns to: the timeout needs more room than it gives back.
  settings.states.ready = "READY_TO_SHIP" + std::string(200, '.');
  begin(4, {}, settings);
  ASSERT_EQ(peek(0).id, "r0");
  fill("r0");
  world_->pass(milliseconds(3001));
  const PriorityResult next = peek(1);
  ASSERT_TRUE(next.ok()) << next.detail;
  EXPECT_EQ(next.id, "r1");
  ASSERT_FALSE(next.passed.empty());
  EXPECT_EQ(next.passed[0], "record 'r0' cannot be written: Item size to update has exceeded the maximum allowed size");
  EXPECT_EQ(peek(0).code, PriorityCode::kEmptyQueue) << "the next one is in flight";
}

TEST_F(SharedPriorityQueueTest, PropertyAtMostOneRecordIsInFlightUnderFaults) {
  const auto seeds = test_seeds(40);
  size_t taken = 0;
  for (const uint64_t seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimFaults faults = SimFaults::some();
    faults.everywhere = true;
    begin(seed, faults);
    Random random(seed);
    for (int step = 0; step < 60; ++step) {
      const size_t peeks = 1 + random.below(3);
      for (size_t i = 0; i < peeks; ++i) scope_.spawn(consume(random.below(daemons_.size()), random));
      const uint64_t looks = 1 + random.below(20);
      for (uint64_t look = 0; look < looks; ++look) {
        world_->pass(milliseconds(1 + random.below(60)));
        const auto now = in_flight();
        ASSERT_LE(now.size(), 1u) << now[0] << " and " << now[1];
        taken += now.size();
      }
    }
    scope_.clear();
    world_->set_faults({});
    // Then it is emptied.
    size_t done = 0;
    for (int i = 0; i < 200 && done < kQueued; ++i) {
      const PriorityResult next = peek(random.below(daemons_.size()));
      if (next.ok() && world_->wait(queue(0).remove(on(next))).ok()) ++done;
      if (!next.ok()) world_->pass(milliseconds(500));
    }
    world_->pass(seconds(5));
    EXPECT_EQ(peek(0).code, PriorityCode::kEmptyQueue);
    EXPECT_EQ(in_flight().size(), 0u);
    daemons_ = {};
  }
  EXPECT_GT(taken, seeds.size() * 20);
}

}  // namespace
}  // namespace freshet::priority
