#include "tables/engine/backup_file.h"

#include <xxhash.h>

#include "tables/engine/batch.h"
#include "tables/engine/bytes.h"

namespace freshet {
namespace {

constexpr std::string_view kMagic = "FRESHBAK";
constexpr uint32_t kBackupVersion = 1;
constexpr size_t kFileHead = 16;   // Magic, version, zero.
constexpr size_t kBlockHead = 16;  // Checksum, payload bytes, items.
constexpr size_t kBlockBytes = 64u << 10;
constexpr size_t kMaxBlockBytes = 4u << 20;  // More than a block with the largest item has.

uint64_t sum_of(std::string_view block, uint64_t number) {
  return XXH3_64bits_withSeed(block.data() + 8, block.size() - 8, number);
}

std::string encode_backup(const BackupDescription& backup) {
  StoredTable table;
  table.description = backup.table;
  Item item;
  item.set("id", Value(backup.id));
  item.set("name", Value(backup.name));
  item.set("created", Value::number(epoch_ms(backup.created)));
  item.set("items", Value::number(static_cast<int64_t>(backup.table.items)));
  item.set("bytes", Value::number(static_cast<int64_t>(backup.table.bytes)));
  item.set("table", Value(table_to_item(table)));
  std::string encoded;
  append_encoded(encoded, item);
  return encoded;
}

Result<BackupDescription> decode_backup(std::string_view encoded) {
  auto item = decode_item(encoded);
  if (!item) return fail(item.error());
  const Value* value = item->find("table");
  const Map* table = value ? value->get_if<Map>() : nullptr;
  auto stored = table_from_item(table ? *table : Item{});
  if (!stored) return fail(stored.error());
  BackupDescription backup;
  backup.id = item->string_or("id");
  backup.name = item->string_or("name");
  backup.created = WallTime(milliseconds(item->int_or("created", 0)));
  backup.table = std::move(stored->description);
  backup.table.items = static_cast<uint64_t>(item->int_or("items", 0));
  backup.table.bytes = static_cast<uint64_t>(item->int_or("bytes", 0));
  return backup;
}

}  // namespace

Result<std::unique_ptr<BackupWriter>> BackupWriter::create(Files& files, const std::string& path,
                                                           const BackupDescription& backup) {
  auto file = files.open(path, OpenMode::kCreate);
  if (!file) return fail(std::move(file.error()));
  std::unique_ptr<BackupWriter> writer(new BackupWriter(std::move(*file)));
  std::string head(kMagic);
  append_fixed32(head, kBackupVersion);
  append_fixed32(head, 0);
  if (auto ok = writer->file_->write_at(0, head); !ok) return fail(std::move(ok.error()));
  writer->written_ = head.size();
  writer->begin_block();
  writer->block_ += encode_backup(backup);
  if (auto ok = writer->end_block(); !ok) return fail(std::move(ok.error()));
  return writer;
}

void BackupWriter::begin_block() {
  block_.assign(kBlockHead, '\0');
  items_ = 0;
}

Result<void> BackupWriter::end_block() {
  std::string head;
  append_fixed32(head, static_cast<uint32_t>(block_.size() - kBlockHead));
  append_fixed32(head, items_);
  block_.replace(8, 8, head);
  std::string sum;
  append_fixed(sum, sum_of(block_, blocks_++));
  block_.replace(0, 8, sum);
  if (auto ok = file_->write_at(written_, block_); !ok) return ok;
  written_ += block_.size();
  begin_block();
  return {};
}

Result<void> BackupWriter::add(const ItemRef& item) {
  append_bytes(block_, item.encoded());
  ++items_;
  return block_.size() < kBlockBytes ? Result<void>{} : end_block();
}

Result<void> BackupWriter::finish() {
  if (items_ > 0) {
    if (auto ok = end_block(); !ok) return ok;
  }
  return end_block();
}

Result<std::unique_ptr<BackupReader>> BackupReader::open(Files& files, const std::string& path) {
  auto file = files.open(path, OpenMode::kRead);
  if (!file) return fail(std::move(file.error()));
  std::unique_ptr<BackupReader> reader(new BackupReader(std::move(*file), path));
  if (auto ok = reader->read_header(); !ok) return fail(std::move(ok.error()));
  return reader;
}

tl::unexpected<Error> BackupReader::damaged(const char* what) const {
  return fail(ErrorCode::kCorruption,
              "the backup " + path_ + " is damaged at offset " + std::to_string(at_) + ": " + what);
}

Result<std::string> BackupReader::read(uint64_t offset, size_t bytes) {
  std::string out(bytes, '\0');
  auto got = file_->read_at(offset, out);
  if (!got) return fail(std::move(got.error()));
  if (*got < bytes) return damaged("it ends too early");
  return out;
}

Result<void> BackupReader::read_header() {
  auto head = read(0, kFileHead);
  if (!head) return fail(std::move(head.error()));
  if (!head->starts_with(kMagic)) return damaged("it does not begin as a backup does");
  ByteReader in(std::string_view(*head).substr(kMagic.size()));
  if (const uint32_t version = in.fixed32(); version != kBackupVersion) {
    return fail(ErrorCode::kUnsupportedFormat, "the backup " + path_ + " has format version " +
                                                   std::to_string(version) + "; this program reads version " +
                                                   std::to_string(kBackupVersion));
  }
  at_ = kFileHead;
  auto block = read_block();
  if (!block) return fail(std::move(block.error()));
  auto backup = decode_backup(block->payload);
  if (!backup) return damaged(backup.error().message.c_str());
  backup_ = std::move(*backup);
  return {};
}

Result<BackupReader::Block> BackupReader::read_block() {
  auto head = read(at_, kBlockHead);
  if (!head) return fail(std::move(head.error()));
  ByteReader in(*head);
  const uint64_t sum = in.fixed();
  const uint32_t bytes = in.fixed32();
  Block block;
  block.items = in.fixed32();
  if (bytes > kMaxBlockBytes) return damaged("a block is too large");
  auto whole = read(at_, kBlockHead + bytes);
  if (!whole) return fail(std::move(whole.error()));
  if (sum_of(*whole, blocks_) != sum) return damaged("the checksum is wrong");
  ++blocks_;
  at_ += whole->size();
  block.payload = whole->substr(kBlockHead);
  return block;
}

Result<std::vector<ItemRef>> BackupReader::next() {
  auto block = read_block();
  if (!block) return fail(std::move(block.error()));
  std::vector<ItemRef> items;
  ByteReader in(block->payload);
  for (uint32_t i = 0; i < block->items; ++i) {
    auto item = ItemRef::from_encoded(in.bytes());
    if (!in.ok() || !item) return damaged("an item is none");
    items.push_back(std::move(*item));
  }
  items_ += items.size();
  if (items.empty() && items_ != backup_.table.items) return damaged("items are missing");
  return items;
}

}  // namespace freshet
