// The request path, body to answer: all operations of DynamoDB and its streams, and the task API, against a store in
// memory with a table of every feature and a queue.
//
// An input is requests, parted by blank lines. The first line of one says which: "PutItem" (DynamoDB),
// "streams GetRecords", or "POST /queues/QueueTable/take" (method and target of the task API); the rest is the body. In
// bodies $iterator, $shard, $stream and $lease stand for the last of their kind that an answer had.
#include <array>
#include <memory>

#include "functions/queue/queues.h"
#include "runtime/loop/sim_loop.h"
#include "runtime/no_services.h"
#include "tables/engine/embedded.h"
#include "tables/value/json_reader.h"
#include "tests/functions/queue_table.h"
#include "tests/fuzz/target.h"
#include "wire/dynamodb/route.h"
#include "wire/tasks/task_route.h"

namespace freshet::fuzz {
namespace {

constexpr size_t kMaxRequests = 24;

constexpr std::string_view kTable =
    R"({"TableName":"Everything","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[)"
    R"({"AttributeName":"id","AttributeType":"S"},{"AttributeName":"at","AttributeType":"N"},)"
    R"({"AttributeName":"state","AttributeType":"S"},{"AttributeName":"bin","AttributeType":"B"}],)"
    R"("KeySchema":[{"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"at","KeyType":"RANGE"}],)"
    R"("LocalSecondaryIndexes":[{"IndexName":"local","Projection":{"ProjectionType":"ALL"},"KeySchema":[)"
    R"({"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"bin","KeyType":"RANGE"}]}],)"
    R"("GlobalSecondaryIndexes":[{"IndexName":"by-state","Projection":{"ProjectionType":"INCLUDE",)"
    R"("NonKeyAttributes":["n"]},"KeySchema":[{"AttributeName":"state","KeyType":"HASH"},)"
    R"({"AttributeName":"at","KeyType":"RANGE"}]}],)"
    R"("StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}})";

class World {
 public:
  World() {
    EmbeddedOptions options;
    options.directory = std::string(kMemoryDirectory);
    options.max_memory_bytes = 256u << 20;
    options.on_failure = [](const Error& error) { require(false, "the store has failed", error.message); };
    store_ = std::move(*open_embedded(nullptr, scheduler_, random_, options));
    scheduler_.add(*store_);
    require(store_->create_table(queue_table()).take().has_value(), "the queue's table");
    services_ = std::make_unique<Services>(Services{*store_, topics_, scheduler_, random_, http_, spawner_});
    queues_ = std::make_unique<Queues>(*services_, EventLog(), QueueIdentity{"n", "life"});
    auto opened = queues_->open("QueueTable", {});
    settle();
    require(opened.is_ready() && opened.take().has_value(), "the queue");
    queues_->begin();
    routes_ = {make_task_route(*queues_, clock_), make_dynamodb_route(*store_, clock_)};
    request("CreateTable\n" + std::string(kTable));
    request(R"(UpdateTimeToLive)"
            "\n"
            R"({"TableName":"Everything","TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}})");
  }
  ~World() {
    queues_.reset();
    scheduler_.remove(*store_);
  }

  void request(std::string_view text) {
    HttpRequest request = read(text);
    Route* route = nullptr;
    for (const auto& one : routes_) {
      if (route == nullptr && one->matches(request)) route = one.get();
    }
    if (route == nullptr) return;
    auto exchange = route->accept(std::move(request));
    Async<void> work = exchange->run();
    scheduler_.run_ready();
    // A take may wait longer than this: the client hangs up then.
    for (int step = 0; step < 3 && !work.is_ready(); ++step) scheduler_.run_for(milliseconds(100));
    if (!work.is_ready()) return;
    check(exchange->respond());
  }

  // At the end: what is due, and the books.
  void end() {
    settle();
    scheduler_.run_for(seconds(2));
    if (auto books = store_->books("QueueTable").take()) {
      const auto balance = check_balance(*books);
      require(balance.has_value(), "the books do not balance", balance ? "" : balance.error().message);
    }
  }

 private:
  void settle() {
    scheduler_.run_ready();
    scheduler_.run_for(milliseconds(20));
  }

  HttpRequest read(std::string_view text) const {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view first = text.substr(0, end);
    HttpRequest request{"POST", "/", {{"Host", "localhost"}}, with_tokens(text.substr(std::min(end + 1, text.size())))};
    const size_t blank = first.find(' ');
    if (first.starts_with("streams ")) {
      request.headers.emplace_back("X-Amz-Target", "DynamoDBStreams_20120810." + std::string(first.substr(blank + 1)));
    } else if (blank == std::string_view::npos) {
      request.headers.emplace_back("X-Amz-Target", "DynamoDB_20120810." + std::string(first));
    } else {
      request.method = first.substr(0, blank);
      request.target = with_tokens(first.substr(blank + 1));
    }
    return request;
  }

  // Tokens, by the member of an answer that holds one.
  struct Token {
    std::string_view placeholder;
    std::string_view member;
    std::string last;
  };

  std::string with_tokens(std::string_view text) const {
    std::string out(text);
    for (const Token& token : tokens_) {
      for (size_t at = out.find(token.placeholder); at != std::string::npos;
           at = out.find(token.placeholder, at + token.last.size())) {
        out.replace(at, token.placeholder.size(), token.last);
      }
    }
    return out;
  }

  void check(const HttpResponse& response) {
    show(std::to_string(response.status) + " " + response.body);
    const bool expected = response.status >= 200 && (response.status < 500 || response.status == 503);
    require(expected, "a server's error", response.body);
    JsonDocument document;
    require(response.body.empty() || document.parse(response.body).has_value(), "an answer that is no JSON",
            response.body);
    for (Token& token : tokens_) {
      const size_t at = response.body.find(token.member);
      if (at == std::string::npos) continue;
      const size_t begin = at + token.member.size();
      const size_t end = response.body.find('"', begin);
      if (end - begin < 1000) token.last = response.body.substr(begin, end - begin);
    }
  }

  SimClock clock_{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop scheduler_{clock_};
  Random random_{1};
  NoTopics topics_;
  NoHttp http_;
  NoSpawner spawner_;
  std::unique_ptr<EmbeddedTables> store_;
  std::unique_ptr<Services> services_;
  std::unique_ptr<Queues> queues_;
  std::array<std::unique_ptr<Route>, 2> routes_;
  std::array<Token, 4> tokens_{{{"$shard", "ShardId\":\"", {}},
                                {"$iterator", "ShardIterator\":\"", {}},
                                {"$stream", "StreamArn\":\"", {}},
                                {"$lease", "\"lease\":\"", {}}}};
};

}  // namespace
}  // namespace freshet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace freshet::fuzz;
  World world;
  size_t requests = 0;
  for (const std::string_view request : split(as_text(data, size), "\n\n")) {
    if (++requests > kMaxRequests) break;
    world.request(request);
  }
  world.end();
  return 0;
}
