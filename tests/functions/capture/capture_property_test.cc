// Random crashes of the machine and of the process, failing writes and syncs, a full disk, batches that come again,
// handlers that are ended where they wait, finished files that somebody takes away, a bucket that fails: in the end
// each record stands in the files once, in order.
#include <gtest/gtest.h>

#include "functions/capture/capture_lines.h"
#include "tests/functions/capture/capture_world.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

constexpr uint64_t kRecords = 300;

class CaptureRun {
 public:
  explicit CaptureRun(uint64_t seed) : world_(seed), random_(seed), seed_(seed), filtered_(random_.below(3) == 0) {
    for (uint64_t s = 1; s <= kRecords; ++s) {
      if (s > 1 && filtered_ && random_.below(4) == 0) continue;
      records_.push_back(CaptureWorld::record(s, random_.below(600)));
    }
    if (random_.below(2) == 0) {
      world_.settings.target = {"http://127.0.0.1:9000", "bucket", "us-east-1", "id", "secret"};
      world_.objects.loses = [this] { return random_.below(4) == 0; };
      world_.objects.fails = [this] { return random_.below(4) == 0; };
    }
    world_.settings.limits.bytes = 500 + random_.below(4000);
  }

  void go() {
    while (acknowledged_ < records_.size()) step();
    world_.files.set_disk_bytes(1u << 30);  // The last fault is over.
    restart();
    world_.objects.loses = world_.objects.fails = nullptr;
    world_.scheduler.run_for(seconds(600));
    expect_all();
  }

 private:
  void step() {
    make_a_fault();
    size_t from = acknowledged_;
    if (random_.below(3) == 0) from -= random_.below(std::min<size_t>(from, 8) + 1);
    const size_t to = std::min(records_.size(), from + 1 + random_.below(12));
    const StreamBatch batch = CaptureWorld::batch(std::vector<ChangeRecord>(
        records_.begin() + static_cast<ptrdiff_t>(from), records_.begin() + static_cast<ptrdiff_t>(to)));
    {
      auto running = world_.captures->append(world_.settings, batch);
      while (!running.is_ready()) {
        world_.scheduler.run_for(milliseconds(1 + random_.below(2)));
        if (random_.below(30) == 0) break;  // Its time is over.
      }
      if (running.is_ready()) {
        const auto appended = running.take();
        if (appended) acknowledged_ = std::max(acknowledged_, to);
      }
    }
    if (world_.files.crashed() || random_.below(25) == 0) restart();
    if (random_.below(10) == 0) world_.scheduler.run_for(seconds(random_.below(100)));
    if (world_.settings.target.endpoint.empty() && random_.below(10) == 0) take_away();
  }

  void make_a_fault() {
    world_.files.set_disk_bytes(random_.below(15) == 0 ? world_.files.bytes_allocated() + random_.below(300)
                                                       : 1u << 30);
    switch (random_.below(12)) {
      case 0:
        return world_.files.crash_at(world_.files.calls() + random_.below(25));
      case 1:
        return world_.files.fail_sync(1 + random_.below(3));
      case 2:
        return world_.files.fail_write(1 + random_.below(3));
      default:
        return;
    }
  }

  void restart() {
    const bool power = world_.files.crashed() || random_.below(2) == 0;
    world_.end();
    if (power) {
      world_.files.restart();
    } else {
      world_.files.restart_process();
    }
    world_.start();
  }

  void take_away() {
    for (const std::string& text : world_.names()) {
      const auto name = parse_capture_name(text);
      if (!name || !name->last) continue;
      taken_[text] = world_.content(text);
      if (!world_.files.remove("/changes/T/" + text) || !world_.files.sync_directory("/changes/T")) return restart();
    }
  }

  void expect_all() {
    std::map<std::string, std::string> files = taken_;
    for (const std::string& text : world_.names()) {
      const auto name = parse_capture_name(text);
      ASSERT_TRUE(name) << text;
      if (name->last) files[text] = world_.content(text);
      EXPECT_TRUE(name->last || world_.content(text).empty()) << "seed " << seed_;
    }
    for (const auto& [key, body] : world_.objects.objects) files[key.substr(key.rfind('/') + 1)] = body;
    std::string all;
    for (const auto& [text, content] : files) {
      const auto name = parse_capture_name(text);
      const GoodLines good = good_lines(content);
      EXPECT_EQ(good.bytes, content.size()) << text;
      EXPECT_EQ(good.first, name->first) << text;
      EXPECT_EQ(good.last, *name->last) << text;
      all += content;
    }
    std::string wanted;
    const StreamBatch batch = CaptureWorld::batch(records_);
    for (const ChangeRecord& record : records_) {
      append_stream_record(wanted, record, batch.source);
      wanted += '\n';
    }
    EXPECT_TRUE(all == wanted) << "seed " << seed_ << ": " << all.size() << " bytes of " << wanted.size();
    EXPECT_TRUE(world_.settings.target.endpoint.empty() || world_.names().size() == 1) << "seed " << seed_;
  }

  CaptureWorld world_;
  Random random_;
  const uint64_t seed_;
  const bool filtered_;
  std::vector<ChangeRecord> records_;
  size_t acknowledged_ = 0;
  std::map<std::string, std::string> taken_;
};

TEST(CaptureProperty, EachRecordStandsInTheFilesOnce) {
  for (const uint64_t seed : test_seeds(200)) CaptureRun(seed).go();
}

}  // namespace
}  // namespace freshet
