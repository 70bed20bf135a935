// All folders into which this daemon captures changes. FOLDER/TABLE/ has the files of a table (capture_file.h). If a
// bucket is set, finished files go there (capture_upload.h). A folder belongs to one process: FOLDER/.lock is locked.
// Loop thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/log.h"
#include "base/metrics.h"
#include "functions/capture/capture_file.h"
#include "functions/capture/capture_settings.h"
#include "functions/capture/capture_upload.h"
#include "functions/capture/file_sync.h"
#include "runtime/api/object_store.h"

namespace freshet {

struct CaptureParts {
  Files& files;
  BackgroundSync& sync;
  Scheduler& scheduler;
  ObjectStore& objects;
  EventLog log;
  Metrics* metrics = nullptr;  // Null: nothing is counted.
};

class Captures {
 public:
  static constexpr size_t kMostOpen = 64;  // Files of shards that are open at a time, in a folder.

  // The objects that the parts refer to outlive it; it outlives its Asyncs.
  explicit Captures(CaptureParts parts);
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;
  ~Captures();

  // At readiness: continues with the files that the previous process left in the folder. Errors are logged; they occur
  // again with the first batch.
  void begin(const CaptureSettings& settings);
  // See CaptureFile::append(). kValidation also for a folder that does not exist or is not writable, and for a batch of
  // an engine with several lanes or with a number of more than 40 digits. The batch outlives the Async.
  Async<Result<Appended>> append(const CaptureSettings& settings, const StreamBatch& batch);

 private:
  struct Folder;
  Result<Folder*> folder_of(const CaptureSettings& settings);
  struct Piece {
    std::string table;
    CaptureSeries series;
    std::vector<CaptureRecord> records;
  };
  static Result<std::vector<Piece>> pieces_of(const StreamBatch& batch);
  CaptureFile& file_of(Folder& folder, const std::string& table, const CaptureSeries& series);
  Result<void> take_over(Folder& folder, const std::string& table, const CaptureName& name, CaptureLimits limits);
  void make_room(Folder& folder);

  const CaptureParts parts_;
  FileSync sync_;
  Counter* records_ = nullptr;
  std::map<std::string, std::unique_ptr<Folder>> folders_;
};

}  // namespace freshet
