// Many callers at once, with random conflicts, on a store that answers late and out of step: no member is given twice,
// none is lost, and depths and versions are what a recount makes them, always. And random calls, one after the other,
// against a plain model. The seed is the whole bug report.
#include <algorithm>
#include <map>
#include <set>

#include "tests/functions/filtered/filtered_world.h"

namespace freshet::filtered {
namespace {

const std::vector<std::string> kLanguages{"English", "French", "Spanish"};
const std::vector<std::string> kGenders{"F", "M", "T"};

// One to three languages, a gender.
Item random_attributes(Random& random) {
  StringSet languages;
  while (languages.members.empty()) {
    for (const auto& language : kLanguages) {
      if (random.below(2) == 0) languages.members.push_back(language);
    }
  }
  return Item{{"Gender", Value(kGenders[random.below(3)])}, {"Languages", Value(std::move(languages))}};
}

// A language, else another; of some gender or any.
Match random_match(Random& random) {
  Match match;
  for (uint64_t i = 0; i <= random.below(2); ++i) {
    match.emplace_back();
    if (random.below(4) != 0) match.back().values.push_back({"Languages", {kLanguages[random.below(3)]}});
    if (random.below(2) != 0) match.back().values.push_back({"Gender", {kGenders[random.below(3)]}});
  }
  return match;
}

class CallersTest : public FilteredFixture {
 protected:
  template <class T>
  void finish(std::vector<Async<T>>& all) {
    for (auto& one : all) {
      while (!one.is_ready()) world.pass(milliseconds(1));
    }
  }
  // Entries by partition, from the raw items.
  std::map<std::string, int64_t> entries() {
    std::map<std::string, int64_t> out;
    for (const auto& item : all_items()) ++out[std::string(item.decode().string_or("pk"))];
    return out;
  }
  void fill(Random& random, int members) {
    for (int i = 0; i < members; ++i) {
      const std::string id = "m" + std::to_string(i);
      Item attributes = random_attributes(random);
      ASSERT_TRUE(world.wait(queue->put_member(id, attributes)));
      ASSERT_TRUE(enqueue(id));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, CallersTest,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

// Takes members until it has asked that often; keeps them.
Async<bool> assign_many(TableQueue& queue, uint64_t seed, int calls, std::vector<Result<Assigned>>& into) {
  Random random(seed);
  for (int i = 0; i < calls; ++i) {
    AssignInput input{random_match(random), {}, false};
    auto assigned = co_await queue.assign(std::move(input));
    // Beaten too often: as a caller would, once more.
    if (!assigned && assigned.error().code == ErrorCode::kTooManyRequests) --i;
    into.push_back(std::move(assigned));
  }
  co_return true;
}

TEST_P(CallersTest, AThousandAssignsOverSixteenCallers) {
  constexpr int kMembers = 700;
  constexpr int kCallers = 16;
  for (const uint64_t seed : test_seeds(2)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    Settings settings = call_centre();
    settings.table = "AgentQueueFIFO";
    if (queue) {
      queue.reset();
      ASSERT_TRUE(world.wait(world.client().delete_table("AgentQueueFIFO")));
    }
    open(settings);
    Random random(seed);
    fill(random, kMembers);
    auto before = world.wait(queue->stats());
    ASSERT_TRUE(before);
    std::vector<Result<Assigned>> all;
    std::vector<Async<bool>> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.push_back(assign_many(*queue, seed * 100 + static_cast<uint64_t>(i), i < 8 ? 63 : 62, all));
    }
    finish(callers);
    std::set<std::string> given_out;
    std::map<std::string, int64_t> leavers;  // By queue.
    int calls = 0;
    for (const auto& one : all) {
      if (!one) {
        ASSERT_EQ(one.error().code, ErrorCode::kTooManyRequests) << one.error().message;
        continue;
      }
      ++calls;
      if (one->outcome != AssignOutcome::kAssigned) continue;
      EXPECT_TRUE(given_out.insert(one->member.id).second) << one->member.id << " was given twice";
      const Item entry = one->member.item.decode();
      for (const auto& language : entry.find("Languages")->get_if<StringSet>()->members) {
        ++leavers["Q#" + language + "#" + std::string(entry.string_or("Gender"))];
      }
    }
    EXPECT_EQ(calls, 1000);
    EXPECT_GT(given_out.size(), size_t{kMembers} / 2);
    for (int i = 0; i < kMembers; ++i) {
      const std::string id = "m" + std::to_string(i);
      ASSERT_EQ(status(id), given_out.contains(id) ? "attendingCall" : "queued") << id;
    }
    const auto counted = entries();
    for (const auto& was : before->queues) {
      const auto now = at(was.key);
      const auto there = counted.find(was.key);
      EXPECT_EQ(now.depth, there == counted.end() ? 0 : there->second) << was.key;
      EXPECT_EQ(now.depth, was.depth - leavers[was.key]) << was.key;
      EXPECT_EQ(now.version, was.version + leavers[was.key]) << was.key << ": one for each that came or left";
    }
    expect_right();
    if (HasFailure()) return;
  }
}

struct Shared {
  std::map<std::string, int> holders;
  std::set<std::string> open_requests;
  int assigned = 0;
  int given_to_waiting = 0;
  bool twice = false;
  std::vector<std::string> errors;
};

// One caller's day: members come and go, requests wait or not, calls end, members pause.
Async<bool> caller_day(QueueWorld& world, TableQueue& queue, uint64_t seed, int who, std::shared_ptr<Shared> shared) {
  Random random(seed);
  const auto note = [&](const Error& error) {
    const bool usual = error.code == ErrorCode::kTooManyRequests || error.code == ErrorCode::kConflict ||
                       error.code == ErrorCode::kNotFound;
    if (!usual) shared->errors.push_back(error.message);
  };
  for (int i = 0; i < 60; ++i) {
    const std::string member = "m" + std::to_string(random.below(40));
    const uint64_t what = random.below(10);
    if (what < 4) {
      AssignInput input{random_match(random), {}, false};
      if (what < 2) input.request = "r" + std::to_string(who) + "-" + std::to_string(i);
      input.wait = what == 0;
      auto assigned = co_await queue.assign(std::move(input));
      if (!assigned) {
        note(assigned.error());
        continue;
      }
      if (assigned->outcome != AssignOutcome::kAssigned) continue;
      const std::string id = assigned->member.id;
      ++shared->assigned;
      shared->twice = shared->twice || ++shared->holders[id] > 1;
      co_await sleep_for(world.scheduler, milliseconds(random.below(30)));
      --shared->holders[id];
      ReleaseInput release{id, assigned->member.assignment, random.below(2) == 0};
      auto released = co_await queue.release(std::move(release));
      if (!released) note(released.error());
      if (released && !released->member.request.empty()) ++shared->given_to_waiting;
    } else if (what < 7) {
      auto enqueued = co_await queue.enqueue(member);
      if (!enqueued) note(enqueued.error());
      if (enqueued && !enqueued->member.request.empty()) ++shared->given_to_waiting;
    } else if (what == 7) {
      auto out = co_await queue.withdraw(member);
      if (!out) note(out.error());
    } else {
      // A member that waited and was assigned: its call ends.
      std::string from_first;
      auto page = co_await queue.list_requests(20, std::move(from_first));
      if (!page) continue;
      for (const auto& request : page->requests) {
        if (request.status == "waiting" && random.below(4) == 0) {
          std::string id = request.id;
          auto gone = co_await queue.cancel_request(std::move(id));
          if (!gone) note(gone.error());
        } else if (request.status == "assigned" && random.below(2) == 0 && shared->holders[request.member] == 0) {
          ReleaseInput release{request.member, request.assignment, true};
          auto released = co_await queue.release(std::move(release));
          if (!released) note(released.error());
        }
      }
    }
  }
  co_return true;
}

TEST_P(CallersTest, WholeDaysOfSixteenCallers) {
  const auto seeds = test_seeds(3);
  int given_to_waiting = 0;
  for (const uint64_t seed : seeds) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    if (queue) {
      queue.reset();
      ASSERT_TRUE(world.wait(world.client().delete_table("AgentQueueFIFO")));
    }
    open();
    Random random(seed);
    for (int i = 0; i < 40; ++i) {
      Item attributes = random_attributes(random);
      ASSERT_TRUE(world.wait(queue->put_member("m" + std::to_string(i), attributes)));
    }
    auto shared = std::make_shared<Shared>();
    std::vector<Async<bool>> callers;
    for (int i = 0; i < 16; ++i) {
      callers.push_back(caller_day(world, *queue, seed * 100 + static_cast<uint64_t>(i), i, shared));
    }
    finish(callers);
    EXPECT_FALSE(shared->twice) << "two had the same member";
    EXPECT_TRUE(shared->errors.empty()) << shared->errors.front();
    EXPECT_GT(shared->assigned, 50);
    given_to_waiting += shared->given_to_waiting;
    expect_right();
    // Nobody waits whom somebody waits for, and no assignment has two members.
    std::set<std::string> assignments;
    const auto members = world.wait(queue->list_members({"", 1000, ""}));
    ASSERT_EQ(members->members.size(), 40u) << "none is lost";
    for (const auto& member : members->members) {
      EXPECT_EQ(member.status == "attendingCall", !member.assignment.empty()) << member.id;
      if (!member.assignment.empty()) {
        EXPECT_TRUE(assignments.insert(member.assignment).second);
      }
    }
    const auto now = world.wait(queue->stats());
    for (const auto& one : now->queues) EXPECT_TRUE(one.depth == 0 || one.requests == 0) << one.key;
    const auto requests = world.wait(queue->list_requests(1000, ""));
    for (const auto& request : requests->requests) {
      if (request.status == "assigned") {
        EXPECT_TRUE(assignments.contains(request.assignment)) << request.id;
      }
    }
    if (HasFailure()) return;
  }
  // A single day may be without one.
  if (seeds.size() > 1) {
    EXPECT_GT(given_to_waiting, 0);
  }
}

// One call of any kind.
Async<bool> one_call(TableQueue& queue, uint64_t seed) {
  Random random(seed);
  std::string member = "m" + std::to_string(random.below(20));
  const uint64_t what = random.below(6);
  if (what < 2) {
    AssignInput input{random_match(random), {}, what == 0};
    if (what == 0) input.request = "r" + std::to_string(random.below(10));
    auto assigned = co_await queue.assign(std::move(input));
    co_return assigned.has_value();
  }
  if (what == 2) {
    ReleaseInput input{std::move(member), {}, random.below(2) == 0};
    auto released = co_await queue.release(std::move(input));
    co_return released.has_value();
  }
  if (what == 3) {
    std::string request = "r" + std::to_string(random.below(10));
    auto gone = co_await queue.cancel_request(std::move(request));
    co_return gone.has_value();
  }
  if (what == 4) {
    auto out = co_await queue.withdraw(std::move(member));
    co_return out.has_value();
  }
  auto enqueued = co_await queue.enqueue(std::move(member));
  co_return enqueued.has_value();
}

// As when their clients hang up: in the middle of reads, of writes that are on their way, and between two attempts.
TEST_P(CallersTest, CallersThatGoAwayWhereTheyWait) {
  int gone = 0;
  for (const uint64_t seed : test_seeds(10)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    if (queue) {
      queue.reset();
      ASSERT_TRUE(world.wait(world.client().delete_table("AgentQueueFIFO")));
    }
    open();
    Random random(seed);
    fill(random, 20);
    std::vector<std::unique_ptr<Async<bool>>> callers;
    for (uint64_t i = 0; i < 400; ++i) {
      auto call = one_call(*queue, seed * 1000 + i);
      if (!call.is_ready()) callers.push_back(std::make_unique<Async<bool>>(std::move(call)));
      if (random.below(2) == 0) world.pass(milliseconds(random.below(8)));
      std::erase_if(callers, [](const auto& one) { return one->is_ready(); });
      if (callers.size() < 2 || random.below(3) != 0) continue;
      callers.erase(callers.begin() + static_cast<std::ptrdiff_t>(random.below(callers.size())));
      ++gone;
    }
    callers.clear();
    world.pass(milliseconds(1000));
    expect_right();
    std::set<std::string> assignments;
    const auto members = world.wait(queue->list_members({"", 1000, ""}));
    ASSERT_EQ(members->members.size(), 20u) << "none is lost";
    for (const auto& member : members->members) {
      EXPECT_EQ(member.status == "attendingCall", !member.assignment.empty()) << member.id;
      if (!member.assignment.empty()) {
        EXPECT_TRUE(assignments.insert(member.assignment).second);
      }
    }
    if (HasFailure()) return;
  }
  if (GetParam() != StoreKind::kEmbedded) {
    EXPECT_GT(gone, 0);  // The embedded store answers at once, so that hardly anybody waits there.
  }
}

// A plain model: who waits since when, and who asks since when.
class ModelTest : public FilteredFixture {};
INSTANTIATE_TEST_SUITE_P(Embedded, ModelTest, ::testing::Values(StoreKind::kEmbedded));

struct ModelMember {
  std::set<std::string> queues;
  std::string status = "available";
  uint64_t since = 0;
};
struct ModelRequest {
  std::vector<std::set<std::string>> alternatives;
  uint64_t since = 0;
};

class Model {
 public:
  std::map<std::string, ModelMember> members;
  std::map<std::string, ModelRequest> waiting;
  uint64_t turn = 0;

  // From the first alternative with a member, the one that has waited longest.
  std::string take(const std::vector<std::set<std::string>>& alternatives) {
    for (const auto& queues : alternatives) {
      std::string best;
      for (const auto& [id, member] : members) {
        const bool fits = member.status == "queued" &&
                          std::any_of(queues.begin(), queues.end(),
                                      [&one = member](const auto& key) { return one.queues.contains(key); });
        if (fits && (best.empty() || member.since < members[best].since)) best = id;
      }
      if (best.empty()) continue;
      members[best].status = "attendingCall";
      return best;
    }
    return "";
  }
  // The request that gets a member that becomes free; empty if the member waits now.
  std::string enqueue(const std::string& id) {
    ModelMember& member = members[id];
    std::string best;
    for (const auto& [name, request] : waiting) {
      bool fits = false;
      for (const auto& queues : request.alternatives) {
        for (const auto& key : queues) fits = fits || member.queues.contains(key);
      }
      if (fits && (best.empty() || request.since < waiting[best].since)) best = name;
    }
    member.status = best.empty() ? "queued" : "attendingCall";
    member.since = ++turn;
    waiting.erase(best);
    return best;
  }
};

TEST_P(ModelTest, RandomCallsDoWhatTheModelDoes) {
  for (const uint64_t seed : test_seeds(10)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    if (queue) {
      queue.reset();
      ASSERT_TRUE(world.wait(world.client().delete_table("AgentQueueFIFO")));
    }
    open();
    const auto combinations = *Combinations::make(call_centre());
    Random random(seed);
    Model model;
    for (int i = 0; i < 12; ++i) {
      const std::string id = "m" + std::to_string(i);
      Item attributes = random_attributes(random);
      const auto queues = combinations.of_item(ItemRef::encode(attributes), id);
      for (const size_t one : *queues) model.members[id].queues.insert(combinations.key(one));
      ASSERT_TRUE(world.wait(queue->put_member(id, attributes)));
    }
    for (int step = 0; step < 300 && !HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      world.pass(milliseconds(1));
      const std::string id = "m" + std::to_string(random.below(12));
      ModelMember& member = model.members[id];
      switch (random.below(5)) {
        case 0:
        case 1: {
          const auto done = enqueue(id);
          ASSERT_EQ(done.has_value(), member.status == "available");
          if (done) {
            EXPECT_EQ(done->member.request, model.enqueue(id));
          }
          break;
        }
        case 2: {
          const auto done = world.wait(queue->withdraw(id));
          ASSERT_EQ(done.has_value(), member.status == "queued");
          if (done) member.status = "available";
          break;
        }
        case 3: {
          const auto done = release(id);
          ASSERT_EQ(done.has_value(), member.status == "attendingCall");
          if (done) member.status = "available";
          break;
        }
        default: {
          const Match match = random_match(random);
          const std::string request = "r" + std::to_string(step);
          ModelRequest wanted;
          const auto alternatives = *combinations.of_match(match);
          for (const auto& queues : alternatives) {
            wanted.alternatives.emplace_back();
            for (const size_t one : queues) wanted.alternatives.back().insert(combinations.key(one));
          }
          const std::string expected = model.take(wanted.alternatives);
          const bool wait = random.below(2) == 0;
          EXPECT_EQ(given(assign(match, request, wait)), !expected.empty() ? expected : wait ? "waiting" : "none");
          wanted.since = ++model.turn;
          if (expected.empty() && wait) model.waiting[request] = wanted;
        }
      }
      if (step % 20 == 0) expect_right();
    }
    for (const auto& [id, member] : model.members) EXPECT_EQ(status(id), member.status) << id;
    expect_right();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace freshet::filtered
