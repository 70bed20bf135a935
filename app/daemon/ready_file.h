// The file in which a daemon writes its URL for the program that started it. It is locked while its daemon lives, so
// that a second daemon with the same file is refused instead of replacing it. One thread at a time.
#pragma once

#include <string>

#include "base/result.h"
#include "wire/http/io_thread.h"

namespace freshet {

class ReadyFile {
 public:
  explicit ReadyFile(std::string path) : path_(std::move(path)) {}  // Empty: no file, and no call does anything.
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;
  ~ReadyFile();  // Keeps the file: the next run removes it.

  // Checks that it can be written, and removes the file of an earlier run, which would say "ready" while the store
  // opens. kConflict if it belongs to a running daemon; kIo if something other than a file has that name. A new file is
  // made (mode 0640) and links are not followed, so that nobody with write access to the folder can redirect the daemon
  // to another file.
  Result<void> reserve();
  // Writes the file atomically. Call it after reserve().
  Result<void> write(const std::string& url);

 private:
  Result<bool> lock_earlier(const std::string& name);
  tl::unexpected<Error> failed(const std::string& what) const;  // An error with the reason in errno.

  const std::string path_;
  const std::string unfinished_ = path_ + ".new";
  Fd file_;  // Holds the lock.
  bool reserved_ = false;
};

}  // namespace freshet
