// LAYOUT=fleet: a queue on an engine whose index holds only the tasks that may still move (functions/queue/layout.h).
#include "functions/queue/layout.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "functions/queue/arrows.h"
#include "functions/queue/attributes.h"
#include "functions/queue/creation_elsewhere.h"
#include "tests/functions/world.h"

namespace freshet {
namespace {

StoreTraits traits_of(bool immediate) {
  StoreTraits traits;
  traits.immediate = immediate;
  return traits;
}

const TaskLayout& fleet_layout() {
  return task_layout(Layout::kFleet, traits_of(false));
}

TEST(TaskLayout, TheEmbeddedStoreHasOneLayout) {
  EXPECT_EQ(&task_layout(Layout::kFleet, traits_of(true)), &sample_layout());
  EXPECT_EQ(&task_layout(Layout::kSample, traits_of(false)), &sample_layout());
  EXPECT_TRUE(fleet_layout().has_places);
}

TEST(TaskLayout, OnlyTasksThatSucceededAreInNoIndex) {
  for (const auto status : state::kAll) {
    EXPECT_TRUE(sample_layout().indexes(status));
    EXPECT_EQ(fleet_layout().indexes(status), status != state::kSuccess);
  }
}

TEST(TaskLayout, RanksRiseWithinAMillisecondAndStayBelowTheNext) {
  RankSequence ranks;
  const WallTime created(milliseconds(1'800'000'000'000));
  std::vector<Decimal> seen;
  for (const uint32_t number : {0u, 1u, 2u}) {
    ASSERT_EQ(ranks.next(created), number);
    Item task{{"taskId", Value("a")}, {"taskStatus", Value("PENDING")}};
    task.set("taskCreated", Value::number(epoch_ms(created)));
    fleet_layout().place(task, number);
    EXPECT_EQ(task.string_or("taskPlace"), "PENDING");
    EXPECT_FALSE(fleet_layout().is_misplaced(ItemRef::encode(task)));
    seen.push_back(*task.find("taskRank")->get_if<Decimal>());
  }
  EXPECT_LT(seen[0], seen[1]);
  EXPECT_LT(seen[1], seen[2]);
  EXPECT_LT(seen[2], Decimal(epoch_ms(created) + 1));
  EXPECT_EQ(ranks.next(created + milliseconds(1)), 0u);
}

TEST(TaskLayout, ATaskIsMisplacedIfItsStateOrItsTimeSaysAnotherPlace) {
  Item task{{"taskId", Value("a")}, {"taskStatus", Value("TAKEN")}, {"taskCreated", Value::number(5)}};
  const auto misplaced = [&] { return fleet_layout().is_misplaced(ItemRef::encode(task)); };
  EXPECT_TRUE(misplaced()) << "it has no place";
  EXPECT_FALSE(sample_layout().is_misplaced(ItemRef::encode(task)));
  fleet_layout().place(task, 3);
  EXPECT_FALSE(misplaced());
  task.set("taskStatus", Value("DEAD"));
  EXPECT_TRUE(misplaced());
  task.set("taskPlace", Value("DEAD"));
  EXPECT_FALSE(misplaced());
  task.set("taskCreated", Value::number(6));
  EXPECT_TRUE(misplaced()) << "its rank is that of another time";
  task.set("taskCreated", Value("x"));
  EXPECT_FALSE(misplaced()) << "without a time it is in no index anyway";
  task.set("taskStatus", Value("SUCCESS"));
  EXPECT_TRUE(misplaced()) << "it succeeded, and has a place";
}

TEST(TaskLayout, TheTtlOfALivingTaskHasANameThatTheEngineDoesNotKnow) {
  const std::string table = "QueueTable";
  const auto changed = [&](const TaskLayout& layout, const Item& task, std::string_view to,
                           std::optional<Value> ttl = {}, bool edits = false) {
    TaskChange change(table, ItemRef::encode(task), to, WallTime(milliseconds(9)));
    if (edits) ttl ? change.set("ttl", *ttl) : change.remove("ttl");
    Item out = task;
    for (const auto& edit : layout.placed(std::move(change).finish()).edits) {
      edit.value ? out.set(edit.name, *edit.value) : static_cast<void>(out.erase(edit.name));
    }
    return fmt::format("taskTtl {} ttl {}", out.int_or("taskTtl", 0), out.int_or("ttl", 0));
  };
  Item living{{"taskId", Value("a")}, {"taskStatus", Value("TAKEN")}, {"taskCreated", Value::number(5)}};
  living.set("taskRank", Value::number(5));
  Item ended = living, both = living;
  living.set("taskTtl", Value::number(70));
  ended.set("ttl", Value::number(70));
  both.set("taskTtl", Value::number(70));
  both.set("ttl", Value::number(80));
  for (const auto to : state::kAll) {
    const bool lives = is_live(to);
    EXPECT_EQ(changed(fleet_layout(), living, to), lives ? "taskTtl 70 ttl 0" : "taskTtl 0 ttl 70") << to;
    EXPECT_EQ(changed(fleet_layout(), ended, to), lives ? "taskTtl 70 ttl 0" : "taskTtl 0 ttl 70") << to;
    EXPECT_EQ(changed(fleet_layout(), both, to), lives ? "taskTtl 80 ttl 0" : "taskTtl 0 ttl 80")
        << "a client wrote the ttl: " << to;
    EXPECT_EQ(changed(fleet_layout(), living, to, Value::number(90), true),
              lives ? "taskTtl 90 ttl 0" : "taskTtl 0 ttl 90")
        << to;
    EXPECT_EQ(changed(fleet_layout(), both, to, {}, true), "taskTtl 0 ttl 0") << to;
    EXPECT_EQ(changed(sample_layout(), living, to), "taskTtl 0 ttl 70") << "the layout was another one before: " << to;
    EXPECT_EQ(changed(sample_layout(), ended, to), "taskTtl 0 ttl 70") << to;
  }
}

class QueueLayout : public ::testing::Test {
 protected:
  QueueLayout() {
    settings.layout = Layout::kFleet;
    settings.backoff = {milliseconds(100), milliseconds(100), 1, 0};
  }
  Result<std::vector<TakenTask>> take(Queue& queue, int max) {
    TakeInput input;
    input.max = max;
    return world.wait(queue.take(input));
  }
  std::string create(Queue& queue, int count) {
    std::vector<NewTask> tasks(static_cast<size_t>(count));
    std::string newest_first;
    for (int i = 0; i < count; ++i) {
      tasks[static_cast<size_t>(i)].id = "t" + std::to_string(i);
      newest_first.insert(0, tasks[static_cast<size_t>(i)].id + (i == 0 ? "" : " "));
    }
    for (auto& created : world.wait(queue.create(std::move(tasks)))) {
      EXPECT_TRUE(created) << created.error().message;
    }
    return newest_first;
  }
  void complete(Queue& queue, const std::vector<TakenTask>& taken) {
    std::vector<Settlement> ends;
    for (const auto& task : taken) ends.push_back(settlement(Settlement::Kind::kComplete, task));
    for (auto& settled : world.wait(queue.settle(std::move(ends)))) ASSERT_TRUE(settled) << settled.error().message;
  }
  uint64_t indexed() {
    uint64_t count = 0;
    for (const auto status : state::kAll) {
      QueryInput query;
      query.table = "QueueTable";
      query.index = "freshet-place-index";
      query.key_condition = "taskPlace = :s";
      query.placeholders.values.set(":s", Value(status));
      count += world.wait(world.store->query(std::move(query)))->count;
    }
    return count;
  }
  // The engine removes what has passed its `ttl`.
  void switch_on_ttl() {
    TableDefinition table = world.wait(world.client().describe_table("QueueTable"))->definition;
    table.ttl_attribute = "ttl";
    ASSERT_TRUE(world.wait(world.client().alter_table(std::move(table))));
  }
  void create_with_ttl(Queue& queue, std::initializer_list<const char*> names, milliseconds ttl) {
    std::vector<NewTask> tasks = named(names);
    for (NewTask& task : tasks) task.ttl = ttl;
    for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created) << created.error().message;
  }
  bool is_gone(const std::string& id) { return world.status(id).empty(); }
  std::string listed(Queue& queue, const std::string& status, uint32_t limit = 100) {
    std::string out;
    ListInput input;
    input.state = status;
    input.limit = limit;
    do {
      auto page = world.wait(queue.list(input));
      EXPECT_TRUE(page) << page.error().message;
      EXPECT_LE(page->tasks.size(), limit);
      for (const auto& task : page->tasks) out.append(text_of(task, attribute::kId)).append(" ");
      input.cursor = page->cursor;
    } while (!input.cursor.empty());
    return out;
  }

  QueueSettings settings;
  QueueWorld world{EngineStore{milliseconds(300), {}}, 1};
};

// Also when nothing is remembered: the index itself has the order of tasks of one millisecond.
TEST_F(QueueLayout, TasksOfOneMillisecondAreTakenNewestFirstAfterARestart) {
  const std::string newest_first = create(world.start(settings), 40);
  world.pass(seconds(1));
  Queue& queue = world.start(settings);
  EXPECT_EQ(ids(take(queue, 100)), newest_first);
}

TEST_F(QueueLayout, TheIndexHoldsOnlyTasksThatMayStillMove) {
  Queue& queue = world.start(settings);
  create(queue, 6);
  const auto taken = take(queue, 4);
  ASSERT_EQ(taken->size(), 4u);
  world.pass(seconds(1));
  EXPECT_EQ(indexed(), 6u);
  complete(queue, *taken);
  world.pass(seconds(1));
  EXPECT_EQ(indexed(), 2u);
  EXPECT_FALSE(world.read("t5").contains("taskPlace"));
  EXPECT_EQ(world.status("t5"), "SUCCESS");
  EXPECT_EQ(world.wait(queue.stats())->depth.at("SUCCESS"), 4u);
}

TEST_F(QueueLayout, TasksThatSucceededAreListedAndPurgedByAScan) {
  Queue& queue = world.start(settings);
  create(queue, 9);
  complete(queue, *take(queue, 7));
  world.pass(seconds(1));
  for (const uint32_t limit : {1u, 2u, 100u}) {
    const std::string all = listed(queue, "SUCCESS", limit);
    EXPECT_EQ(std::count(all.begin(), all.end(), ' '), 7) << all;
    for (int i = 2; i < 9; ++i) EXPECT_NE(all.find("t" + std::to_string(i) + " "), std::string::npos) << all;
  }
  EXPECT_EQ(listed(queue, "PENDING"), "t1 t0 ");
  BulkInput purge;
  purge.action = BulkInput::Action::kPurge;
  purge.states = {"SUCCESS"};
  ASSERT_TRUE(world.wait(queue.start_job(purge, {})));
  world.pass(seconds(3));
  EXPECT_EQ(listed(queue, "SUCCESS"), "");
  EXPECT_EQ(listed(queue, "PENDING"), "t1 t0 ");
}

TEST_F(QueueLayout, TasksThatEndedOtherwiseAreRedrivenByTheIndex) {
  settings.max_attempts = 1;
  Queue& queue = world.start(settings);
  create(queue, 3);
  std::vector<Settlement> ends;
  const auto taken = take(queue, 2);
  for (const auto& task : *taken) ends.push_back(settlement(Settlement::Kind::kFail, task));
  for (auto& settled : world.wait(queue.settle(std::move(ends)))) ASSERT_TRUE(settled) << settled.error().message;
  EXPECT_EQ(listed(queue, "DEAD"), "t2 t1 ");
  RedriveInput redrive;
  redrive.state = "DEAD";
  EXPECT_EQ(*world.wait(queue.redrive(redrive)), 2u);
  EXPECT_EQ(ids(take(queue, 5)), "t2 t1 t0");
}

TEST_F(QueueLayout, TasksOfSdkClientsAreFoundWithoutAPlace) {
  settings.lease = seconds(300);
  Queue& queue = world.start(settings);
  create(queue, 1);
  world.put_pending("theirs", world.now_ms() + 1000);
  world.pass(seconds(5));
  EXPECT_EQ(ids(take(queue, 1)), "t0");
  world.pass(seconds(70));
  EXPECT_EQ(ids(take(queue, 5)), "theirs");
  EXPECT_EQ(world.read("theirs").string_or("taskPlace"), "TAKEN");
}

TEST_F(QueueLayout, ATaskThatAClientEndedIsNotTakenAndLeavesTheIndex) {
  Queue& queue = world.start(settings);
  create(queue, 2);
  world.pass(seconds(1));
  Item ended = world.read("t1");
  ended.set("taskStatus", Value("SUCCESS"));
  world.put(std::move(ended));
  world.pass(seconds(1));
  EXPECT_EQ(ids(take(queue, 5)), "t0");
  world.pass(seconds(70));
  EXPECT_EQ(indexed(), 1u) << "the held one";
  EXPECT_FALSE(world.read("t1").contains("taskPlace"));
}

// The index by deadline still shows it as waiting.
TEST_F(QueueLayout, ATaskThatAClientEndedIsNotShedAtItsDeadline) {
  Queue& queue = world.start(settings);
  std::vector<NewTask> tasks = named({"done", "waits"});
  for (NewTask& task : tasks) task.deadline_in = seconds(5);
  for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created);
  world.pass(seconds(1));
  Item ended = world.read("done");
  ended.set("taskStatus", Value("SUCCESS"));
  world.put(std::move(ended));
  world.pass(seconds(10));
  EXPECT_EQ(world.status("done"), "SUCCESS");
  EXPECT_EQ(world.status("waits"), "SHED");
}

// A write of the queue gives a task its whole place.
TEST_F(QueueLayout, ATaskOfAClientThatIsRedrivenByItsIdIsTaken) {
  Queue& queue = world.start(settings);
  world.pass(seconds(1));
  world.put({{"taskId", Value("a")}, {"taskStatus", Value("DEAD")}, {"taskCreated", Value::number(world.now_ms())}});
  RedriveInput redrive;
  redrive.state = "DEAD";
  redrive.ids = {"a"};
  EXPECT_EQ(*world.wait(queue.redrive(redrive)), 1u);
  EXPECT_EQ(ids(take(queue, 5)), "a");
}

TEST_F(QueueLayout, ATaskWithoutAPlaceIsExplained) {
  Queue& queue = world.start(settings);
  world.pass(seconds(1));
  world.put_pending("theirs", world.now_ms());
  const auto explained = world.wait(queue.explain("theirs"));
  ASSERT_TRUE(explained) << explained.error().message;
  EXPECT_TRUE(std::any_of(explained->why.begin(), explained->why.end(),
                          [](const auto& reason) { return reason.code == "no-place"; }));
  EXPECT_EQ(queue.broken(), nullptr);
}

// Each take finds the task that cannot get its place.
TEST_F(QueueLayout, ATaskThatCannotGetItsPlaceIsNotWrittenAgainAndAgain) {
  Queue& queue = world.start(settings);
  create(queue, 1);
  world.pass(seconds(1));
  Item moved = world.read("t0");
  moved.set("taskStatus", Value("CANCELLED"));
  moved.set("fill", Value(""));
  moved.set("fill", Value(std::string(limits::kMaxItemBytes - billed_size(moved), 'x')));
  world.put(std::move(moved));
  world.pass(seconds(1));
  const uint64_t calls = world.store_calls();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ids(take(queue, 1)), "");
  world.pass(seconds(5));
  EXPECT_LT(world.store_calls() - calls, 150u);
}

// An engine bills what an index holds: payloads and results are not in it.
TEST_F(QueueLayout, ItsIndexesHoldOnlyWhatItLooksFor) {
  Queue& queue = world.start(settings);
  const auto definition = world.wait(world.client().describe_table("QueueTable"))->definition;
  EXPECT_EQ(definition.index("freshet-place-index")->included,
            (std::vector<std::string>{"deadline", "taskCreated", "taskStatus"}));
  EXPECT_EQ(definition.index("freshet-place-deadline-index")->included,
            (std::vector<std::string>{"taskCreated", "taskStatus"}));
  for (const auto& index : definition.indexes) {
    const bool is_own = index.name.starts_with("freshet-");
    EXPECT_EQ(index.projection, is_own ? Projection::kInclude : Projection::kAll) << index.name;
  }
  // The next daemon knows none of these tasks: it reads them whole.
  std::vector<NewTask> tasks(3);
  for (size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].id = "t" + std::to_string(i);
    tasks[i].payload = Value("work " + std::to_string(i));
  }
  world.wait(queue.create(std::move(tasks)));
  world.pass(seconds(1));
  Queue& next = world.start(settings);
  const auto taken = take(next, 2);
  ASSERT_EQ(ids(taken), "t2 t1");
  EXPECT_EQ((*taken)[0].task.decode().string_or("payload"), "work 2");
  EXPECT_EQ(listed(next, "PENDING"), "t0 ");
}

// An index is kept if it has whole items already: to make it anew takes minutes.
TEST_F(QueueLayout, AnIndexWithWholeItemsIsKept) {
  TableDefinition table = world.wait(world.client().describe_table("QueueTable"))->definition;
  const KeySchema keys{{"taskPlace", Type::kString}, KeyAttribute{"taskRank", Type::kNumber}};
  table.indexes.push_back({"freshet-place-index", keys, false, Projection::kAll, {}});
  ASSERT_TRUE(world.wait(world.client().alter_table(std::move(table))));
  Queue& queue = world.start(settings);
  create(queue, 2);
  EXPECT_EQ(ids(take(queue, 1)), "t1");
  const auto definition = world.wait(world.client().describe_table("QueueTable"))->definition;
  EXPECT_EQ(definition.index("freshet-place-index")->projection, Projection::kAll);
  EXPECT_EQ(definition.index("freshet-lane-index")->projection, Projection::kInclude);
  EXPECT_TRUE(world.wait(queue.stats()));
}

// LAYOUT changes for a table with tasks, and back: each task goes on, newest first.
TEST_F(QueueLayout, ATableChangesItsLayout) {
  settings.layout = Layout::kSample;
  settings.lease = seconds(20);
  {
    Queue& queue = world.start(settings);
    create(queue, 5);
    complete(queue, *take(queue, 1));
    EXPECT_EQ(ids(take(queue, 1)), "t3");
  }
  world.pass(seconds(1));
  settings.layout = Layout::kFleet;
  {
    Queue& queue = world.start(settings);
    world.pass(seconds(25));
    EXPECT_EQ(ids(take(queue, 2)), "t3 t2") << "the lease of t3 has ended";
    complete(queue, *take(queue, 1));
    EXPECT_EQ(world.status("t1"), "SUCCESS");
  }
  world.pass(seconds(1));
  settings.layout = Layout::kSample;
  Queue& queue = world.start(settings);
  world.pass(seconds(25));
  EXPECT_EQ(ids(take(queue, 9)), "t3 t2 t0");
  EXPECT_EQ(listed(queue, "SUCCESS"), "t4 t1 ");
}

TEST_F(QueueLayout, AnEngineRemovesNoTaskThatIsInWork) {
  switch_on_ttl();
  settings.lease = seconds(60);
  Queue& queue = world.start(settings);
  create_with_ttl(queue, {"a"}, seconds(5));
  const auto taken = take(queue, 1);
  ASSERT_EQ(ids(taken), "a");
  world.pass(seconds(20));
  ASSERT_EQ(world.status("a"), "TAKEN");
  complete(queue, *taken);
  world.pass(seconds(3));
  EXPECT_TRUE(is_gone("a")) << "it has ended, and its ttl is over";
}

TEST_F(QueueLayout, ATaskThatIsRedrivenLivesAgain) {
  switch_on_ttl();
  settings.max_attempts = 1;
  settings.lease = seconds(600);
  Queue& queue = world.start(settings);
  create_with_ttl(queue, {"a"}, seconds(30));
  std::vector<Settlement> ends;
  const auto taken = take(queue, 1);
  ends.push_back(settlement(Settlement::Kind::kFail, taken->at(0)));
  ASSERT_TRUE(world.wait(queue.settle(std::move(ends)))[0]);
  EXPECT_EQ(world.status("a"), "DEAD");
  EXPECT_TRUE(world.read("a").contains("ttl"));
  RedriveInput redrive;
  redrive.state = "DEAD";
  EXPECT_EQ(*world.wait(queue.redrive(redrive)), 1u);
  EXPECT_FALSE(world.read("a").contains("ttl"));
  EXPECT_EQ(ids(take(queue, 1)), "a");
  world.pass(seconds(60));
  EXPECT_EQ(world.status("a"), "TAKEN");
}

// No take comes to the end of the queue, and the engine does not know the ttl of a task that waits.
TEST_F(QueueLayout, WhatHasExpiredAtTheEndOfTheQueueIsShedByASearch) {
  switch_on_ttl();
  Queue& queue = world.start(settings);
  create_with_ttl(queue, {"a", "b"}, seconds(50));
  std::vector<NewTask> tasks = named({"later"});
  tasks[0].ttl = seconds(40);
  tasks[0].delay = seconds(3600);
  ASSERT_TRUE(world.wait(queue.create(std::move(tasks)))[0]);
  create_with_ttl(queue, {"fresh"}, seconds(3600));
  world.pass(seconds(250));
  EXPECT_TRUE(is_gone("a"));
  EXPECT_TRUE(is_gone("b"));
  EXPECT_TRUE(is_gone("later"));
  const auto stats = world.wait(queue.stats());
  EXPECT_EQ(stats->shed.at("ttl"), 3u);
  EXPECT_EQ(stats->depth.at("PENDING"), 1u);
  EXPECT_EQ(ids(take(queue, 5)), "fresh");
}

TEST_F(QueueLayout, ATaskOfAClientIsNotRemovedOnceTheQueueKnowsIt) {
  switch_on_ttl();
  settings.lease = seconds(300);
  Queue& queue = world.start(settings);
  world.put({{"taskId", Value("theirs")},
             {"taskStatus", Value("PENDING")},
             {"taskCreated", Value::number(world.now_ms())},
             {"ttl", Value::number(world.now_ms() / 1000 + 100)}});
  world.pass(seconds(70));
  EXPECT_EQ(world.read("theirs").int_or("taskTtl", 0), world.now_ms() / 1000 + 30);
  ASSERT_EQ(ids(take(queue, 1)), "theirs");
  world.pass(seconds(100));
  EXPECT_EQ(world.status("theirs"), "TAKEN");
}

// The search renames the ttl of a held task, of which the queue knows only what it was when it was taken.
TEST_F(QueueLayout, ATaskThatIsHeldWhileTheLayoutChangesHasItsTtlAtTheEnd) {
  settings.layout = Layout::kSample;
  settings.lease = seconds(600);
  create_with_ttl(world.start(settings), {"a"}, seconds(3600));
  settings.layout = Layout::kFleet;
  Queue& queue = world.start(settings);
  const auto taken = take(queue, 1);
  ASSERT_EQ(ids(taken), "a");
  Item held = world.read("a");
  held.set("ttl", *held.find("taskTtl"));
  held.erase("taskTtl");
  world.put(std::move(held));
  world.pass(seconds(130));
  EXPECT_TRUE(world.read("a").contains("taskTtl"));
  complete(queue, *taken);
  EXPECT_EQ(world.status("a"), "SUCCESS");
  EXPECT_TRUE(world.read("a").contains("ttl"));
  EXPECT_FALSE(world.read("a").contains("taskTtl"));
}

TEST_F(QueueLayout, BulkChangesFindTasksByTheirTtl) {
  Queue& queue = world.start(settings);
  create_with_ttl(queue, {"a"}, seconds(3600));
  create_with_ttl(queue, {"b"}, seconds(7200));
  world.pass(seconds(1));
  BulkInput purge;
  purge.action = BulkInput::Action::kPurge;
  purge.states = {"PENDING"};
  purge.where = {{"ttl", std::to_string(world.read("a").int_or("taskTtl", 0))}};
  ASSERT_TRUE(world.wait(queue.start_job(purge, {})));
  world.pass(seconds(3));
  EXPECT_TRUE(is_gone("a"));
  EXPECT_EQ(world.status("b"), "PENDING");
}

// Neither the reason nor the marks of a write fit.
TEST_F(QueueLayout, WhatHasExpiredAndHasNoRoomIsSetAside) {
  Queue& queue = world.start(settings);
  Item task{
      {"taskId", Value("full")}, {"taskStatus", Value("PENDING")}, {"taskCreated", Value::number(world.now_ms())}};
  task.set("ttl", Value::number(world.now_ms() / 1000 + 10));
  task.set("fill", Value(""));
  task.set("fill", Value(std::string(limits::kMaxItemBytes - billed_size(task), 'x')));
  world.pass(seconds(30));
  world.put(std::move(task));
  world.pass(seconds(200));
  EXPECT_EQ(world.status("full"), "DEAD");
  EXPECT_TRUE(world.wait(queue.stats()));
}

// It is never served, so the engine may remove it.
TEST_F(QueueLayout, ATaskWithoutATimeKeepsItsTtl) {
  Queue& queue = world.start(settings);
  world.put(
      {{"taskId", Value("a")}, {"taskStatus", Value("PENDING")}, {"ttl", Value::number(world.now_ms() / 1000 + 500)}});
  world.pass(seconds(130));
  EXPECT_TRUE(world.read("a").contains("ttl"));
  EXPECT_FALSE(world.read("a").contains("taskTtl"));
  EXPECT_TRUE(world.wait(queue.stats()));
}

TEST_F(QueueLayout, TtlsGetTheNameThatTheLayoutHas) {
  settings.layout = Layout::kSample;
  create_with_ttl(world.start(settings), {"a", "b", "c"}, seconds(3600));
  EXPECT_TRUE(world.read("a").contains("ttl"));
  settings.layout = Layout::kFleet;
  Queue* queue = &world.start(settings);
  world.pass(seconds(5));
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_FALSE(world.read(name).contains("ttl")) << name;
    EXPECT_TRUE(world.read(name).contains("taskTtl")) << name;
  }
  complete(*queue, *take(*queue, 1));
  EXPECT_TRUE(world.read("c").contains("ttl"));
  world.pass(seconds(1));
  settings.layout = Layout::kSample;
  queue = &world.start(settings);
  world.pass(seconds(10));
  EXPECT_FALSE(world.read("a").contains("taskTtl")) << "the engine removes it, as the layout has it";
  const auto rest = take(*queue, 2);
  ASSERT_EQ(ids(rest), "b a");
  complete(*queue, *rest);
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_TRUE(world.read(name).contains("ttl")) << name;
    EXPECT_FALSE(world.read(name).contains("taskTtl")) << name;
  }
}

// A daemon that does not serve the queue creates tasks, too.
TEST_F(QueueLayout, TasksCreatedElsewhereHaveTheirPlace) {
  Queue& queue = world.start(settings);
  CreationElsewhere elsewhere(world.client(), world.scheduler, world.random, world.store->wall_guard(), "other:1");
  auto created = world.wait(elsewhere.create("QueueTable", settings, named({"a", "b", "c"})));
  ASSERT_TRUE(created);
  EXPECT_EQ(world.read("b").string_or("taskPlace"), "PENDING");
  world.pass(seconds(2));
  EXPECT_EQ(ids(take(queue, 5)), "c b a");
}

TEST_F(QueueLayout, ClientsMayNotSetThePlace) {
  Queue& queue = world.start(settings);
  for (const char* name : {"taskPlace", "taskRank", "taskTtl"}) {
    std::vector<NewTask> tasks(1);
    tasks[0].attributes.set(name, Value("x"));
    const auto created = world.wait(queue.create(std::move(tasks)));
    ASSERT_FALSE(created[0]);
    EXPECT_EQ(created[0].error().code, ErrorCode::kValidation);
  }
}

// `freshet copy` brings a table of an engine into a folder as it is.
TEST(QueueLayoutMoves, ATaskThatComesFromAnEngineHasItsTtlInTheDaemonsOwnStore) {
  QueueWorld world(false, 1);
  Item task{{"taskId", Value("a")}, {"taskStatus", Value("PENDING")}, {"taskCreated", Value::number(world.now_ms())}};
  task.set("taskTtl", Value::number(world.now_ms() / 1000 + 20));
  Item own = task;
  own.set("taskId", Value("b"));
  task.set("taskRank", Value::number(world.now_ms()));
  world.put(task);
  world.put(own);
  world.start();
  world.pass(seconds(5));
  EXPECT_TRUE(world.read("a").contains("ttl"));
  EXPECT_FALSE(world.read("a").contains("taskTtl"));
  world.pass(seconds(30));
  EXPECT_EQ(world.status("a"), "") << "its ttl is over";
  EXPECT_EQ(world.status("b"), "PENDING") << "the attribute is its client's own";
  EXPECT_TRUE(world.read("b").contains("taskTtl"));
}

}  // namespace
}  // namespace freshet
