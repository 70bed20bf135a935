// Every bit: a small store of some 64 KiB, with each of its files cut to each length, and with each single bit of them
// flipped. A store that opens holds the right data; a damaged one says so, and names the file and the place.
//
// Only the last batch may differ: nothing behind it says that it was durable, so damage to it looks like a torn
// write. It is cut, and the log says where.
//
// FRESHET_EVERY_BIT=1 flips all bits; else each byte has one bit flipped (`./test.sh release`).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <regex>

#include "tests/tables/engine/store_fixture.h"
#include "tests/tables/engine/store_model.h"

namespace freshet {
namespace {

constexpr uint64_t kLargestBatch = 6000;  // The largest batch of this store, in bytes: as much as compaction moves in
                                          // one turn.
constexpr int kParts = 4;                 // The parts of the work, for several cores.

class EveryBitTest : public StoreFixture, public testing::WithParamInterface<int> {
 protected:
  EveryBitTest() {
    options.segment_bytes = 24u << 10;
    options.stream_memory_bytes = 2000;
    options.stream_max_bytes = 30'000;
    options.move_step_bytes = 4000;
  }

  void SetUp() override {
    open();
    create(queue_definition());
    turn();
    for (int i = 0; i < 75; ++i) {
      before_last_ = described();
      Item item = task("t" + std::to_string(i % 25), i % 3 == 0 ? "PENDING" : "DONE", i);
      item.set("body", Value(std::string(1200, static_cast<char>('a' + i % 26))));
      ASSERT_TRUE(put("Queue", std::move(item)));
      turn();
    }
    whole_ = described();
    const auto records = streamed();
    ASSERT_TRUE(records) << records.error().message;
    streamed_ = *records;
    close();
    files.restart_process();
    const std::vector<std::string> names = *files.list("data");
    for (const std::string& name : names) paths_.push_back("data/" + name);
    paths_.erase(std::remove_if(paths_.begin(), paths_.end(), [&](const auto& path) { return !files.exists(path); }),
                 paths_.end());
  }

  std::string described() { return StoreModel::describe(*store); }

  // The records of the queue's stream, a line each, or an error: of a retired segment, damage is only seen when its
  // records are read.
  Result<std::string> streamed() {
    std::string out;
    auto bounds = now(store->stream_bounds("Queue"));
    if (!bounds) return fail(bounds.error());
    ReadStreamInput input;
    input.table = "Queue";
    for (input.from = bounds->oldest; input.from < bounds->next;) {
      auto page = now(store->read_stream(input));
      if (!page) return fail(page.error());
      if (page->records.empty()) return fail(ErrorCode::kInternal, "nothing is left to read");
      for (const auto& record : page->records) {
        out +=
            std::to_string(record.sequence) + std::string(record.after.decode().string_or("body").substr(0, 2)) + " ";
        input.from = record.sequence + 1;
      }
    }
    return out;
  }

  // Empty if the error names the file and, if `at` is a place in it, an offset from which that place can be reached
  // within one batch.
  static std::string misnamed(const Error& error, const std::string& path, std::optional<uint64_t> at) {
    std::smatch found;
    if (error.message.find(path) == std::string::npos) return "does not name " + path + ": " + error.message;
    static const std::regex kOffset(" offset (\\d+)| has (\\d+) bytes");
    if (!std::regex_search(error.message, found, kOffset)) {
      return error.message.find("is cut to what it holds") != std::string::npos ? "" : "no offset: " + error.message;
    }
    const uint64_t offset = std::stoull(found[1].matched ? found[1] : found[2]);
    if (at && (offset > *at || *at - offset > kLargestBatch)) {
      return "another offset than " + std::to_string(*at) + ": " + error.message;
    }
    return "";
  }

  // Opens a copy of the store in which `path` holds `bytes`. Empty if all is well.
  std::string judge(const std::string& path, std::string bytes, std::optional<uint64_t> at) {
    const auto disk = files.after_power_cut(std::vector<SimFiles::Fate>(files.unsynced().size()), 1);
    disk->set_content(path, std::move(bytes));
    std::optional<LogCut> cut;
    EmbeddedOptions its = options;
    its.on_log_cut = [&](const LogCut& one) { cut = one; };
    auto opened = open_embedded(disk.get(), scheduler, random, its);
    ++opened_;
    if (!opened) return ++refused_, misnamed(opened.error(), path, at);
    store = std::move(*opened);
    const std::string found = described();
    const auto records = streamed();
    store.reset();
    if (found == before_last_ && cut && cut->file == path) return ++cut_, "";
    if (found != whole_) return "other data than before, and nobody was told";
    if (!records) return ++refused_, misnamed(records.error(), path, at);
    if (*records != streamed_) return cut ? "a cut that the stream feels" : "other records, and nobody was told";
    return "";
  }

  std::vector<std::string> paths_;
  std::string whole_;
  std::string before_last_;
  std::string streamed_;
  uint64_t opened_ = 0;
  uint64_t refused_ = 0;
  uint64_t cut_ = 0;
};

TEST_P(EveryBitTest, ATruncatedOrFlippedFileIsRightOrRefusedByFileAndOffset) {
  const bool all = std::getenv("FRESHET_EVERY_BIT") != nullptr;
  uint64_t bytes = 0;
  for (const std::string& path : paths_) {
    const std::string whole = files.content(path);
    bytes += whole.size();
    for (size_t at = static_cast<size_t>(GetParam()); at < whole.size(); at += kParts) {
      std::string wrong = judge(path, whole.substr(0, at), {});
      ASSERT_EQ(wrong, "") << path << " cut to " << at << " bytes";
      for (int bit = 0; bit < 8; ++bit) {
        if (!all && bit != static_cast<int>(at / kParts % 8)) continue;
        std::string flipped = whole;
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
        wrong = judge(path, std::move(flipped), at);
        ASSERT_EQ(wrong, "") << path << ", bit " << bit << " of byte " << at;
      }
    }
  }
  std::printf("%llu bytes in %zu files, %llu damaged stores opened, %llu refused, %llu with a cut\n",
              static_cast<unsigned long long>(bytes), paths_.size(), static_cast<unsigned long long>(opened_),
              static_cast<unsigned long long>(refused_), static_cast<unsigned long long>(cut_));
  EXPECT_GE(bytes, 64u << 10);
  EXPECT_GT(refused_, 0u);
  EXPECT_GT(cut_, 0u);
}

INSTANTIATE_TEST_SUITE_P(Parts, EveryBitTest, testing::Range(0, kParts));

}  // namespace
}  // namespace freshet
