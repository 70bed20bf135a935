// The files of one table's stream in a folder: one open file that lines are appended to, and those that are finished,
// whose content never changes again (names: capture_name.h).
//
// No line is lost or written twice, even if records are delivered again and wherever a crash comes: append() succeeds
// when the lines are durable, and the files themselves tell which records they have, so repeated ones are left out.
// When the open file is taken over (by a new process, or after a failed sync), its complete lines are written again,
// and a torn one is left out. An error (a full disk) leaves the previous lines. The table's folder is made if it does
// not exist; its parent folder must exist.
//
// If a file has disappeared from the folder when its lines are synced, the append fails: the lines are written to a new
// file when the records are delivered again. A file without lines is closed after limits.age, so that former streams
// hold no descriptors.
//
// The open file exists even without lines: its name says which records were written before, even if somebody has moved
// the finished files away. Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/async.h"
#include "base/files.h"
#include "base/log.h"
#include "base/scheduler.h"
#include "functions/capture/capture_lines.h"
#include "functions/capture/capture_name.h"
#include "functions/capture/capture_settings.h"
#include "functions/capture/file_sync.h"
#include "runtime/invoke/payload.h"

namespace freshet {

struct CaptureFileParts {
  Files& files;
  FileSync& sync;
  Scheduler& scheduler;
  EventLog log;
  std::function<void(const std::string& name)> on_finished;  // In the directory.
};

struct Appended {
  size_t written = 0;
  size_t seen_before = 0;
};

class CaptureFile {
 public:
  // The objects that the parts refer to outlive it. Nothing is opened yet.
  CaptureFile(CaptureFileParts parts, std::string directory, std::string_view stream_label);
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;
  ~CaptureFile();

  // Prepares an existing open file, so that it is finished at its time. Does nothing if there is none.
  Result<void> take_over(CaptureLimits limits);
  // Appends records in order; those that were written before are left out. kConflict while another append is running.
  // The batch outlives the Async. kValidation for a new record that comes after a later one: the mapping has several
  // lanes. (A restart forgets the gaps of finished files, and only a bounded number of gaps is kept.)
  Async<Result<Appended>> append(const StreamBatch& batch, CaptureLimits limits);

 private:
  struct Lines {
    std::string text;
    uint64_t first = 0;
    uint64_t last = 0;
    size_t count = 0;
  };
  class Use;

  std::string path(const CaptureName& name) const { return directory_ + "/" + to_string(name); }
  Result<void> open(uint64_t first);
  Result<void> open_new(uint64_t first);
  Result<void> go_on(const CaptureName& part, bool newest);
  Result<std::unique_ptr<File>> replace(const std::string& path, std::string_view content);
  Result<void> rename_finished(const CaptureName& part, uint64_t first, uint64_t last);
  Result<bool> is_written(uint64_t sequence, uint64_t last) const;
  Async<Result<void>> flush(Lines lines);
  Result<void> finish();
  void arm(nanoseconds after);
  void on_time();

  const CaptureFileParts parts_;
  const std::string directory_;
  const std::string label_;  // As in the files' names.
  CaptureLimits limits_;
  bool busy_ = false;
  TimerId timer_ = 0;
  std::unique_ptr<File> file_;  // Null: the folder must be read before anything is written.
  CaptureName part_;            // The open file's name.
  uint64_t size_ = 0;           // The bytes of its lines, all durable.
  bool torn_ = false;           // True if the file may have more behind these bytes, until the current append is over.
  uint64_t first_ = 0;          // Its first and, if it has lines, last record.
  uint64_t last_ = 0;           // The last sequence number in all files. Records up to it are written.
  SequenceGaps gaps_;           // Except these, which a filter has left out.
};

}  // namespace freshet
