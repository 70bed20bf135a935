// The files of one table's stream in a folder: one open file that lines are appended to, and those that are finished,
// whose content never changes again (names: capture_name.h).
//
// No line is lost and none is written twice, whatever is delivered again and wherever a crash comes: append() has
// succeeded when the lines are durable; which records are there is read from the files themselves, so what comes again
// is left out. When the open file is taken over (by a new process, or after a sync that failed) its whole lines are
// written anew, and a torn one is left out. An error (a full disk) leaves what was there before. The table's folder is
// made if it is not there; the folder that it lies in must be.
//
// A file that is gone from the folder when its lines are synced fails the append: they are written to a new one when
// the records come again. A file without lines is closed after limits.age, so that streams of before hold no
// descriptors.
//
// The open file is there even without lines: its name says which records were written before, also when somebody has
// taken the finished files away. Loop thread.
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

  // Mends what is there, so that it is finished when its time comes. Nothing if there is nothing.
  Result<void> take_over(CaptureLimits limits);
  // Records in order; those that are there already are left out. kConflict while another append is under way. The
  // batch outlives the Async. kValidation for a record that comes behind a later one without having been here before:
  // from a mapping with several lanes. (A restart forgets gaps of finished files, and only so many are kept.)
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
  const std::string label_;  // As in names.
  CaptureLimits limits_;
  bool busy_ = false;
  TimerId timer_ = 0;
  std::unique_ptr<File> file_;  // Null: what is there must be looked at before anything is written.
  CaptureName part_;            // The open file's name.
  uint64_t size_ = 0;           // The bytes of its lines, all durable.
  bool torn_ = false;           // Behind them may be anything, until the append under way is over.
  uint64_t first_ = 0;          // Its first and, if it has lines, last record.
  uint64_t last_ = 0;           // The last sequence number in all files. Records up to it are written.
  SequenceGaps gaps_;           // But for these, which a filter has left out.
};

}  // namespace freshet
