// A store that a command works on: a data folder, or an endpoint that speaks the DynamoDB protocol.
#pragma once

#include <memory>
#include <string>

#include "app/engines/store_loop.h"
#include "base/files.h"
#include "tables/engine/embedded.h"
#include "wire/store/remote_streams.h"
#include "wire/store/remote_tables.h"

namespace freshet::engines {

struct PlaceOptions {
  std::string region;     // The region in signatures, for an endpoint. "": as the SDKs find it, or us-east-1.
  bool writable = false;  // For a folder: creates it if it does not exist, and allows writes.
};

// True for http://... and https://...
bool is_endpoint(const std::string& where);

class Place {
 public:
  // A folder that is opened for reading stays unchanged: nothing expires meanwhile. kNotFound if it does not exist,
  // kConflict if a daemon has it open, kValidation for a URL with a path or without a host, and for HOST:PORT without
  // http://. Does not call an endpoint yet. `loop` outlives the place, and the place outlives all work on it.
  static Result<std::unique_ptr<Place>> open(const std::string& where, const PlaceOptions& options, StoreLoop& loop);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // Success if an endpoint is there (wire/store/reach.h); kUnavailable if not. A folder always is.
  Async<Result<void>> reach();

  Tables& tables() { return remote_ ? static_cast<Tables&>(*remote_) : *store_; }
  // For an endpoint only.
  remote::Caller* caller() { return caller_.get(); }
  remote::RemoteTables& remote() { return *remote_; }
  EngineStreams& streams() { return *streams_; }

 private:
  explicit Place(StoreLoop& loop) : loop_(loop) {}
  Result<void> open_folder(const std::string& folder, bool writable);
  Result<void> open_endpoint(const std::string& url, const std::string& region);

  StoreLoop& loop_;
  std::unique_ptr<Files> files_ = make_posix_files();
  std::unique_ptr<EmbeddedTables> store_;
  bool in_loop_ = false;
  std::string url_;  // Empty for a folder.
  std::unique_ptr<remote::AccessKeySource> keys_;
  std::unique_ptr<remote::Caller> caller_;
  std::unique_ptr<remote::RemoteTables> remote_;
  std::unique_ptr<remote::Caller> stream_caller_;
  std::unique_ptr<remote::RemoteStreams> streams_;
};

}  // namespace freshet::engines
