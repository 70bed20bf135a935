// Captures over simulated files, with a bucket that fails when it is told to.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "functions/capture/captures.h"
#include "runtime/loop/sim_loop.h"
#include "streams/arn.h"
#include "tests/sim/sim_files.h"

namespace freshet {

class FakeObjects final : public ObjectStore {
 public:
  explicit FakeObjects(Scheduler& scheduler) : scheduler_(scheduler) {}
  Async<Result<void>> put(ObjectTarget target, std::string key, std::string body) override {
    targets.push_back(std::move(target));
    const bool arrives = !loses || !loses();
    const auto before = objects.find(key);
    if (arrives) {
      // The same name, the same content.
      const bool same = before == objects.end() || before->second == body;
      EXPECT_TRUE(same) << key;
      objects[key] = std::move(body);
    }
    co_await sleep_for(scheduler_, milliseconds(5));
    if (!arrives || (fails && fails())) co_return fail(ErrorCode::kUnavailable, "the bucket is not there");
    co_return Result<void>();
  }
  std::map<std::string, std::string> objects;
  std::vector<ObjectTarget> targets;
  std::function<bool()> loses;  // Nothing arrives.
  std::function<bool()> fails;  // It has arrived and says that it has not.

 private:
  Scheduler& scheduler_;
};

class CaptureWorld {
 public:
  explicit CaptureWorld(uint64_t seed = 1) : files(seed), sync_(std::make_unique<SimSync>(files, scheduler)) {
    EXPECT_TRUE(files.create_directories("/changes"));
    EXPECT_TRUE(files.sync_directory("/"));
    settings.folder = "/changes";
    settings.limits.bytes = 1u << 20;
    settings.limits.age = seconds(60);
    start();
  }

  // A new process. Who has died has left nothing running.
  void start() {
    captures = std::make_unique<Captures>(CaptureParts{files, *sync_, scheduler, objects, EventLog()});
    captures->begin(settings);
  }
  void end() {
    captures.reset();
    sync_ = std::make_unique<SimSync>(files, scheduler);
  }

  static ChangeRecord record(uint64_t sequence, size_t bytes = 10) {
    ChangeRecord out;
    out.sequence = sequence;
    out.keys = Item{{"id", Value(std::to_string(sequence))}};
    Item after = out.keys;
    after.set("text", Value(std::string(bytes, 'x')));
    out.after = ItemRef::encode(after);
    return out;
  }
  static StreamBatch batch(std::vector<ChangeRecord> records, const std::string& label = "2026-11-21T00:08:52.709") {
    return {std::move(records), {Account{}, stream_arn(Account{}, "T", label), StreamView::kNewAndOldImages}};
  }
  static StreamBatch batch(uint64_t first, uint64_t last) {
    std::vector<ChangeRecord> records;
    for (uint64_t s = first; s <= last; ++s) records.push_back(record(s));
    return batch(std::move(records));
  }
  Result<Appended> append(const StreamBatch& what) {
    auto running = captures->append(settings, what);
    for (int i = 0; i < 100'000 && !running.is_ready(); ++i) scheduler.run_for(milliseconds(1));
    EXPECT_TRUE(running.is_ready());
    return running.take();
  }

  std::vector<std::string> names() {
    auto listed = files.list("/changes/T");
    return listed ? *listed : std::vector<std::string>();
  }
  std::string content(const std::string& name) const { return files.content("/changes/T/" + name); }
  static std::string part(uint64_t first) {
    return to_string(CaptureName{{kLabel, {}}, sequence_number(first), std::nullopt});
  }
  static std::string finished(uint64_t first, uint64_t last) {
    return to_string(CaptureName{{kLabel, {}}, sequence_number(first), sequence_number(last)});
  }
  static std::string lines(uint64_t first, uint64_t last) {
    std::string out;
    const StreamBatch all = batch(first, last);
    for (const ChangeRecord& one : all.records) {
      append_stream_record(out, one, all.source);
      out += '\n';
    }
    return out;
  }

  static constexpr const char* kLabel = "2026-11-21T00-08-52.709";
  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop scheduler{clock};
  SimFiles files;
  FakeObjects objects{scheduler};
  CaptureSettings settings;

 private:
  std::unique_ptr<SimSync> sync_;

 public:
  std::unique_ptr<Captures> captures;  // Last: it uses the others.
};

}  // namespace freshet
