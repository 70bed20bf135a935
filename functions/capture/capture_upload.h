// Takes finished files to a bucket, one after the other in the order they came, and removes each here when it is there.
// An upload that fails is tried again, later and later, for as long as it takes; meanwhile the files stay. A file's
// name says what is in it and its content never changes, so putting it twice (a crash in between, an answer that was
// lost) leaves one object. Loop thread.
#pragma once

#include <deque>
#include <set>
#include <string>

#include "base/async.h"
#include "base/files.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/scheduler.h"
#include "runtime/object_store.h"

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

  // From the next try on. An empty endpoint: files wait in the folder, and no new ones are remembered.
  void set_target(ObjectTarget target, std::string prefix);
  bool has_target() const { return !target_.endpoint.empty(); }
  // `name`: of a finished file in folder/table. The same one again has no effect, nor any without a target.
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
  Scope work_;  // Last: ended first.
};

}  // namespace freshet
