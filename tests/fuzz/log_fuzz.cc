// The log reader: bytes as the segment files of a data directory, through recovery to an open store. What opens goes on
// working and opens again with the same items; what does not is refused with an error.
//
// An input is a byte of flags, then files: 1 byte of segment id, 2 bytes of length (little-endian), that many bytes.
// Flag 1 puts right what a fuzzer cannot guess: magic, log id, segment ids, sequences, lengths that lead out of the
// file, and all checksums, so that the code behind them is reached. Flag 2 does so up to the last batch of the last
// file.
#include <algorithm>
#include <map>
#include <memory>

#include "runtime/loop/sim_loop.h"
#include "tables/engine/embedded.h"
#include "tables/log/segment.h"
#include "tables/value/json.h"
#include "tests/fuzz/target.h"

namespace freshet::fuzz {
namespace {

using namespace log_detail;

constexpr uint64_t kLogId = 0x0123456789abcdef;
constexpr const char* kDirectory = "data";
constexpr size_t kMaxFiles = 6;

uint64_t number_at(std::string_view bytes, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[at + i])) << 8 * i;
  return value;
}

// The fields as the bytes have them, but for those that no chance gets right.
class Mender {
 public:
  explicit Mender(bool all) : all_(all) {}

  void mend(std::string& file, uint32_t id, uint64_t previous_bytes, bool last) {
    if (file.size() < kSegmentHeaderBytes) return;
    SegmentHeader header;
    header.log_id = kLogId;
    header.id = id;
    header.first_unretired = static_cast<uint32_t>(number_at(file, 28, 4));
    if (header.first_unretired < 1 || header.first_unretired > id) header.first_unretired = 1;
    header.first_sequence = sequence_;
    header.durable = mark(file, 40, 48);
    header.previous_bytes = previous_bytes;
    file.replace(0, kSegmentHeaderBytes, encode(header));
    size_t at = kSegmentHeaderBytes;
    while (at + kBatchHeaderBytes <= file.size()) {
      const size_t next = mend_batch(file, at, id);
      if (!all_ && last && next + kBatchHeaderBytes > file.size()) file[at] = static_cast<char>(file[at] ^ 1);
      at = next;
    }
  }

 private:
  static LogPosition mark(std::string_view file, size_t offset_at, size_t segment_at) {
    return {static_cast<uint32_t>(number_at(file, segment_at, 4)), number_at(file, offset_at, 8)};
  }

  size_t mend_batch(std::string& file, size_t at, uint32_t id) {
    const size_t room = file.size() - at - kBatchHeaderBytes;
    BatchHeader header;
    header.payload_bytes = static_cast<uint32_t>(number_at(file, at + 16, 4));
    if (header.payload_bytes > room) header.payload_bytes = static_cast<uint32_t>(room);
    header.segment = id;
    header.sequence = sequence_++;
    header.durable = mark(file, at + 32, at + 40);
    if (header.durable.segment > id) header.durable = {};
    header.kind = static_cast<uint8_t>(file[at + 44]);
    const std::string_view payload = std::string_view(file).substr(at + kBatchHeaderBytes, header.payload_bytes);
    header.payload_checksum = checksum(payload, kLogId);
    encode(header, kLogId, file.data() + at);
    const size_t next = at + batch_bytes(header.payload_bytes);
    if (next > file.size()) file.resize(next);
    return next;
  }

  const bool all_;
  uint64_t sequence_ = 1;
};

std::map<uint32_t, std::string> files_of(std::string_view input) {
  std::map<uint32_t, std::string> files;
  const int flags = input.empty() ? 0 : input.front() & 3;
  if (!input.empty()) input.remove_prefix(1);
  while (input.size() >= 3 && files.size() < kMaxFiles) {
    const auto id = static_cast<uint32_t>(number_at(input, 0, 1) % 16);
    const size_t length = std::min<size_t>(number_at(input, 1, 2), input.size() - 3);
    files[id] = input.substr(3, length);
    input.remove_prefix(3 + length);
  }
  if (flags == 0) return files;
  Mender mender(flags != 2);
  uint64_t previous = 0;
  for (auto& [id, bytes] : files) {
    mender.mend(bytes, id, previous, id == files.rbegin()->first);
    previous = bytes.size();
  }
  return files;
}

void write(Files& files, const std::string& path, std::string_view bytes) {
  auto file = files.open(path, OpenMode::kCreate);
  require(file.has_value() && (*file)->write_at(0, bytes).has_value(), "a file in memory");
}

// The store of one life, on the files of them all.
class Life {
 public:
  explicit Life(Files& files) {
    EmbeddedOptions options;
    options.directory = kDirectory;
    options.segment_bytes = 16u << 10;
    options.max_memory_bytes = 64u << 20;
    options.on_failure = [this](const Error& error) { failure_ = error.message; };
    auto opened = open_embedded(&files, scheduler_, random_, options);
    if (!opened) {
      require(!opened.error().message.empty(), "an error without a message");
      show(opened.error().message);
      return;
    }
    store_ = std::move(*opened);
    scheduler_.add(*store_);
  }
  ~Life() {
    if (store_) scheduler_.remove(*store_);
  }
  bool opened() const { return store_ != nullptr; }

  // Everything that can be read, table by table.
  std::string contents() {
    std::string text;
    const auto tables = store_->list_tables().take();
    require(tables.has_value(), "the tables cannot be listed");
    for (const std::string& table : *tables) {
      ScanInput input;
      input.table = table;
      const auto page = store_->scan(std::move(input)).take();
      require(page.has_value(), "a table cannot be read", page ? "" : page.error().message);
      text += table + "\n";
      for (const ItemRef& item : page->items) append_item_json(text, item);
      read_stream(table);
    }
    return text;
  }
  // Another commit, and what upkeep there is.
  void work() {
    TableDefinition definition;
    definition.name = "fuzz-made";
    definition.keys = {{"id", Type::kString}, {}};
    static_cast<void>(store_->create_table(definition).take());
    PutItemInput put;
    put.table = definition.name;
    put.item.set("id", Value("one"));
    static_cast<void>(store_->put_item(std::move(put)).take());
    scheduler_.run_for(milliseconds(50));
    require(failure_.empty(), "the store has failed", failure_);
  }

 private:
  void read_stream(const std::string& table) {
    const auto bounds = store_->stream_bounds(table).take();
    if (!bounds) return;
    ReadStreamInput input;
    input.table = table;
    input.from = bounds->oldest;
    static_cast<void>(store_->read_stream(std::move(input)).take());
  }

  // In the past of what segments may say, so that nothing expires between two lives.
  SimClock clock_{WallTime(milliseconds(1'000'000'000'000))};
  SimLoop scheduler_{clock_};
  Random random_{3};
  std::string failure_;
  std::unique_ptr<EmbeddedTables> store_;
};

}  // namespace
}  // namespace freshet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace freshet;
  const auto files = make_memory_files();
  static_cast<void>(files->create_directories(fuzz::kDirectory));
  for (const auto& [id, bytes] : fuzz::files_of(fuzz::as_text(data, size))) {
    fuzz::write(*files, std::string(fuzz::kDirectory) + "/" + log_detail::segment_name(id), bytes);
  }
  std::string before;
  {
    fuzz::Life life(*files);
    if (!life.opened()) return 0;
    before = life.contents();
    life.work();
    before = life.contents();
    fuzz::show(before);
  }
  fuzz::Life again(*files);
  fuzz::require(again.opened(), "a store that was open cannot be opened again");
  const std::string after = again.contents();
  fuzz::require(after == before, "a store has other contents after it was opened again", before + "\n--\n" + after);
  return 0;
}
