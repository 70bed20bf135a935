// A log on simulated files, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tables/log/log.h"
#include "tests/sim/sim_files.h"

namespace freshet {

struct LogFixture : testing::Test {
  SimFiles files{1};
  LogOptions options;
  SimClock clock{WallTime(seconds(1'700'000'000))};
  std::unique_ptr<Log> log;
  std::vector<LogBatch> batches;      // As replayed by the last open; payloads below.
  std::vector<std::string> payloads;  // As replayed by the last open.

  LogFixture() {
    options.directory = "data";
    options.segment_bytes = 4096;
    options.new_log_id = 77;
  }

  Result<void> try_open() {
    log.reset();
    batches.clear();
    payloads.clear();
    auto opened = open_log(files, options, [this](const LogBatch& batch) -> Result<void> {
      batches.push_back(batch);
      payloads.emplace_back(batch.payload);
      return {};
    });
    if (!opened) return fail(std::move(opened.error()));
    log = std::move(*opened);
    return {};
  }
  void open() {
    auto opened = try_open();
    ASSERT_TRUE(opened) << opened.error().message;
  }
  LogPosition append(std::string_view payload, BatchKind kind = BatchKind::kCommit) {
    auto at = log->append(kind, payload);
    EXPECT_TRUE(at) << at.error().message;
    return at ? *at : LogPosition{};
  }
  void sync(Waiting waiting = Waiting::kMany) {
    auto synced = log->sync(clock.boot(), waiting, log->last_sequence());
    ASSERT_TRUE(synced) << synced.error().message;
  }
  // Reads everything that is there, segment by segment.
  std::vector<std::string> read_all() {
    std::vector<std::string> all;
    for (const SegmentInfo& segment : log->segments()) {
      for (LogPosition at{segment.id, 0}; at.offset < segment.bytes;) {
        auto next = log->read(at, 1000, [&](const LogBatch& batch) -> Result<void> {
          all.emplace_back(batch.payload);
          return {};
        });
        EXPECT_TRUE(next) << next.error().message;
        if (!next) return all;
        at = *next;
      }
    }
    return all;
  }
  static std::string segment_path(uint32_t id) {
    const std::string digits = std::to_string(id);
    return "data/segment-" + std::string(10 - digits.size(), '0') + digits + ".log";
  }
};

using Strings = std::vector<std::string>;

}  // namespace freshet
