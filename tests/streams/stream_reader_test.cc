#include "streams/stream_reader.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstdio>

#include "runtime/loop/sim_loop.h"
#include "tables/engine/embedded.h"

namespace freshet {
namespace {

struct StreamReaderTest : testing::Test {
  SimClock clock{WallTime(seconds(1'700'000'000))};
  SimLoop sim{clock};
  Random random{1};
  std::unique_ptr<EmbeddedTables> tables;
  std::unique_ptr<StreamReader> reader;
  std::string arn;

  StreamReaderTest() {
    EmbeddedOptions options;
    options.directory = kMemoryDirectory;
    tables = std::move(*open_embedded(nullptr, sim.loop(), random, options));
    sim.loop().add(*tables);
    reader = std::make_unique<StreamReader>(*tables, clock, Account{});
    TableDefinition table;
    table.name = "Tasks";
    table.keys = KeySchema{{"id", Type::kString}, {}};
    table.stream = StreamView::kNewImage;
    auto created = tables->create_table(table).take();
    arn = stream_arn(Account{}, "Tasks", created->stream_label);
  }
  void put(const std::string& id) {
    PutItemInput input;
    input.table = "Tasks";
    input.item = Item{{"id", id}};
    ASSERT_TRUE(tables->put_item(std::move(input)).take());
    sim.run_ready();
  }
  Result<std::string> iterator(IteratorType type, std::string sequence = "") {
    return reader->shard_iterator({arn, std::string(kShardId), type, std::move(sequence)}).take();
  }
  std::vector<uint64_t> read(const Result<std::string>& from, uint32_t limit = 1000) {
    EXPECT_TRUE(from) << from.error().message;
    auto records = reader->records(*from, limit).take();
    EXPECT_TRUE(records) << records.error().message;
    std::vector<uint64_t> sequences;
    for (const ChangeRecord& record : records->records) sequences.push_back(record.sequence);
    next = records->next_iterator;
    return sequences;
  }
  std::string next;
};

using Sequences = std::vector<uint64_t>;

TEST_F(StreamReaderTest, OnlyItsOwnArnNamesAStream) {
  put("a");
  for (const char* region : {"eu-west-1", "US-EAST-1"}) {
    std::string other = arn;
    other.replace(other.find("us-east-1"), 9, region);
    EXPECT_EQ(reader->describe(other).take().error().code, ErrorCode::kResourceNotFound);
  }
}

TEST_F(StreamReaderTest, NumbersAtTheEdgesAreRefused) {
  put("a");
  const std::string largest = "118446744073709551615";  // The counter's last, in the form of sequence numbers.
  for (const auto type : {IteratorType::kAtSequenceNumber, IteratorType::kAfterSequenceNumber}) {
    EXPECT_EQ(iterator(type, largest).error().code, ErrorCode::kValidation) << iterator(type, largest).error().message;
  }
  std::string token = *iterator(IteratorType::kTrimHorizon);
  for (const char* made : {"8000000000000000", "7fffffffffffffff", "0002000000000000"}) {
    std::string forged = token.substr(0, token.size() - 32) + made;
    char sum[17];
    std::snprintf(sum, sizeof sum, "%016llx",
                  static_cast<unsigned long long>(XXH3_64bits(forged.data(), forged.size())));
    EXPECT_EQ(reader->records(forged + sum, 1).take().error().message, "Invalid ShardIterator") << made;
  }
}

TEST_F(StreamReaderTest, IteratorsStartWhereTheySay) {
  for (const char* id : {"a", "b", "c"}) put(id);
  EXPECT_EQ(read(iterator(IteratorType::kTrimHorizon)), (Sequences{1, 2, 3}));
  EXPECT_EQ(read(iterator(IteratorType::kLatest)), Sequences{});
  EXPECT_EQ(read(iterator(IteratorType::kAtSequenceNumber, sequence_number(2))), (Sequences{2, 3}));
  EXPECT_EQ(read(iterator(IteratorType::kAfterSequenceNumber, sequence_number(2))), Sequences{3});
  EXPECT_EQ(read(iterator(IteratorType::kAfterSequenceNumber, sequence_number(3))), Sequences{});
}

TEST_F(StreamReaderTest, AnEmptyShardCanBeReadFromItsFirstNumber) {
  const std::string first = sequence_number(reader->describe(arn).take()->bounds.oldest);
  const auto at = iterator(IteratorType::kAtSequenceNumber, first);
  const auto after = iterator(IteratorType::kAfterSequenceNumber, first);
  put("a");
  EXPECT_EQ(read(at), Sequences{1});
  EXPECT_EQ(read(after), Sequences{1});
}

TEST_F(StreamReaderTest, AStreamIsAsOldAsItsLabel) {
  EXPECT_EQ(reader->describe(arn).take()->created, clock.wall());
  sim.run_for(seconds(90));
  TableDefinition table = tables->describe_table("Tasks").take()->definition;
  table.stream.reset();
  ASSERT_TRUE(tables->alter_table(table).take());
  ASSERT_EQ(reader->list({}).take()->streams.size(), 1u);
  EXPECT_EQ(reader->list({}).take()->streams[0].arn, arn) << "closed, but there";
  table.stream = StreamView::kKeysOnly;
  ASSERT_TRUE(tables->alter_table(table).take());
  const auto again = reader->stream_of("Tasks").take();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->created, clock.wall());
  const auto closed = reader->describe(arn).take();
  ASSERT_TRUE(closed);
  EXPECT_TRUE(closed->closed);
  EXPECT_EQ(closed->created, clock.wall() - seconds(90));
}

TEST_F(StreamReaderTest, TheNextIteratorGoesOnWithoutGap) {
  const auto latest = iterator(IteratorType::kLatest);
  for (const char* id : {"a", "b", "c"}) put(id);
  EXPECT_EQ(read(latest, 2), (Sequences{1, 2}));
  EXPECT_EQ(read(next, 2), Sequences{3});
  EXPECT_EQ(read(next), Sequences{});
  put("d");
  EXPECT_EQ(read(next), Sequences{4});
}

TEST_F(StreamReaderTest, AnIteratorExpires) {
  const auto token = iterator(IteratorType::kTrimHorizon);
  sim.run_for(kIteratorLife);
  EXPECT_TRUE(reader->records(*token).take());
  sim.run_for(seconds(1));
  const auto expired = reader->records(*token).take();
  ASSERT_FALSE(expired);
  EXPECT_EQ(expired.error().code, ErrorCode::kExpiredIterator);
}

TEST_F(StreamReaderTest, ATokenThatWasNotMadeHereIsRefused) {
  const std::string good = *iterator(IteratorType::kTrimHorizon);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == '0' ? '1' : '0';
    const auto result = reader->records(bad).take();
    ASSERT_FALSE(result) << i;
    EXPECT_EQ(result.error().code, ErrorCode::kValidation);
  }
  EXPECT_FALSE(reader->records("").take());
  EXPECT_FALSE(reader->records(good, 0).take());
  EXPECT_FALSE(reader->records(good, 1001).take());
}

TEST_F(StreamReaderTest, PagesOfStreamsAreTheWholeList) {
  TableDefinition table;
  table.keys = KeySchema{{"id", Type::kString}, {}};
  for (const std::string name : {"AAA", "BBB", "CCC", "Uuu", "Vvv"}) {
    table.name = name;
    table.stream = name == "BBB" ? std::nullopt : std::optional(StreamView::kKeysOnly);
    ASSERT_TRUE(tables->create_table(table).take());
  }
  for (const std::string name : {"AAA", "Uuu", "Vvv"}) {  // Off, and on again but for the last.
    table.name = name;
    table.stream.reset();
    ASSERT_TRUE(tables->alter_table(table).take());
    sim.run_for(seconds(1));
    table.stream = StreamView::kNewImage;
    if (name == "Vvv") continue;
    ASSERT_TRUE(tables->alter_table(table).take());
  }
  const auto all = reader->list({{}, {}, 100}).take();
  ASSERT_TRUE(all);
  EXPECT_EQ(all->streams.size(), 7u);
  EXPECT_FALSE(all->more);
  for (uint32_t limit = 1; limit <= 8; ++limit) {
    std::vector<std::string> arns;
    std::string after;
    for (bool more = true; more;) {
      const auto page = reader->list({{}, after, limit}).take();
      ASSERT_TRUE(page);
      ASSERT_LE(page->streams.size(), limit);
      for (const auto& stream : page->streams) arns.push_back(stream.arn);
      more = page->more;
      after = arns.back();
    }
    ASSERT_EQ(arns.size(), all->streams.size()) << limit;
    for (size_t i = 0; i < arns.size(); ++i) EXPECT_EQ(arns[i], all->streams[i].arn);
  }
}

TEST_F(StreamReaderTest, WhatIsNotThereIsNamed) {
  put("a");
  const auto code = [](const auto& result) {
    return result ? std::string("none") : std::string(error_name(result.error().code));
  };
  EXPECT_EQ(code(iterator(IteratorType::kAtSequenceNumber, sequence_number(0))),
            error_name(ErrorCode::kTrimmedDataAccess));
  EXPECT_EQ(code(iterator(IteratorType::kAtSequenceNumber, sequence_number(3))), error_name(ErrorCode::kValidation));
  EXPECT_EQ(code(iterator(IteratorType::kAtSequenceNumber, "x")), error_name(ErrorCode::kValidation));
  EXPECT_EQ(code(reader->shard_iterator({arn, "shardId-x", IteratorType::kLatest, ""}).take()),
            error_name(ErrorCode::kResourceNotFound));
  EXPECT_EQ(code(reader->describe(arn + "x").take()), error_name(ErrorCode::kResourceNotFound));
  EXPECT_EQ(code(reader->describe("arn:nothing").take()), error_name(ErrorCode::kValidation));
  const auto stream = reader->describe(arn).take();
  ASSERT_TRUE(stream);
  EXPECT_EQ(stream->source.view, StreamView::kNewImage);
  EXPECT_EQ(stream->bounds.next, 2u);
  const auto token = iterator(IteratorType::kTrimHorizon);
  ASSERT_TRUE(tables->delete_table("Tasks").take());
  EXPECT_EQ(reader->records(*token).take()->records.size(), 1u) << "its stream is closed, but there";
  sim.run_for(std::chrono::hours(25));
  EXPECT_EQ(code(reader->describe(arn).take()), error_name(ErrorCode::kResourceNotFound));
}

TEST(IteratorType, NamesAreRead) {
  EXPECT_EQ(parse_iterator_type("TRIM_HORIZON"), IteratorType::kTrimHorizon);
  EXPECT_EQ(parse_iterator_type("LATEST"), IteratorType::kLatest);
  EXPECT_EQ(parse_iterator_type("AT_SEQUENCE_NUMBER"), IteratorType::kAtSequenceNumber);
  EXPECT_EQ(parse_iterator_type("AFTER_SEQUENCE_NUMBER"), IteratorType::kAfterSequenceNumber);
  EXPECT_FALSE(parse_iterator_type("latest"));
}

}  // namespace
}  // namespace freshet
