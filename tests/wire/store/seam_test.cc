// The conformance suite of the store seam: what tables.h promises, on each store that there is. A test that needs more
// than the calls asks for the trait, and is skipped by its name where the store lacks it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/loop/sim_loop.h"
#include "tables/engine/embedded.h"
#include "tests/sim/sim_engine.h"
#include "tests/tables/things.h"
#include "tests/wire/store/fixed_key.h"
#include "tests/wire/store/looped_back.h"
#include "tests/wire/store/real_endpoint.h"
#include "wire/dynamodb/route.h"
#include "wire/store/remote_tables.h"

namespace freshet {
namespace {

struct Engine {
  const char* name;
  bool simulated = false;
  SimFaults faults{};
  milliseconds index_lag{0};
  enum class Wire { kNone, kLoopedBack, kEndpoint } wire = Wire::kNone;
  WireFaults wire_faults{};

  bool any_unknown() const { return faults.any_unknown() || wire_faults.any_unknown(); }
};

// The name of a test is the same in every run.
void PrintTo(const Engine& engine, std::ostream* out) {
  *out << engine.name;
}

const Engine kEmbedded{"Embedded"};
const Engine kLate{"Late", true};
const Engine kLossy{"Lossy", true, SimFaults::some()};
const Engine kStale{"StaleIndexes", true, {}, milliseconds(1500)};
const Engine kAllAtOnce{"LossyWithStaleIndexes", true, SimFaults::some(), milliseconds(100)};
// Freshet's own protocol, and whatever answers at FRESHET_SEAM_ENDPOINT (tests/conformance/engines_test.py).
const Engine kWire{"Wire", false, {}, {}, Engine::Wire::kLoopedBack};
const Engine kLossyWire{"LossyWire", false, {}, {}, Engine::Wire::kLoopedBack, WireFaults::some()};
const Engine kEndpoint{"Endpoint", false, {}, {}, Engine::Wire::kEndpoint};

// The table as this store can have it.
TableDefinition things_on(const StoreTraits& traits) {
  TableDefinition d = things();
  if (traits.has(Trait::kStream)) d.stream = StreamView::kNewAndOldImages;
  if (traits.has(Trait::kPromptTtl)) d.ttl_attribute = "ttl";
  if (!traits.has(Trait::kBooks)) d.books.reset();
  return d;
}

class Seam : public ::testing::TestWithParam<Engine> {
 protected:
  Seam() {
    const Engine& engine = GetParam();
    if (engine.wire == Engine::Wire::kEndpoint) {
      http_ = std::make_unique<RealEndpoint>(RealEndpoint::url());
    } else {
      store_ = open();
    }
    if (engine.wire == Engine::Wire::kLoopedBack) {
      route_ = make_dynamodb_route(*store_, clock_);
      http_ = std::make_unique<LoopedBack>(*route_, loop_, 7, engine.wire_faults);
    }
    if (http_) {
      keys_ = remote::fixed_key(RealEndpoint::key());
      remote::CallerOptions options;
      options.endpoints = {route_ ? "http://store:8000" : RealEndpoint::url()};
      caller_ = std::make_unique<remote::Caller>(options, *http_, *keys_, loop_, random_);
      remote::RemoteOptions with;
      with.transactions = route_ || !RealEndpoint::lacks("transactions");
      engine_ = std::make_unique<remote::RemoteTables>(*caller_, random_, with);
    } else if (engine.index_lag > milliseconds(0)) {
      behind_ = open();
      engine_ = std::make_unique<SimEngine>(*store_, loop_, 7, engine.faults, *behind_, engine.index_lag);
    } else if (engine.simulated) {
      engine_ = std::make_unique<SimEngine>(*store_, loop_, 7, engine.faults);
    }
  }
  ~Seam() override {
    engine_.reset();
    for (auto* store : {store_.get(), behind_.get()}) {
      if (store) loop_.remove(*store);
    }
  }

  void SetUp() override {
    // The table of the test before.
    if (GetParam().wire == Engine::Wire::kEndpoint) wait(tables().delete_table("Things"));
    const auto created = wait(tables().create_table(things_on(tables().traits())));
    ASSERT_TRUE(created) << created.error().message;
  }

  Tables& tables() { return engine_ ? *engine_ : *store_; }

  template <class T>
  T wait(Async<T> work) {
    for (int i = 0; i < 100'000 && !work.is_ready(); ++i) {
      loop_.run_ready();
      if (!work.is_ready()) loop_.run_for(milliseconds(1));
    }
    EXPECT_TRUE(work.is_ready()) << "no answer";
    return work.take();
  }
  void pass(nanoseconds time) {
    loop_.run_for(time);
    if (GetParam().wire == Engine::Wire::kEndpoint) RealEndpoint::pass();
  }
  // Until whatever was sent is carried out and shown. Nobody knows how long a real engine takes.
  void settle() { pass(seconds(5)); }
  int64_t now_s() const { return epoch_s(clock_.wall()); }

  Item get(const std::string& id) {
    GetItemInput input;
    input.table = "Things";
    input.key = id_key(id);
    const auto item = wait(tables().get_item(std::move(input)));
    EXPECT_TRUE(item) << item.error().message;
    return item && *item ? item->decode() : Item();
  }

  // Puts a new item, and sends that again as long as nobody says what became of it.
  Result<WriteOutput> create(Item item) {
    for (;;) {
      PutItemInput put;
      put.table = "Things";
      put.item = item;
      put.only_new = true;
      auto done = wait(tables().put_item(std::move(put)));
      if (done || done.error().code != ErrorCode::kUnknownOutcome) return done;
      if (!get(std::string(item.string_or("id"))).empty()) return WriteOutput{};
    }
  }
  void fill(int count, const std::string& state = "NEW") {
    for (int i = 0; i < count; ++i) ASSERT_TRUE(create(thing("t" + std::to_string(i), state, i)));
  }

  ItemRef seen(const std::string& id) { return ItemRef::encode(get(id)); }
  EditItemInput edit_of(const ItemRef& seen, const std::string& state) {
    EditItemInput edit;
    edit.table = "Things";
    edit.seen = seen;
    edit.edits.push_back({"state", Value(state)});
    edit.unchanged = {"state"};
    edit.return_item_on_failure = true;
    return edit;
  }
  std::vector<Result<WriteOutput>> edit(std::vector<EditItemInput> edits) {
    return wait(tables().edit_many(std::move(edits)));
  }

  std::vector<std::string> ids_in(const std::string& state, bool forward, uint32_t page) {
    std::vector<std::string> out;
    Item start;
    do {
      QueryInput query;
      query.table = "Things";
      query.index = "by-state";
      query.key_condition = "#s = :s";
      query.placeholders.names = {{"#s", "state"}};
      query.placeholders.values.set(":s", Value(state));
      query.forward = forward;
      query.limit = page;
      query.exclusive_start_key = std::move(start);
      auto got = wait(tables().query(std::move(query)));
      EXPECT_TRUE(got) << got.error().message;
      if (!got) return out;
      for (const auto& item : got->items) out.emplace_back(item.decode().string_or("id"));
      start = std::move(got->last_evaluated_key);
    } while (!start.empty());
    return out;
  }
  std::vector<ChangeRecord> records() {
    std::vector<ChangeRecord> out;
    for (uint64_t from = 1;;) {
      ReadStreamInput read;
      read.table = "Things";
      read.from = from;
      read.limit = 7;
      auto page = wait(tables().read_stream(std::move(read)));
      EXPECT_TRUE(page) << page.error().message;
      if (!page || page->next == from) return out;
      for (auto& record : page->records) out.push_back(std::move(record));
      from = page->next;
    }
  }

  // Real engines check the time of signatures.
  SimClock clock_{GetParam().wire == Engine::Wire::kEndpoint ? SystemClock().wall()
                                                             : WallTime(milliseconds(1'800'000'000'000))};
  SimLoop loop_{clock_};

 private:
  std::unique_ptr<EmbeddedTables> open() {
    EmbeddedOptions options;
    options.directory = kMemoryDirectory;
    auto opened = open_embedded(nullptr, loop_, random_, options);
    EXPECT_TRUE(opened) << opened.error().message;
    loop_.add(**opened);
    return std::move(*opened);
  }

  // The tokens of transactions must be new to a real engine.
  Random random_{GetParam().wire == Engine::Wire::kEndpoint ? random_seed() : 1};
  std::unique_ptr<EmbeddedTables> store_;
  std::unique_ptr<EmbeddedTables> behind_;
  std::unique_ptr<Route> route_;
  std::unique_ptr<HttpClient> http_;
  std::unique_ptr<remote::AccessKeySource> keys_;
  std::unique_ptr<remote::Caller> caller_;
  std::unique_ptr<Tables> engine_;
};

std::vector<Engine> engines() {
  std::vector<Engine> all{kEmbedded, kLate, kLossy, kStale, kAllAtOnce, kWire, kLossyWire};
  if (!RealEndpoint::url().empty()) all.push_back(kEndpoint);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Engines, Seam, ::testing::ValuesIn(engines()),
                         [](const auto& engine) { return engine.param.name; });

// A macro, as only the test itself can be skipped.
#define NEEDS(trait)                                         \
  if (!tables().traits().has(trait)) {                       \
    GTEST_SKIP() << "the store lacks " << trait_name(trait); \
  }                                                          \
  static_assert(true)

TEST_P(Seam, ReadsWhatWasWritten) {
  ASSERT_TRUE(create(thing("a", "NEW", 1)));
  EXPECT_EQ(get("a"), thing("a", "NEW", 1));
  EXPECT_TRUE(get("b").empty());
}

TEST_P(Seam, ACreateOfWhatIsThereIsRefusedAndChangesNothing) {
  ASSERT_TRUE(create(thing("a", "NEW", 1)));
  settle();
  PutItemInput put;
  put.table = "Things";
  put.item = thing("a", "OTHER", 2);
  put.only_new = true;
  const auto again = wait(tables().put_item(std::move(put)));
  ASSERT_FALSE(again);
  EXPECT_TRUE(again.error().code == ErrorCode::kConditionalCheckFailed ||
              again.error().code == ErrorCode::kUnknownOutcome);
  settle();
  EXPECT_EQ(get("a"), thing("a", "NEW", 1));
}

TEST_P(Seam, AnUnknownOutcomeIsOneOfAStoreWithoutImmediateAnswers) {
  size_t unknown = 0;
  for (int i = 0; i < 200; ++i) {
    PutItemInput put;
    put.table = "Things";
    put.item = thing("t" + std::to_string(i), "NEW", i);
    put.only_new = true;
    const auto done = wait(tables().put_item(std::move(put)));
    if (done) continue;
    ASSERT_EQ(done.error().code, ErrorCode::kUnknownOutcome) << done.error().message;
    ++unknown;
  }
  EXPECT_EQ(unknown > 0, GetParam().any_unknown());
  EXPECT_TRUE(unknown == 0 || !tables().traits().has(Trait::kImmediate));
}

TEST_P(Seam, AWriteWithoutAnAnswerIsWhollyThereOrAbsent) {
  fill(100);
  settle();
  for (int i = 0; i < 100; ++i) {
    const auto before = seen("t" + std::to_string(i));
    auto write = edit_of(before, "DONE");
    write.edits.push_back({"word", Value("w")});
    std::vector<EditItemInput> one{std::move(write)};
    const auto answer = edit(std::move(one));
    settle();
    const Item now = get("t" + std::to_string(i));
    const bool done = now.string_or("state") == "DONE";
    EXPECT_EQ(done, now.find("word") != nullptr);
    EXPECT_TRUE(done || !answer[0]);
    EXPECT_TRUE(answer[0] || answer[0].error().code == ErrorCode::kUnknownOutcome);
  }
}

TEST_P(Seam, AnEditHoldsOnlyIfTheItemIsAsItWasSeen) {
  ASSERT_TRUE(create(thing("a", "NEW", 1)));
  const auto before = seen("a");
  for (int i = 0; i < 20 && get("a").string_or("state") == "NEW"; ++i) {
    std::vector<EditItemInput> one{edit_of(before, "ONE")};
    edit(std::move(one));
    settle();
  }
  std::vector<EditItemInput> two{edit_of(before, "TWO")};
  const auto stale = edit(std::move(two));
  ASSERT_FALSE(stale[0]);
  settle();
  EXPECT_EQ(get("a").string_or("state"), "ONE");
  if (stale[0].error().code == ErrorCode::kUnknownOutcome) return;
  EXPECT_EQ(stale[0].error().code, ErrorCode::kConditionalCheckFailed);
  if (RealEndpoint::lacks("refused-items")) GTEST_SKIP() << "the store lacks the item in a refusal";
  const auto failed = std::dynamic_pointer_cast<const ConditionFailed>(stale[0].error().detail);
  ASSERT_TRUE(failed && failed->item);
  EXPECT_EQ(failed->item.decode().string_or("state"), "ONE");
}

TEST_P(Seam, AnEditGuardsWhatIsAbsent) {
  ASSERT_TRUE(create(thing("a", "NEW", 1)));
  auto write = edit_of(seen("a"), "ONE");
  // The state is set, so only the absent holder tells a second sending from the first.
  write.unchanged = {"rank", "holder", "rev"};
  write.edits.push_back({"holder", Value("h")});
  for (int i = 0; i < 20 && get("a").find("holder") == nullptr; ++i) {
    std::vector<EditItemInput> one{write};
    edit(std::move(one));
    settle();
  }
  std::vector<EditItemInput> again{write};
  EXPECT_FALSE(edit(std::move(again))[0]);
}

TEST_P(Seam, EachWriteOfManyHasItsOwnAnswerInOrder) {
  ASSERT_TRUE(create(thing("there", "NEW", 1)));
  settle();
  std::vector<WriteInput> writes;
  for (const char* id : {"a", "there", "b"}) {
    PutItemInput put;
    put.table = "Things";
    put.item = thing(id, "NEW", 2);
    put.condition = "attribute_not_exists(id)";
    writes.emplace_back(std::move(put));
  }
  const auto answers = wait(tables().write_many(std::move(writes)));
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_TRUE(answers[0]);
  ASSERT_FALSE(answers[1]);
  EXPECT_EQ(answers[1].error().code, ErrorCode::kConditionalCheckFailed);
  EXPECT_TRUE(answers[2]);
  EXPECT_FALSE(get("b").empty());
}

TEST_P(Seam, ManyReadsAreAnsweredInOrder) {
  fill(5);
  std::vector<GetItemInput> reads;
  for (const char* id : {"t3", "nobody", "t0"}) {
    GetItemInput one;
    one.table = "Things";
    one.key = id_key(id);
    reads.push_back(std::move(one));
  }
  const auto answers = wait(tables().read_many(std::move(reads)));
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0]->item.decode().string_or("id"), "t3");
  EXPECT_FALSE(answers[1]->item);
  EXPECT_EQ(answers[2]->item.decode().string_or("id"), "t0");
}

// Bad keys: of another type, with more attributes than the key has, without its attribute.
TEST_P(Seam, AReadWithABadKeyFailsAlone) {
  fill(3);
  std::vector<GetItemInput> reads;
  for (const Item& key : {id_key("t0"), Item{{"id", Value::number(5)}}, id_key("t1"), thing("t1", "NEW", 1),
                          Item{{"other", Value("t2")}}, id_key("t2"), id_key("t0"), id_key("nobody")}) {
    GetItemInput one;
    one.table = "Things";
    one.key = key;
    reads.push_back(std::move(one));
  }
  const auto answers = wait(tables().read_many(std::move(reads)));
  std::string seen;
  for (const auto& answer : answers) {
    if (!answer) {
      EXPECT_EQ(answer.error().code, ErrorCode::kValidation) << answer.error().message;
      seen += "bad ";
    } else {
      seen += answer->item ? std::string(answer->item.decode().string_or("id")) + " " : "none ";
    }
  }
  EXPECT_EQ(seen, "t0 bad t1 bad bad t2 t0 none ");
}

TEST_P(Seam, AWriteWithABadKeyFailsAlone) {
  std::vector<WriteInput> writes;
  for (const Item& item :
       {thing("a", "NEW", 1), Item{{"id", Value::number(5)}}, Item{{"state", Value("NEW")}}, thing("b", "NEW", 1)}) {
    PutItemInput put;
    put.table = "Things";
    put.item = item;
    put.only_new = true;
    writes.emplace_back(std::move(put));
  }
  const auto answers = wait(tables().write_many(std::move(writes)));
  for (const size_t good : {0u, 3u}) {
    EXPECT_TRUE(answers[good] || answers[good].error().code == ErrorCode::kUnknownOutcome);
  }
  for (const size_t bad : {1u, 2u}) {
    ASSERT_FALSE(answers[bad]);
    EXPECT_TRUE(answers[bad].error().code == ErrorCode::kValidation ||
                answers[bad].error().code == ErrorCode::kUnknownOutcome);
  }
}

TEST_P(Seam, AnEditOfAnItemWithoutItsKeyFailsAlone) {
  fill(2);
  std::vector<EditItemInput> edits{edit_of(seen("t0"), "DONE"), edit_of(seen("t0"), "DONE"),
                                   edit_of(seen("t1"), "DONE")};
  edits[1].seen = ItemRef::encode(Item{{"id", Value::number(5)}});
  const auto answers = edit(std::move(edits));
  for (const size_t good : {0u, 2u}) {
    EXPECT_TRUE(answers[good] || answers[good].error().code == ErrorCode::kUnknownOutcome);
  }
  ASSERT_FALSE(answers[1]);
  EXPECT_TRUE(answers[1].error().code == ErrorCode::kValidation ||
              answers[1].error().code == ErrorCode::kUnknownOutcome)
      << answers[1].error().message;
}

TEST_P(Seam, AnIndexShowsAWriteOnceItIsAnswered) {
  NEEDS(Trait::kExactIndex);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(create(thing("t" + std::to_string(i), "NEW", i)));
    ASSERT_EQ(ids_in("NEW", false, 1).front(), "t" + std::to_string(i));
  }
}

TEST_P(Seam, AnIndexShowsEveryWriteInTheEnd) {
  fill(20);
  settle();
  for (int i = 0; i < 100 && ids_in("NEW", false, 3).size() < 20; ++i) settle();
  const auto newest_first = ids_in("NEW", false, 3);
  ASSERT_EQ(newest_first.size(), 20u);
  EXPECT_EQ(newest_first.front(), "t19");
  auto forward = ids_in("NEW", true, 7);
  std::reverse(forward.begin(), forward.end());
  EXPECT_EQ(forward, newest_first);
}

TEST_P(Seam, ATransactionIsAllOrNothing) {
  NEEDS(Trait::kTransactions);
  ASSERT_TRUE(create(thing("there", "NEW", 1)));
  settle();
  const auto both = [&](const char* other) {
    TransactWriteInput input;
    for (const char* id : {"a", other}) {
      PutItemInput put;
      put.table = "Things";
      put.item = thing(id, "NEW", 2);
      put.condition = "attribute_not_exists(id)";
      input.actions.emplace_back(std::move(put));
    }
    return wait(tables().transact_write(std::move(input)));
  };
  const auto refused = both("there");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTransactionCanceled);
  EXPECT_TRUE(get("a").empty());
  ASSERT_TRUE(both("b"));
  EXPECT_FALSE(get("a").empty());
  EXPECT_FALSE(get("b").empty());
}

TEST_P(Seam, TheStreamHasTheChangesOfAnItemInTheirOrder) {
  NEEDS(Trait::kStream);
  ASSERT_TRUE(create(thing("a", "s0", 1)));
  int64_t state = 0;
  for (int i = 0; i < 40 && state < 10; ++i) {
    std::vector<EditItemInput> one{edit_of(seen("a"), "s" + std::to_string(state + 1))};
    edit(std::move(one));
    settle();
    state = std::stoll(std::string(get("a").string_or("state")).substr(1));
  }
  ASSERT_TRUE(wait(tables().durable()));
  int64_t expected = 0;
  for (const auto& record : records()) {
    EXPECT_EQ(record.after.decode().string_or("state"), "s" + std::to_string(expected++));
  }
  EXPECT_EQ(expected, 11);
}

TEST_P(Seam, OneStreamHasAllChangesWithoutAGap) {
  NEEDS(Trait::kSingleStream);
  fill(30);
  settle();
  ASSERT_TRUE(wait(tables().durable()));
  uint64_t next = 1;
  for (const auto& record : records()) EXPECT_EQ(record.sequence, next++);
  EXPECT_EQ(next, 31u);
}

TEST_P(Seam, RecordsHaveBothImages) {
  NEEDS(Trait::kFullImages);
  ASSERT_TRUE(create(thing("a", "NEW", 1)));
  for (int i = 0; i < 20 && get("a").string_or("state") == "NEW"; ++i) {
    std::vector<EditItemInput> one{edit_of(seen("a"), "DONE")};
    edit(std::move(one));
    settle();
  }
  ASSERT_TRUE(wait(tables().durable()));
  const auto all = records();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kind, ChangeRecord::Kind::kInsert);
  EXPECT_FALSE(all[0].before);
  EXPECT_EQ(all[1].kind, ChangeRecord::Kind::kModify);
  EXPECT_EQ(all[1].before.decode().string_or("state"), "NEW");
  EXPECT_EQ(all[1].after.decode().string_or("state"), "DONE");
}

TEST_P(Seam, TheBooksBalance) {
  NEEDS(Trait::kBooks);
  fill(30);
  settle();
  const auto books = wait(tables().books("Things"));
  ASSERT_TRUE(books) << books.error().message;
  EXPECT_EQ(books->stock.at("NEW"), 30u);
  EXPECT_TRUE(check_balance(*books));
}

TEST_P(Seam, WhatHasExpiredIsGoneWithinMoments) {
  NEEDS(Trait::kPromptTtl);
  Item ends = thing("a", "NEW", 1);
  ends.set("ttl", Value::number(now_s() + 30));
  ASSERT_TRUE(create(std::move(ends)));
  Item held = thing("b", "TAKEN", 1);
  held.set("ttl", Value::number(now_s() + 30));
  ASSERT_TRUE(create(std::move(held)));
  pass(seconds(33));
  EXPECT_TRUE(get("a").empty());
  EXPECT_FALSE(get("b").empty()) << "a task in work is left alone";
}

TEST_P(Seam, AnswersAreThereWhenTheCallReturns) {
  NEEDS(Trait::kImmediate);
  PutItemInput put;
  put.table = "Things";
  put.item = thing("a", "NEW", 1);
  auto work = tables().put_item(std::move(put));
  ASSERT_TRUE(work.is_ready());
  EXPECT_TRUE(work.take());
}

TEST_P(Seam, ABatchOfTheLargestSizeIsTaken) {
  constexpr size_t kEnough = 300;
  const auto& traits = tables().traits();
  std::vector<GetItemInput> reads(std::min(traits.largest_read, kEnough));
  for (auto& read : reads) {
    read.table = "Things";
    read.key = id_key("a");
  }
  const size_t asked = reads.size();
  const auto answers = wait(tables().read_many(std::move(reads)));
  ASSERT_EQ(answers.size(), asked);
  EXPECT_TRUE(std::all_of(answers.begin(), answers.end(), [](const auto& one) { return one.has_value(); }));
  if (!traits.has(Trait::kTransactions)) return;
  TransactWriteInput input;
  for (size_t i = 0; i < traits.largest_transaction; ++i) {
    PutItemInput put;
    put.table = "Things";
    put.item = thing("t" + std::to_string(i), "NEW", 1);
    input.actions.emplace_back(std::move(put));
  }
  EXPECT_TRUE(wait(tables().transact_write(std::move(input))));
}

TEST_P(Seam, ATableThatIsNotThereIsSaidToBe) {
  const auto described = wait(tables().describe_table("Nothing"));
  ASSERT_FALSE(described);
  EXPECT_EQ(described.error().code, ErrorCode::kResourceNotFound);
}

}  // namespace
}  // namespace freshet
