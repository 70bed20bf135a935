// The file of one backup: docs/formats.md, "Backups". Written in order, read in order. Loop thread only; calls block
// for as long as the file system takes for one block.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "tables/backups.h"
#include "tables/value/item_ref.h"

namespace freshet {

class BackupWriter {
 public:
  // Makes the file, with its first block. kDiskFull, kIo.
  static Result<std::unique_ptr<BackupWriter>> create(Files& files, const std::string& path,
                                                      const BackupDescription& backup);
  BackupWriter(const BackupWriter&) = delete;
  BackupWriter& operator=(const BackupWriter&) = delete;

  Result<void> add(const ItemRef& item);
  // Writes the remaining items and the end mark; the owner syncs the file.
  Result<void> finish();
  File& file() { return *file_; }
  uint64_t bytes() const { return written_; }

 private:
  explicit BackupWriter(std::unique_ptr<File> file) : file_(std::move(file)) {}
  void begin_block();
  Result<void> end_block();

  const std::unique_ptr<File> file_;
  uint64_t written_ = 0;
  uint64_t blocks_ = 0;
  std::string block_;  // Head and payload.
  uint32_t items_ = 0;
};

class BackupReader {
 public:
  // kUnsupportedFormat for a newer version, kCorruption if the file is not a backup.
  static Result<std::unique_ptr<BackupReader>> open(Files& files, const std::string& path);
  BackupReader(const BackupReader&) = delete;
  BackupReader& operator=(const BackupReader&) = delete;

  const BackupDescription& backup() const { return backup_; }
  // The items of the next block; an empty result at the end of the file. kCorruption names file and offset.
  Result<std::vector<ItemRef>> next();
  Result<uint64_t> bytes() { return file_->size(); }

 private:
  struct Block {
    uint32_t items = 0;
    std::string payload;
  };
  BackupReader(std::unique_ptr<File> file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  tl::unexpected<Error> damaged(const char* what) const;
  Result<void> read_header();
  Result<Block> read_block();
  Result<std::string> read(uint64_t offset, size_t bytes);

  const std::unique_ptr<File> file_;
  const std::string path_;
  BackupDescription backup_;
  uint64_t at_ = 0;
  uint64_t blocks_ = 0;
  uint64_t items_ = 0;
};

}  // namespace freshet
