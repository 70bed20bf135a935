// The streams of several tables of an engine in simulation, one after the other for each table. Each stream is a
// FakeEngine, which a test writes to and lets fail.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/streams/shards/fake_engine.h"

namespace freshet {

class TableStreams final : public EngineStreams {
 public:
  TableStreams(Scheduler& scheduler, uint64_t seed) : scheduler_(scheduler), seed_(seed) {}

  // The table's latest stream from now on.
  FakeEngine& add(const std::string& table, const std::string& label, int items = 4) {
    streams_.push_back({table, label, std::make_unique<FakeEngine>(scheduler_, seed_ + streams_.size(), items)});
    return *streams_.back().engine;
  }

  Async<Result<EngineStream>> stream_of(std::string table) override {
    co_await sleep_for(scheduler_, milliseconds(1));
    const auto found =
        std::find_if(streams_.rbegin(), streams_.rend(), [&](const auto& s) { return s.table == table; });
    if (found == streams_.rend() || deleted.contains(table)) co_return gone();
    co_return facts(*found);
  }
  Async<Result<ShardPage>> shards(std::string arn, std::string after) override {
    const size_t at = place_of(arn);
    if (at == streams_.size()) co_return gone();
    auto page = co_await streams_[at].engine->shards({}, std::move(after));
    if (page) page->stream = facts(streams_[at]);
    co_return page;
  }
  Async<Result<std::string>> iterator(std::string arn, std::string shard, ShardStart start,
                                      std::string after) override {
    const size_t at = place_of(arn);
    if (at == streams_.size()) co_return gone();
    auto inner = co_await streams_[at].engine->iterator({}, std::move(shard), start, std::move(after));
    if (!inner) co_return inner;
    co_return std::to_string(at) + "!" + *inner;
  }
  Async<Result<ShardRecords>> records(std::string iterator) override {
    const size_t bar = iterator.find('!');
    const std::string prefix = iterator.substr(0, bar + 1);
    auto page = co_await streams_[std::stoul(prefix)].engine->records(iterator.substr(bar + 1));
    if (page && !page->next.empty()) page->next = prefix + page->next;
    co_return page;
  }

  std::set<std::string> deleted;  // Tables that are gone; their streams are still there.

 private:
  struct Stream {
    std::string table;
    std::string label;
    std::unique_ptr<FakeEngine> engine;
  };
  static std::string arn_of(const Stream& stream) { return "arn:" + stream.table + "/stream/" + stream.label; }
  static EngineStream facts(const Stream& stream) {
    return {arn_of(stream), stream.label, StreamView::kNewAndOldImages, stream.engine->is_on};
  }
  static tl::unexpected<Error> gone() { return fail(ErrorCode::kResourceNotFound, "Requested resource not found"); }
  size_t place_of(const std::string& arn) const {
    size_t at = 0;
    while (at < streams_.size() && arn_of(streams_[at]) != arn) ++at;
    return at;
  }

  Scheduler& scheduler_;
  const uint64_t seed_;
  std::vector<Stream> streams_;
};

}  // namespace freshet
