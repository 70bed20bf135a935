// The Lambda API as exchanges: what clients send, and what they get.
#include "wire/lambda/lambda_route.h"

#include <gtest/gtest.h>

#include "runtime/invoke/native_host.h"

namespace freshet {
namespace {

class FakeInvoker final : public Invoker {
 public:
  Async<Result<InvokeOutcome>> invoke(std::string function, std::string payload, InvokeWishes wishes) override {
    called = function + " " + payload + (wishes.wants_log ? " log" : "");
    trace_id = wishes.trace_id;
    client_context = wishes.client_context;
    return outcome;
  }
  Async<Result<std::string>> invoke_async(std::string function, std::string payload, std::string trace) override {
    called = function + " later " + payload;
    trace_id = std::move(trace);
    return Result<std::string>("later-id");
  }
  Result<PreparedEvent> prepare(Delivery) override { return fail(ErrorCode::kInternal, "not here"); }
  std::shared_ptr<const FunctionDefinition> find(const std::string& function) const override {
    return is_there && function == "Work" ? std::make_shared<const FunctionDefinition>(definition) : nullptr;
  }
  std::map<std::string, FunctionStats> stats() const override { return {}; }

  FunctionDefinition definition;
  bool is_there = true;
  std::string called;
  std::string trace_id;
  std::string client_context;
  Result<InvokeOutcome> outcome = InvokeOutcome{"7", std::nullopt};
};

class LambdaRouteTest : public ::testing::Test {
 protected:
  LambdaRouteTest() {
    invoker_.definition.name = "Work";
    invoker_.definition.host = "process";
    invoker_.definition.runtime = "python3.11";
    invoker_.definition.handler = "app.handler";
    invoker_.definition.code = "/code";
    invoker_.definition.environment = {{"A", "b\""}};
    invoker_.definition.reserved_concurrency = 2;
    FunctionDefinition other = invoker_.definition;
    other.name = "Zoo";
    route_ = make_lambda_route(invoker_, [this, other] { return std::vector{invoker_.definition, other}; }, {});
  }
  HttpResponse call(const std::string& method, const std::string& target, const std::string& body = "",
                    HttpHeaders headers = {}) {
    HttpRequest request{method, target, std::move(headers), body};
    EXPECT_TRUE(route_->matches(request)) << target;
    auto exchange = route_->accept(std::move(request));
    const Async<void> work = exchange->run();
    EXPECT_TRUE(work.is_ready());
    return exchange->respond();
  }
  HttpResponse invoke(const std::string& name, HttpHeaders headers = {}) {
    return call("POST", "/2015-03-31/functions/" + name + "/invocations", R"({"n":1})", std::move(headers));
  }

  FakeInvoker invoker_;
  std::unique_ptr<Route> route_;
};

TEST_F(LambdaRouteTest, AFunctionThatIsNotThereIsLookedForInTheFleet) {
  bool is_made = false;
  std::vector<std::string> looked_for;
  LambdaPlace place;
  place.look_for = [&](std::string name) -> Async<void> {
    looked_for.push_back(name);
    invoker_.is_there = is_made;
    return {};
  };
  invoker_.is_there = false;
  route_ = make_lambda_route(
      invoker_, [this] { return std::vector{invoker_.definition}; }, place);
  EXPECT_EQ(invoke("Work").status, 404);
  EXPECT_EQ(call("GET", "/2015-03-31/functions/Work").status, 404);
  is_made = true;
  EXPECT_EQ(invoke("Work").status, 200);
  invoker_.is_there = false;
  EXPECT_EQ(call("GET", "/2015-03-31/functions/Work/configuration").status, 200);
  EXPECT_EQ(looked_for, (std::vector<std::string>{"Work", "Work", "Work", "Work"}));
  EXPECT_EQ(invoke("Work").status, 200);
  EXPECT_EQ(looked_for.size(), 4u) << "what is there is not looked for";
}

// Variables hold passwords; and whoever knows an id of all that is shown could try values until one fits.
TEST_F(LambdaRouteTest, VariablesAreHiddenFromWhoMayNotChangeThem) {
  LambdaPlace place;
  place.hides_environment = true;
  route_ = make_lambda_route(
      invoker_, [this] { return std::vector{invoker_.definition}; }, place);
  const auto shown = [&] {
    return std::vector{call("GET", "/2015-03-31/functions/Work").body,
                       call("GET", "/2015-03-31/functions/Work/configuration").body,
                       call("GET", "/2015-03-31/functions").body};
  };
  const auto before = shown();
  for (const std::string& body : before) {
    EXPECT_EQ(body.find("Variables\""), std::string::npos) << body;
    EXPECT_NE(body.find(R"("Environment":{"Error":{"ErrorCode":"AccessDeniedException","Message":")"),
              std::string::npos)
        << body;
  }
  invoker_.definition.environment = {{"A", "another"}};
  EXPECT_EQ(shown(), before) << "not even that it has changed";
  invoker_.definition.environment.clear();
  EXPECT_NE(shown()[0].find(R"("Environment":{"Variables":{}})"), std::string::npos);
}

TEST_F(LambdaRouteTest, InvokesByNameAndArn) {
  for (const char* name : {"Work", "Work:%24LATEST", "arn:aws:lambda:us-east-1:000000000000:function:Work",
                           "arn%3Aaws%3Alambda%3Aus-east-1%3A000000000000%3Afunction%3AWork%3A$LATEST",
                           "000000000000:function:Work", "function:Work"}) {
    invoker_.called.clear();
    const HttpResponse response = invoke(name);
    EXPECT_EQ(response.status, 200) << name;
    EXPECT_EQ(response.body, "7");
    EXPECT_EQ(header(response.headers, "X-Amz-Executed-Version"), "$LATEST");
    EXPECT_EQ(header(response.headers, "X-Amz-Function-Error"), "");
    EXPECT_EQ(invoker_.called, R"(Work {"n":1})") << name;
  }
}

TEST_F(LambdaRouteTest, WhatIsNotThisFunctionIsNotFound) {
  const std::string arn = "arn:aws:lambda:us-east-1:000000000000:function:Work";
  const std::vector<std::string> others{std::string("Work:7"),
                                        "Work:live",
                                        arn + ":7",
                                        "000000000000:function:Work:7",
                                        "111111111111:function:Work",
                                        "arn:aws:lambda:us-east-1:111111111111:function:Work",
                                        "arn:aws:lambda:eu-west-1:000000000000:function:Work"};
  for (const std::string& name : others) {
    for (const char* rest : {"", "/configuration"}) {
      const HttpResponse got = call("GET", "/2015-03-31/functions/" + name + rest);
      EXPECT_EQ(header(got.headers, "x-amzn-ErrorType"), "ResourceNotFoundException") << name;
    }
    EXPECT_EQ(invoke(name).status, 404) << name;
  }
  EXPECT_NE(invoke("Work:7").body.find("Function not found: " + arn + ":7"), std::string::npos);
  EXPECT_EQ(call("GET", "/2015-03-31/functions/Work?Qualifier=7").status, 404);
  EXPECT_EQ(call("GET", "/2015-03-31/functions/Work?Qualifier=$LATEST").status, 200);
  EXPECT_EQ(call("GET", "/2015-03-31/functions/Work:7?Qualifier=8").status, 400) << "which one?";
  EXPECT_EQ(call("GET", "/2015-03-31/functions/Work:7:8").status, 400);
  EXPECT_EQ(call("GET", "/2015-03-31/functions/arn:aws:sns:us-east-1:000000000000:Work").status, 400);
  EXPECT_EQ(invoker_.called, "");
}

TEST_F(LambdaRouteTest, ShowsFunctionErrorsAndTheLog) {
  invoker_.outcome = failed_outcome("T", "m");
  invoker_.outcome->log = "lines\n";
  const HttpResponse response = invoke("Work", {{"x-amz-log-type", "Tail"}});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(header(response.headers, "X-Amz-Function-Error"), "Unhandled");
  EXPECT_EQ(header(response.headers, "X-Amz-Log-Result"), "bGluZXMK");
  EXPECT_EQ(response.body, R"({"errorMessage":"m","errorType":"T"})");
  EXPECT_EQ(invoker_.called, R"(Work {"n":1} log)");
}

TEST_F(LambdaRouteTest, ErrorsThatTheRuntimeHasHandledAreTold) {
  invoker_.outcome = failed_outcome("T", "m");
  invoker_.outcome->error->handled = true;
  EXPECT_EQ(header(invoke("Work").headers, "X-Amz-Function-Error"), "Handled");
}

TEST_F(LambdaRouteTest, TheClientContextGoesToTheFunction) {
  EXPECT_EQ(invoke("Work", {{"X-Amz-Client-Context", "eyJjdXN0b20iOnsiYSI6IjEifX0="}}).status, 200);
  EXPECT_EQ(invoker_.client_context, R"({"custom":{"a":"1"}})");
  invoker_.called.clear();
  for (const std::string& wrong : {std::string("no Base64"), std::string("W10="), std::string(3584, 'A')}) {
    const HttpResponse refused = invoke("Work", {{"X-Amz-Client-Context", wrong}});
    EXPECT_EQ(refused.status, 400) << wrong;
    EXPECT_EQ(header(refused.headers, "x-amzn-ErrorType"), "InvalidRequestContentException");
  }
  EXPECT_EQ(invoker_.called, "");
}

TEST_F(LambdaRouteTest, OtherInvocationTypes) {
  EXPECT_EQ(invoke("Work", {{"X-Amz-Invocation-Type", "Event"}}).status, 202);
  EXPECT_EQ(invoker_.called, R"(Work later {"n":1})");
  invoker_.called.clear();
  EXPECT_EQ(invoke("Work", {{"X-Amz-Invocation-Type", "DryRun"}}).status, 204);
  EXPECT_EQ(invoker_.called, "");
  EXPECT_EQ(invoke("Work", {{"X-Amz-Invocation-Type", "Later"}}).status, 400);
}

TEST_F(LambdaRouteTest, TheAnswersIdIsTheInvocationsAndItsTraceTheCallers) {
  const HttpHeaders headers{{"X-Amzn-Trace-Id", "Root=1-2-3"}};
  invoker_.outcome->request_id = "now-id";
  EXPECT_EQ(header(invoke("Work", headers).headers, "x-amzn-RequestId"), "now-id");
  EXPECT_EQ(invoker_.trace_id, "Root=1-2-3");
  EXPECT_EQ(header(invoke("Work", {{"X-Amz-Invocation-Type", "Event"}}).headers, "x-amzn-RequestId"), "later-id");
  EXPECT_EQ(invoker_.trace_id, "");
  EXPECT_EQ(header(invoke("Nothing").headers, "x-amzn-RequestId").size(), 36u);
  invoke("Work", {{"X-Amz-Invocation-Type", "Event"}, {"X-Amzn-Trace-Id", "Root=1-2-3"}});
  EXPECT_EQ(invoker_.trace_id, "Root=1-2-3");
}

TEST_F(LambdaRouteTest, ErrorsHaveTheirNames) {
  const HttpResponse missing = invoke("Nothing");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(header(missing.headers, "x-amzn-ErrorType"), "ResourceNotFoundException");
  EXPECT_EQ(
      missing.body,
      R"({"Type":"User","Message":"Function not found: arn:aws:lambda:us-east-1:000000000000:function:Nothing"})");
  EXPECT_EQ(invoke("Work:7").status, 404) << "there are no versions";
  invoker_.outcome = fail(ErrorCode::kTooManyRequests, "Rate Exceeded.");
  const HttpResponse throttled = invoke("Work");
  EXPECT_EQ(throttled.status, 429);
  EXPECT_EQ(header(throttled.headers, "x-amzn-ErrorType"), "TooManyRequestsException");
  invoker_.outcome = fail(ErrorCode::kThroughputExceeded, "The store is at its memory cap. Retry later.");
  const HttpResponse full = invoke("Work");
  EXPECT_EQ(full.status, 429) << "a full store is no fault of the service";
  EXPECT_EQ(header(full.headers, "x-amzn-ErrorType"), "TooManyRequestsException");
  EXPECT_EQ(full.body, R"({"Type":"User","Message":"The store is at its memory cap. Retry later."})");
  invoker_.outcome = failed_outcome("Host.Busy", "No process is free for it");
  EXPECT_EQ(invoke("Work").status, 429);
  invoker_.called.clear();
  const HttpResponse garbled = call("POST", "/2015-03-31/functions/Work/invocations", "{x");
  EXPECT_EQ(garbled.status, 400);
  EXPECT_EQ(header(garbled.headers, "x-amzn-ErrorType"), "InvalidRequestContentException");
  EXPECT_NE(garbled.body.find("Could not parse request body into json: "), std::string::npos);
  EXPECT_EQ(invoker_.called, "");
  EXPECT_EQ(call("DELETE", "/2015-03-31/functions/Work").status, 501);
}

TEST_F(LambdaRouteTest, ShowsFunctions) {
  const std::string configuration =
      R"({"FunctionName":"Work","FunctionArn":"arn:aws:lambda:us-east-1:000000000000:function:Work",)"
      R"("Runtime":"python3.11","Role":"","Handler":"app.handler","CodeSize":0,"CodeSha256":"","Description":"",)"
      R"("Timeout":3,"MemorySize":128,"Environment":{"Variables":{"A":"b\""}},)"
      R"("RevisionId":"c9d979e8-7914-4b56-ba4e-76af7f702674","Version":"$LATEST","PackageType":"Zip","State":"Active",)"
      R"("LastUpdateStatus":"Successful","EphemeralStorage":{"Size":512},"TracingConfig":{"Mode":"PassThrough"}})";
  EXPECT_EQ(call("GET", "/2015-03-31/functions/Work/configuration").body, configuration);
  EXPECT_EQ(call("GET", "/2015-03-31/functions/Work").body,
            R"({"Configuration":)" + configuration +
                R"(,"Code":{"RepositoryType":"folder","Location":"file:///code"},)"
                R"("Concurrency":{"ReservedConcurrentExecutions":2}})");
  EXPECT_EQ(call("GET", "/2015-03-31/functions/Nothing").status, 404);
  EXPECT_EQ(call("GET", "/2015-03-31/functions/?MaxItems=1").body,
            R"({"Functions":[)" + configuration + R"(],"NextMarker":"Work"})");
  const std::string rest = call("GET", "/2015-03-31/functions/?Marker=Work").body;
  EXPECT_EQ(rest.find("NextMarker"), std::string::npos);
  EXPECT_NE(rest.find(R"("FunctionName":"Zoo")"), std::string::npos);
  EXPECT_EQ(call("GET", "/2015-03-31/functions?MaxItems=none").status, 400);
}

}  // namespace
}  // namespace freshet
