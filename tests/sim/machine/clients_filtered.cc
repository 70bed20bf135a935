// Clients of two filtered queues that share their members: staff that queues and withdraws, callers that are assigned
// somebody, wait, ask again and release, and somebody whose items are nothing that a queue wrote.
#include <array>
#include <utility>

#include "tests/sim/machine/clients.h"

namespace freshet::sim {

namespace {

using Json = nlohmann::json;

constexpr std::array<const char*, 3> kLanguages = {"English", "French", "Spanish"};
constexpr std::array<const char*, 2> kShifts = {"day", "night"};
constexpr milliseconds kLongPatience{120'000};  // A count reads every item, one late answer after the other.
constexpr std::array<const char*, 2> kQueues = {"Calls", "Chats"};

Async<Reply> ask(Stage& stage, const std::string& queue, const char* call, Json input) {
  return stage.caller.post("/filtered/" + queue + "/" + call, std::move(input), kPatience);
}

// Until there is an answer that is no lack of luck.
Async<Reply> insist(Stage& stage, Random& random, std::string queue, const char* call, Json input) {
  for (;;) {
    Json again = input;
    Reply reply = co_await ask(stage, queue, call, std::move(again));
    const bool final =
        reply.kind != Reply::Kind::kUnknown && reply.status != 0 && reply.status != 429 && reply.status != 503;
    if (final || stage.verdict.is_broken()) co_return reply;
    co_await rest(stage, random, milliseconds(50), milliseconds(800));
  }
}

Async<void> put_member(Stage& stage, Random& random, std::string id) {
  std::set<std::string> languages;
  while (languages.empty()) {
    for (const char* one : kLanguages) {
      if (random.below(2) == 0) languages.insert(one);
    }
  }
  const std::string shift = kShifts[random.below(2)];
  stage.filtered.member(id, languages, shift);
  Json body = {{"id", id}, {"attributes", {{"Languages", languages}, {"Shift", shift}}}};
  const Reply reply = co_await insist(stage, random, "Calls", "put", std::move(body));
  if (reply.kind == Reply::Kind::kDone) ++stage.operations;
}

// Puts it into a queue. What has no clear answer leaves it wherever it is.
Async<void> enqueue(Stage& stage, std::string id, std::string queue) {
  stage.filtered.begin_move(id);
  Json body = {{"id", id}};
  const Reply reply = co_await ask(stage, queue, "enqueue", std::move(body));
  if (reply.kind == Reply::Kind::kUnknown) stage.filtered.move_unknown(id);
  if (reply.kind != Reply::Kind::kDone) co_return;
  ++stage.operations;
  if (text_of(reply.body, "status") == "queued") stage.filtered.queued(id, queue, reply.span);
}

Async<void> withdraw(Stage& stage, std::string id, std::string queue) {
  stage.filtered.begin_move(id);
  Json body = {{"id", id}};
  const Reply reply = co_await ask(stage, queue, "withdraw", std::move(body));
  if (reply.kind == Reply::Kind::kUnknown) stage.filtered.move_unknown(id);
  if (reply.kind != Reply::Kind::kDone) co_return;
  ++stage.operations;
  stage.filtered.withdrawn(id, reply.span);
}

}  // namespace

Async<void> staff_filtered_queues(Stage& stage, Random random, std::string name) {
  // Where they are few, requests wait for them.
  const int members = stage.plan.seed % 2 == 0 ? 5 : 2;
  ++stage.at_filtered_queues;
  for (int i = 0; i < members; ++i) {
    co_await put_member(stage, random, name + "-" + std::to_string(i));
  }
  while (!stage.calm && !stage.verdict.is_broken()) {
    std::string id = name + "-" + std::to_string(random.below(static_cast<uint64_t>(members)));
    // An entry of nobody's counts where the member waits in the other queue: who put it cannot be told
    // (docs/filtered-queue.md).
    std::string queue = stage.plan.has("foreign-items") ? kQueues[0] : kQueues[random.below(2)];
    if (random.below(5) == 0) {
      co_await withdraw(stage, std::move(id), std::move(queue));
    } else {
      co_await enqueue(stage, std::move(id), std::move(queue));
    }
    co_await rest(stage, random, milliseconds(0), milliseconds(random.below(5) == 0 ? 2'000 : 200));
  }
  --stage.at_filtered_queues;
}

namespace {

Json match_of(const FilteredWish& wish) {
  Json match = Json::object();
  if (!wish.languages.empty()) match["Languages"] = wish.languages;
  if (wish.shift) match["Shift"] = *wish.shift;
  return match;
}

FilteredWish draw_wish(Random& random, std::string request) {
  FilteredWish wish;
  wish.queue = kQueues[random.below(2)];
  wish.request = std::move(request);
  if (random.below(4) != 0) wish.languages.insert(kLanguages[random.below(3)]);
  if (wish.queue == "Calls" && random.below(3) == 0) wish.shift = kShifts[random.below(2)];
  return wish;
}

struct Held {
  std::string member;
  std::string assignment;
};

// Asks once. Empty: nobody was given, as far as the answer says.
Async<std::optional<Held>> try_assign(Stage& stage, const FilteredWish& wish, bool waits, Reply::Kind& kind) {
  Json body = {{"request", wish.request}, {"match", match_of(wish)}};
  if (waits) body["wait"] = true;
  const uint64_t number = stage.filtered.begin_assign();
  const Reply reply = co_await ask(stage, wish.queue, "assign", std::move(body));
  kind = reply.kind;
  const std::string outcome = reply.kind == Reply::Kind::kDone ? text_of(reply.body, "outcome") : "";
  if (!outcome.empty()) stage.caller.trace().saw("assign " + outcome);
  if (reply.kind == Reply::Kind::kDone) ++stage.operations;
  if (outcome != "assigned") {
    if (reply.kind == Reply::Kind::kUnknown || outcome == "waiting") {
      stage.filtered.assign_unsure(number, wish, waits);
    } else {
      stage.filtered.assign_over(number);
    }
    co_return std::nullopt;
  }
  Held held{text_of(reply.body, "member"), text_of(reply.body, "assignment")};
  stage.filtered.assigned(number, wish, held.member, held.assignment, text_of(reply.body, "queue"), reply.span);
  co_return std::optional(std::move(held));
}

// Where somebody waits for a member and a member for somebody, one of the two would have to be told.
Async<bool> look_side_by_side(Stage& stage, std::string queue) {
  const Reply stats = co_await stage.caller.get("/filtered/" + queue + "/stats", kPatience);
  if (stats.kind != Reply::Kind::kDone) co_return false;
  for (const Json& one : stats.body["queues"]) {
    const bool both = one.value("depth", 0) > 0 && one.value("requests", 0) > 0;
    stage.verdict.expect(!both, "a member and a request wait side by side", one.dump());
  }
  co_return true;
}

// Asks again and again: the same request has the same answer. Empty if it is given up, for sure.
Async<std::optional<Held>> assign(Stage& stage, Random& random, const FilteredWish& wish) {
  const bool waits = random.below(2) == 0;
  bool unsure = false;
  for (int i = 0; !stage.verdict.is_broken(); ++i) {
    Reply::Kind kind = Reply::Kind::kUnknown;
    auto held = co_await try_assign(stage, wish, waits, kind);
    if (held) co_return held;
    unsure = unsure || kind == Reply::Kind::kUnknown;
    if (waits && i % 2 == 0) (void)co_await look_side_by_side(stage, wish.queue);
    if (i < 6 && !stage.calm) {
      co_await rest(stage, random, milliseconds(20), milliseconds(1'000));
      continue;
    }
    if (!waits && !unsure) co_return std::nullopt;
    // A try without an answer may have got somebody: what it got has to be found out, if it can be.
    if (i > 12) co_return std::nullopt;
    if (waits) {
      Json body = {{"id", wish.request}};
      const Reply cancelled = co_await ask(stage, wish.queue, "cancel", std::move(body));
      if (cancelled.kind == Reply::Kind::kDone) {
        if (!unsure) stage.filtered.request_over(wish);
        co_return std::nullopt;
      }
    }
    co_await rest(stage, random, milliseconds(20), milliseconds(1'000));
  }
  co_return std::nullopt;
}

// Until it is known to be over.
Async<void> release(Stage& stage, Random& random, const FilteredWish& wish, Held held) {
  bool first = true;
  while (!stage.verdict.is_broken()) {
    Json body = {{"id", held.member}, {"assignment", held.assignment}};
    if (!stage.calm && random.below(2) == 0) body["enqueue"] = true;
    stage.filtered.begin_release(held.member, held.assignment);
    const Reply reply = co_await ask(stage, wish.queue, "release", std::move(body));
    if (reply.kind == Reply::Kind::kDone) {
      ++stage.operations;
      co_return;
    }
    const bool refused = reply.kind == Reply::Kind::kRefused && (reply.status == 404 || reply.status == 409);
    // The one refusal that has changed something: the member is released, but not queued.
    const bool says_released = reply.message.find("released") != std::string::npos;
    if (refused) {
      stage.filtered.release_refused(held.member, held.assignment, first && !says_released);
      co_return;
    }
    first = first && reply.kind == Reply::Kind::kRefused && reply.status != 0 && !says_released;
    co_await rest(stage, random, milliseconds(20), milliseconds(600));
  }
}

}  // namespace

Async<void> call_filtered_queues(Stage& stage, Random random, std::string name) {
  uint64_t number = 0;
  Held last;
  ++stage.at_filtered_queues;
  while (!stage.calm && !stage.verdict.is_broken()) {
    const FilteredWish wish = draw_wish(random, name + "-" + std::to_string(++number));
    auto held = co_await assign(stage, random, wish);
    if (held) {
      // The answer is the same for as long as the assignment.
      Reply::Kind kind = Reply::Kind::kUnknown;
      if (random.below(3) == 0) (void)co_await try_assign(stage, wish, false, kind);
      co_await rest(stage, random, milliseconds(0), milliseconds(random.below(5) == 0 ? 6'000 : 500));
      // A caller that is late for an assignment of before ends nobody else's.
      if (!last.member.empty() && random.below(4) == 0) {
        Json body = {{"id", last.member}, {"assignment", last.assignment}};
        const Reply stale = co_await ask(stage, wish.queue, "release", std::move(body));
        stage.verdict.expect(stale.kind != Reply::Kind::kDone, "an assignment is released twice", last.assignment);
      }
      last = *held;
      co_await release(stage, random, wish, std::move(*held));
    }
    if (random.below(6) == 0) (void)co_await look_side_by_side(stage, wish.queue);
    co_await rest(stage, random, milliseconds(0), milliseconds(400));
  }
  --stage.at_filtered_queues;
}

namespace {

Async<void> put_or_delete_item(Stage& stage, Random& random, Json item, bool deletes) {
  while (!stage.verdict.is_broken()) {
    Json input = {{"TableName", "Staff"}};
    if (deletes) {
      input["Key"] = {{"pk", item["pk"]}, {"sk", item["sk"]}};
    } else {
      input["Item"] = item;
    }
    const Reply reply = co_await stage.caller.store(deletes ? "DeleteItem" : "PutItem", std::move(input), kPatience);
    if (reply.kind == Reply::Kind::kDone || reply.error == "ResourceNotFoundException" || !deletes) co_return;
    co_await rest(stage, random, milliseconds(50), milliseconds(500));
  }
}

Json text(const std::string& value) {
  return {{"S", value}};
}

// Items that other programs may leave: an entry of a member that does not wait by it, one of a member that is
// not there, and things that are no entries, no request and no member at all.
std::vector<Json> foreign_items(const std::string& member) {
  const Json old = text("2000/01/01-00:00:00.000000");
  const Json languages = {{"SS", {"English"}}};
  const std::string shift = member.ends_with("2") ? "night" : "day";
  return {
      {{"pk", text("Q#English#day")},
       {"sk", old},
       {"AgentID", text(member)},
       {"Languages", languages},
       {"Shift", text("day")}},
      {{"pk", text("C#English")}, {"sk", old}, {"AgentID", text("nobody")}, {"Languages", languages}},
      {{"pk", text("C#French")}, {"sk", old}, {"AgentID", text("nobody")}, {"Languages", {{"SS", {"French"}}}}},
      {{"pk", text("Q#Spanish#night")}, {"sk", old}, {"AgentID", {{"N", "7"}}}},
      {{"pk", text("R#French#day")}, {"sk", old}, {"RequestId", {{"N", "7"}}}},
      {{"pk", text("R#English#" + shift)}, {"sk", old}, {"RequestId", {{"N", "7"}}}},
      {{"pk", text("AllRequests")}, {"sk", text("Request#broken")}, {"RequestStatus", {{"N", "1"}}}},
      {{"pk", text("Agents")}, {"sk", text("Agent#broken")}, {"AgentStatus", {{"BOOL", true}}}},
  };
}

}  // namespace

Async<void> leave_foreign_items(Stage& stage, Random random) {
  std::vector<Json> left;
  while (!stage.calm && !stage.verdict.is_broken()) {
    co_await rest(stage, random, milliseconds(100), milliseconds(5'000));
    const auto all = foreign_items("staff0-" + std::to_string(random.below(5)));
    Json item = all[random.below(all.size())];
    left.push_back(item);
    co_await put_or_delete_item(stage, random, std::move(item), false);
    if (left.size() < 4 || random.below(3) != 0) continue;
    Json gone = left.front();
    left.erase(left.begin());
    co_await put_or_delete_item(stage, random, std::move(gone), true);
  }
  // For the count at the end.
  for (Json& item : left) co_await put_or_delete_item(stage, random, std::move(item), true);
  stage.foreign_items_gone = true;
}

namespace {

// Everybody who waits is given to somebody, one after the other.
Async<bool> empty_queue(Stage& stage, std::string queue) {
  const std::set<std::string> waiting = stage.filtered.waiting(queue);
  std::set<std::string> given;
  for (int i = 0; i < 100 && !stage.verdict.is_broken(); ++i) {
    FilteredWish wish;
    wish.queue = queue;
    Json body = {{"match", Json::object()}};
    const uint64_t number = stage.filtered.begin_assign();
    const Reply reply = co_await ask(stage, queue, "assign", std::move(body));
    if (reply.kind != Reply::Kind::kDone) {
      stage.verdict.expect(reply.error != "TooManyRequestsException", "others are faster though nobody else is there",
                           queue);
      stage.filtered.assign_unsure(number, wish, false);
      co_return false;
    }
    ++stage.operations;
    if (text_of(reply.body, "outcome") != "assigned") {
      stage.filtered.assign_over(number);
      break;
    }
    const std::string member = text_of(reply.body, "member");
    const std::string assignment = text_of(reply.body, "assignment");
    stage.filtered.assigned(number, wish, member, assignment, text_of(reply.body, "queue"), reply.span);
    stage.filtered.begin_release(member, assignment);
    given.insert(member);
  }
  for (const std::string& member : waiting) {
    stage.verdict.expect(given.contains(member), "a member that waits is never given out", member + " in " + queue);
  }
  co_return true;
}

}  // namespace

Async<bool> judge_filtered_rest(Stage& stage) {
  if (stage.at_filtered_queues > 0 || (stage.plan.has("foreign-items") && !stage.foreign_items_gone)) co_return false;
  for (const char* queue : kQueues) {
    const bool looked = co_await look_side_by_side(stage, queue);
    if (!looked) co_return false;
    const std::string path = "/filtered/" + std::string(queue);
    const Reply counted = co_await stage.caller.get(path + "/recount", kLongPatience);
    if (counted.kind != Reply::Kind::kDone) co_return false;
    stage.verdict.expect(counted.body.value("wrong", 0) == 0, "a filtered queue counts wrongly", counted.body.dump());
  }
  // An entry that is nobody's stands before all others, and keeps nobody from them.
  Random random(stage.plan.seed + 2);
  Json stale = foreign_items("nobody")[1];
  Json again = stale;
  co_await put_or_delete_item(stage, random, std::move(again), false);
  // So does one of a member that waits by other entries.
  std::optional<Json> earlier;
  const std::set<std::string> waiting = stage.filtered.waiting(kQueues[0]);
  if (stage.plan.has("foreign-items") && !waiting.empty()) {
    earlier = foreign_items(*waiting.begin())[0];
    again = *earlier;
    co_await put_or_delete_item(stage, random, std::move(again), false);
  }
  bool emptied = true;
  for (const char* queue : kQueues) {
    const bool done = co_await empty_queue(stage, queue);
    emptied = emptied && done;
  }
  co_await put_or_delete_item(stage, random, std::move(stale), true);
  if (earlier) co_await put_or_delete_item(stage, random, std::move(*earlier), true);
  co_return emptied;
}

}  // namespace freshet::sim
