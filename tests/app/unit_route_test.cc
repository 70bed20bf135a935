// Requests at a member of a fleet that does not serve their priority queue.
#include "app/fleet/unit_route.h"

#include <vector>

#include "tests/app/asked_member.h"
#include "wire/tasks/answers.h"

namespace freshet {
namespace {

class PriorityKind final : public UnitKind {
 public:
  std::string_view kind() const override { return "priority"; }
  void serve(const std::string& name, bool is_mine) override { served.push_back((is_mine ? "+" : "-") + name); }
  bool is_busy(const std::string& /*name*/) const override { return false; }
  std::vector<std::string> served;
};

// Answers each request with its target.
class EchoRoute final : public Route {
 public:
  bool matches(const HttpRequest& /*request*/) const override { return true; }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    return std::make_unique<Echo>(std::move(request.target));
  }

 private:
  class Echo final : public Exchange {
   public:
    explicit Echo(std::string target) : target_(std::move(target)) {}
    Async<void> run() override { return {}; }
    HttpResponse respond() override { return tasks::json_answer("here " + target_); }

   private:
    const std::string target_;
  };
};

class UnitRouteTest : public AskedMemberTest {
 protected:
  UnitRouteTest() : AskedMemberTest("priority/Orders") {
    route = make_unit_route(std::make_unique<EchoRoute>(), kind,
                            {ApiCall::kPriorityPut, ApiCall::kPriorityUpsert, ApiCall::kPriorityRecord}, *units, calls);
    units->set_units(kind, {"Orders"});
  }
  ~UnitRouteTest() override {
    route.reset();
    units.reset();
  }
  void answer_nothing() {
    world.http.answer = [](const HttpRequest&) { return never_sent(ErrorCode::kUnavailable, "nobody listens"); };
  }

  PriorityKind kind;
};

TEST_F(UnitRouteTest, ARequestGoesToTheOwner) {
  begin();
  world.http.requests.clear();
  HttpResponse empty;
  empty.status = 200;
  empty.body = "from the owner";
  world.http.answers.emplace_back(empty);
  EXPECT_EQ(post("/priority/Orders/peek", "{}").body, "from the owner");
  ASSERT_EQ(world.http.requests.size(), 1u);
  EXPECT_EQ(world.http.requests[0].target, "/priority/Orders/peek");
  EXPECT_EQ(ask("GET", "/priority", "").body, "here /priority\n") << "every member has the list";
  EXPECT_EQ(ask("GET", "/priority/Unknown/stats", "").body, "here /priority/Unknown/stats\n");
  EXPECT_EQ(ask("POST", "/priority/Orders/peek", "{}", true).status, 503) << "it is never passed on twice";
}

TEST_F(UnitRouteTest, WhatEveryMemberMayAnswerIsAnsweredWhileTheOwnerCannotBeReached) {
  begin();
  answer_nothing();
  EXPECT_EQ(post("/priority/Orders/put", "{}").body, "here /priority/Orders/put\n");
  EXPECT_EQ(ask("GET", "/priority/Orders/records/a", "").body, "here /priority/Orders/records/a\n");
  const HttpResponse peek = post("/priority/Orders/peek", "{}");
  EXPECT_EQ(peek.status, 503);
  EXPECT_NE(peek.body.find("cannot be reached"), std::string::npos) << peek.body;
  world.http.answer = [](const HttpRequest&) -> Result<HttpResponse> { return fail(ErrorCode::kTimeout, "no answer"); };
  const HttpResponse put = post("/priority/Orders/put", "{}");
  EXPECT_EQ(put.status, 503) << "the owner may have done it: " << put.body;
  EXPECT_NE(put.body.find("UnknownOutcomeException"), std::string::npos) << put.body;
}

TEST_F(UnitRouteTest, NobodyIsAskedBeforeThisMemberHasJoined) {
  EXPECT_EQ(post("/priority/Orders/peek", "{}").status, 503);
  EXPECT_EQ(post("/priority/Orders/put", "{}").status, 503) << "its clock is not known to be right";
}

TEST_F(UnitRouteTest, ItServesTheUnitWhenTheOwnerIsDead) {
  begin();
  EXPECT_TRUE(kind.served.empty());
  owner.reset();
  world.pass(seconds(8));
  EXPECT_EQ(kind.served, std::vector<std::string>{"+Orders"});
  EXPECT_EQ(post("/priority/Orders/peek", "{}").body, "here /priority/Orders/peek\n");
  EXPECT_EQ(units->served_here(kind), 1u);
}

}  // namespace
}  // namespace freshet
