// Uploads finished files to a bucket, one after the other in order, and removes each local file afterwards. A failed
// upload is retried with growing delays, without end; meanwhile the files stay. An object's name identifies its
// content, which never changes, so an upload that is repeated (after a crash, or a lost response) leaves one object. It
// is the file's name, to which a hash of the content is added if the file is of an engine's shard. Loop thread.
#pragma once

#include <deque>
#include <set>
#include <string>

#include "base/async.h"
#include "base/files.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/scheduler.h"
#include "runtime/api/object_store.h"

namespace freshet {

struct CaptureUploadParts {
  Files& files;
  ObjectStore& objects;
  Scheduler& scheduler;
  EventLog log;
  Counter* uploads = nullptr;  // Null: not counted.
  Counter* failures = nullptr;
};

class CaptureUpload {
 public:
  // The objects that the parts refer to outlive it.
  explicit CaptureUpload(CaptureUploadParts parts) : parts_(std::move(parts)) {}
  CaptureUpload(const CaptureUpload&) = delete;
  CaptureUpload& operator=(const CaptureUpload&) = delete;

  // Takes effect at the next attempt. An empty endpoint: files stay in the folder, and new ones are not remembered.
  void set_target(ObjectTarget target, std::string prefix);
  bool has_target() const { return !target_.endpoint.empty(); }
  // `name`: that of a finished file in folder/table. Adding it again has no effect, nor has a file without a target.
  void add(const std::string& folder, const std::string& table, const std::string& name);
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    std::string directory;
    std::string table;
    std::string name;
    std::string path() const { return directory + "/" + name; }
  };

  void start();
  Async<void> run();
  Async<Result<void>> put(Waiting file);
  Async<Result<std::string>> read(std::string path);
  bool is_gone(const Waiting& file);

  const CaptureUploadParts parts_;
  ObjectTarget target_;
  std::string prefix_;
  std::deque<Waiting> waiting_;
  std::set<std::string> paths_;  // The files that wait.
  bool running_ = false;
  Scope work_;  // The last member, so that it is destroyed first.
};

}  // namespace freshet
