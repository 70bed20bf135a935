// The files in a folder for one table's stream or, on an engine, for one shard of it: one open file that lines are
// appended to, and those that are finished, whose content never changes again (names: capture_name.h).
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
// the finished files away. Shards end, and others follow them for ever: the open file of a shard that got no line for
// kEmptyFileStays is removed, as no engine keeps its records so long, and the object is over. Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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
  std::function<void()> on_over = nullptr;                   // is_over() is true now. Must not destroy the object.
};

// A record, and its number in the files.
struct CaptureRecord {
  const ChangeRecord* record = nullptr;
  CaptureNumber number = {};
  const RecordName* name = nullptr;  // Null on the embedded store.
};

struct Appended {
  size_t written = 0;
  size_t seen_before = 0;
};

class CaptureFile {
 public:
  static constexpr seconds kEmptyFileStays{48 * 3600};  // From the start of the process or the last finished file on.

  // The objects that the parts refer to outlive it. Nothing is opened yet.
  CaptureFile(CaptureFileParts parts, std::string directory, CaptureSeries series);
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;
  ~CaptureFile();

  // Prepares an existing open file, so that it is finished at its time. Does nothing if there is none.
  Result<void> take_over(CaptureLimits limits);
  // Appends records, at least one, in order; those that were written before are left out. kConflict while another
  // append is running. What the records refer to, and `source`, outlive the Async. kValidation for a new record that
  // comes after a later one: the mapping has several lanes. (A restart forgets the gaps of finished files, and only a
  // bounded number of gaps is kept.) A shard has gaps everywhere, so the caller must know that its records come in
  // order.
  Async<Result<Appended>> append(std::vector<CaptureRecord> records, const StreamSource& source, CaptureLimits limits);

  bool is_open() const { return file_ != nullptr; }  // It holds a descriptor.
  // Gives the descriptor back until the next append. Does nothing while an append is under way.
  void rest();
  // For a shard that has an open file without lines, and of which nothing is known yet: that file is removed in time.
  void wait_for_end();
  // It holds nothing, there is no open file, and no record is expected. An append begins anew.
  bool is_over() const { return over_ && !busy_; }

 private:
  struct Lines {
    std::string text;
    CaptureNumber first;
    CaptureNumber last;
    size_t count = 0;
  };
  class Use;

  std::string path(const CaptureName& name) const { return directory_ + "/" + to_string(name); }
  Result<void> open(const CaptureNumber& first);
  Result<void> open_new(const CaptureNumber& first);
  Result<void> open_for(const CaptureNumber& first);
  Result<void> go_on(const CaptureName& part, bool newest);
  Result<std::unique_ptr<File>> replace(const std::string& path, std::string_view content);
  Result<void> rename_finished(const CaptureName& part, CaptureNumber first, CaptureNumber last);
  Result<bool> is_written(const CaptureRecord& record, const CaptureNumber& last) const;
  void note_gap(const CaptureNumber& before, const CaptureRecord& record);
  Async<Result<void>> flush(Lines lines);
  Result<void> finish();
  void arm(nanoseconds after);
  void on_time();
  void close_empty();
  void remove_empty();

  const CaptureFileParts parts_;
  const std::string directory_;
  const CaptureSeries series_;
  CaptureLimits limits_;
  bool busy_ = false;
  TimerId timer_ = 0;
  std::unique_ptr<File> file_;  // Null: the folder must be read before anything is written.
  bool rests_ = false;          // True if file_ is null only to save a descriptor: all below is known.
  bool waits_for_end_ = false;  // True if the timer is that of kEmptyFileStays.
  bool over_ = false;
  CaptureName part_;     // The open file's name.
  uint64_t size_ = 0;    // The bytes of its lines, all durable.
  bool torn_ = false;    // True if the file may have more behind these bytes, until the current append is over.
  CaptureNumber first_;  // Its first record, if it has lines.
  CaptureNumber last_;   // The last number in all files. Records up to it are written.
  SequenceGaps gaps_;    // Except these, which a filter has left out.
};

}  // namespace freshet
