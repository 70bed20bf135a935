// Data folders that released versions wrote (tests/data, by tests/data/write.py) open with equal items, streams, books
// and backups. A program that does not know their format refuses them, and changes nothing.

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "tables/backups.h"
#include "tables/log/segment.h"
#include "tables/value/json.h"
#include "tests/sim/packed_file.h"
#include "tests/sim/source_dir.h"
#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

fs::path data_dir() {
  return fs::path(source_dir()) / "tests/data";
}

std::vector<std::string> versions() {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(data_dir())) {
    if (fs::exists(entry.path() / "expected.json.gz")) found.push_back(entry.path().filename());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string text_of(const ItemRef& item) {
  std::string out;
  if (item) append_item_json(out, item);
  return out;
}

// As text_of() says it, whatever the order of members was.
std::string text_of(const Json& item) {
  auto parsed = parse_item_json(item.dump());
  FRESHET_CHECK(parsed.has_value(), parsed ? "" : parsed.error().message.c_str());
  std::string out;
  append_item_json(out, *parsed);
  return out;
}

std::vector<std::string> texts_of(const Json& items) {
  std::vector<std::string> out;
  for (const auto& item : items) out.push_back(text_of(item));
  return out;
}

// Makes a segment one of a later format: another version in a header whose checksum is right.
void raise_version(std::string& segment) {
  segment[8] = 100;
  const uint64_t checksum = log_detail::checksum(segment.substr(0, 64), 0);
  for (size_t i = 0; i < 8; ++i) segment[64 + i] = static_cast<char>(checksum >> (8 * i));
}

class ReleasedDataTest : public StoreFixture, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    const fs::path folder = data_dir() / GetParam();
    expected = Json::parse(unpacked_file(folder / "expected.json.gz"));
    clock.step_wall(milliseconds(expected["writtenMs"].get<int64_t>() - epoch_ms(clock.wall())));
    ASSERT_TRUE(files.create_directories("data"));
    for (const auto& entry : fs::recursive_directory_iterator(folder / "store")) {
      const std::string name = fs::relative(entry.path(), folder / "store");
      if (entry.is_directory()) {
        ASSERT_TRUE(files.create_directories("data/" + name));
      } else {
        const std::string path = "data/" + name.substr(0, name.size() - std::string(".gz").size());
        files.set_content(path, unpacked_file(entry.path()));
        paths.push_back(path);
      }
    }
    options.segment_bytes = 1u << 20;
  }

  std::vector<std::string> scan(const std::string& table) {
    std::vector<std::string> out;
    ScanInput input;
    input.table = table;
    for (;;) {
      const Page page = now(store->scan(input)).value();
      for (const auto& item : page.items) out.push_back(text_of(item));
      if (page.last_evaluated_key.empty()) break;
      input.exclusive_start_key = page.last_evaluated_key;
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  void expect_tables() {
    std::vector<std::string> names = now(store->list_tables()).value();
    std::erase_if(names, [](const std::string& name) { return name.starts_with("freshet."); });
    std::vector<std::string> wanted;
    for (const auto& [name, items] : expected["tables"].items()) {
      wanted.push_back(name);
      std::vector<std::string> texts = texts_of(items);
      std::sort(texts.begin(), texts.end());
      EXPECT_EQ(scan(name), texts) << name;
    }
    EXPECT_EQ(names, wanted);
  }

  void expect_indexes() {
    for (const auto& [kind, items] : expected["indexes"]["Everything/by-kind"].items()) {
      QueryInput input;
      input.table = "Everything";
      input.index = "by-kind";
      input.key_condition = "kind = :k";
      input.placeholders.values = Map{{":k", Value(kind)}};
      const Page page = now(store->query(input)).value();
      std::vector<std::string> found;
      for (const auto& item : page.items) found.push_back(text_of(item));
      EXPECT_EQ(found, texts_of(items)) << kind;
    }
  }

  void expect_stream(const Json& stream) {
    SCOPED_TRACE(stream["table"].get<std::string>() + " " + stream["label"].get<std::string>());
    ReadStreamInput input;
    input.table = stream["table"];
    input.label = stream["label"];
    input.from = first_sequence(stream);
    std::vector<ChangeRecord> found;
    for (;;) {
      auto page = now(store->read_stream(input));
      ASSERT_TRUE(page) << page.error().message;
      if (page->records.empty()) break;
      std::move(page->records.begin(), page->records.end(), std::back_inserter(found));
      input.from = page->next;
    }
    ASSERT_EQ(found.size(), stream["records"].size());
    for (size_t i = 0; i < found.size(); ++i) expect_record(found[i], stream["records"][i]);
  }

  uint64_t first_sequence(const Json& stream) {
    const std::vector<ClosedStream> closed_streams = now(store->closed_streams()).value();
    for (const auto& closed : closed_streams) {
      if (closed.table == stream["table"] && closed.label == stream["label"]) return closed.bounds.oldest;
    }
    return now(store->stream_bounds(stream["table"])).value().oldest;
  }

  // An image that the stream's view leaves out is not compared.
  static void expect_record(const ChangeRecord& record, const Json& wanted) {
    static const std::map<std::string, ChangeRecord::Kind> kKinds = {{"INSERT", ChangeRecord::Kind::kInsert},
                                                                     {"MODIFY", ChangeRecord::Kind::kModify},
                                                                     {"REMOVE", ChangeRecord::Kind::kRemove}};
    EXPECT_EQ(record.kind, kKinds.at(wanted["eventName"]));
    const Json& change = wanted["dynamodb"];
    std::string keys;
    append_item_json(keys, record.keys);
    EXPECT_EQ(keys, text_of(change["Keys"]));
    if (change.contains("OldImage")) {
      EXPECT_EQ(text_of(record.before), text_of(change["OldImage"]));
    }
    if (change.contains("NewImage")) {
      EXPECT_EQ(text_of(record.after), text_of(change["NewImage"]));
    }
  }

  void expect_books() {
    for (const auto& [table, wanted] : expected["books"].items()) {
      const Books books = this->books(table);
      std::map<std::string, uint64_t> flow;
      for (const auto& [arrow, count] : books.flow) flow[arrow.from + "->" + arrow.to] += count;
      EXPECT_EQ(flow, (wanted["flow"].get<std::map<std::string, uint64_t>>())) << table;
      for (const auto& [status, count] : wanted["depth"].items()) {
        EXPECT_EQ(books.stock.contains(status) ? books.stock.at(status) : 0, count) << table << " " << status;
      }
      for (const auto& [status, bytes] : wanted["bytes"].items()) EXPECT_EQ(books.bytes.at(status), bytes) << status;
    }
  }

  // Each backup has the items that its table still has: nothing was written after it was made.
  void expect_backups() {
    const BackupPage page = now(store->backups()->list({})).value();
    ASSERT_EQ(page.backups.size(), expected["backups"].size());
    for (size_t i = 0; i < page.backups.size(); ++i) {
      const BackupDescription& backup = page.backups[i];
      EXPECT_EQ(backup.name, expected["backups"][i]["name"]);
      TableDefinition definition = backup.table.definition;
      definition.name = "Restored";
      ASSERT_TRUE(now(store->backups()->restore(backup.id, definition)));
      scheduler.run_until_idle(seconds(60));
      EXPECT_EQ(scan("Restored"), scan(backup.table.definition.name));
    }
  }

  Json expected;
  std::vector<std::string> paths;
};

TEST_P(ReleasedDataTest, OpensWithEqualItemsStreamsAndBooks) {
  open();
  expect_tables();
  expect_indexes();
  for (const auto& stream : expected["streams"]) expect_stream(stream);
  expect_books();
  expect_backups();
}

// The next start reads the folder after today's store has written to it.
TEST_P(ReleasedDataTest, OpensAgainAfterWrites) {
  open();
  ASSERT_TRUE(put("Churn", Item{{"p", Value("new")}}));
  turn();
  std::map<std::string, std::vector<std::string>> before;
  const std::vector<std::string> names = now(store->list_tables()).value();
  for (const auto& name : names) before[name] = scan(name);
  const Books books_before = books("QueueTable");
  reopen();
  for (const auto& [name, items] : before) EXPECT_EQ(scan(name), items) << name;
  EXPECT_EQ(books("QueueTable"), books_before);
}

TEST_P(ReleasedDataTest, AProgramThatDoesNotKnowTheFormatRefusesItUntouched) {
  std::map<std::string, std::string> before;
  for (const auto& path : paths) {
    std::string bytes = files.content(path);
    if (path.find("/segment-") != std::string::npos) raise_version(bytes);
    files.set_content(path, bytes);
    before[path] = bytes;
  }
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kUnsupportedFormat) << opened.error().message;
  for (const auto& [path, bytes] : before) EXPECT_EQ(files.content(path), bytes) << path;
}

INSTANTIATE_TEST_SUITE_P(Releases, ReleasedDataTest, ::testing::ValuesIn(versions()), [](const auto& version) {
  std::string name = version.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(ReleasedData, IsThere) {
  EXPECT_FALSE(versions().empty());
}

}  // namespace
}  // namespace freshet
