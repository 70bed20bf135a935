// Logs of older payload versions, kept as files in formats/: they open, and are gone on with.
#include <xxhash.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/sim/source_dir.h"
#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

std::string file(const std::string& name) {
  std::ifstream in(source_dir() + "/tests/tables/engine/formats/" + name, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// With the first batch's checksums as its bytes are (docs/formats.md, "Batch").
std::string with_batch_sums(std::string log) {
  constexpr size_t kBatch = 72;
  uint64_t id = 0;
  uint32_t size = 0;
  std::memcpy(&id, log.data() + 16, sizeof id);
  std::memcpy(&size, log.data() + kBatch + 16, sizeof size);
  const uint64_t payload = XXH3_64bits_withSeed(log.data() + kBatch + 48, size, id);
  std::memcpy(log.data() + kBatch + 8, &payload, sizeof payload);
  const uint64_t header = XXH3_64bits_withSeed(log.data() + kBatch + 8, 40, id);
  std::memcpy(log.data() + kBatch, &header, sizeof header);
  return log;
}

class OldFormatTest : public DiskStoreTest {
 protected:
  void SetUp() override {
    options.segment_bytes = 4096;
    ASSERT_TRUE(files.create_directories("data"));
  }
};

// Written by the program of 2026-11-21 (commit 5abab71), before closed streams, backups and keys of several attributes.
TEST_F(OldFormatTest, PayloadVersionOne) {
  const std::string log = file("payload-1.log");
  ASSERT_EQ(log.size(), 4096u);
  files.set_content("data/segment-0000000001.log", log);
  open();
  for (int round = 0; round < 2; ++round) {
    const auto tables = now(store->list_tables());
    EXPECT_EQ(*tables, (std::vector<std::string>{"Old", "Queue"}));
    const auto old = now(store->describe_table("Old"));
    ASSERT_TRUE(old);
    EXPECT_EQ(old->items, 4u);
    EXPECT_EQ(old->definition.ttl_attribute, "ttl");
    EXPECT_EQ(old->definition.stream, StreamView::kNewAndOldImages);
    EXPECT_EQ(old->definition.settings.tags, (std::map<std::string, std::string>{{"k", "v"}}));
    EXPECT_FALSE(old->restored);
    ASSERT_EQ(old->indexes.size(), 2u);
    QueryInput query;
    query.table = "Old";
    query.index = "by-group";
    query.key_condition = "#g = :g AND s > :s";
    query.placeholders.names = {{"#g", "group"}};
    query.placeholders.values = Map{{":g", Value("g0")}, {":s", Value::number(0)}};
    EXPECT_EQ(now(store->query(query))->count, 1u);
    EXPECT_EQ(stream("Old").size(), 6u) << "five puts, a delete";
    EXPECT_TRUE(now(store->closed_streams())->empty());
    EXPECT_EQ(books().stock, (std::map<std::string, uint64_t>{{"PENDING", 1}}));
    ASSERT_TRUE(put("Queue", task("t1", "PENDING", 5)));
    turn();
    reopen();
  }
}

TEST_F(OldFormatTest, ALaterPayloadVersionIsRefused) {
  open();
  create(queue_definition());
  turn();
  close();
  files.restart_process();
  // Behind the header of segment and batch stands the payload's version, for which the checksums are made anew here.
  std::string log = files.content("data/segment-0000000001.log");
  ASSERT_EQ(log[72 + 48], 2);
  log[72 + 48] = 3;
  files.set_content("data/segment-0000000001.log", with_batch_sums(log));
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupportedFormat);
}

}  // namespace
}  // namespace freshet
