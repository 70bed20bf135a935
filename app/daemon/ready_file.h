// The file that tells who started the daemon where it serves. Locked as long as its daemon lives, so that a second one
// that is given the same name is refused instead of taking it away. Not for several threads.
#pragma once

#include <string>

#include "base/result.h"
#include "wire/http/io_thread.h"

namespace freshet {

class ReadyFile {
 public:
  explicit ReadyFile(std::string path) : path_(std::move(path)) {}  // Empty: there is none, and nothing is done.
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;
  ~ReadyFile();  // The file stays: the next run removes it.

  // Sees that it can be written, and removes one of an earlier run: it would say ready all the time that the store
  // takes to open. kConflict if it is that of a daemon that runs; kIo if something other than a file has that name.
  // The file is made anew (mode 0640), and links are not followed, so nobody who may write to the folder can lead the
  // daemon to another file.
  Result<void> reserve();
  // Appears at once with its content. After reserve().
  Result<void> write(const std::string& url);

 private:
  Result<bool> lock_earlier(const std::string& name);
  tl::unexpected<Error> failed(const std::string& what) const;  // With the reason in errno.

  const std::string path_;
  const std::string unfinished_ = path_ + ".new";
  Fd file_;  // Keeps the lock.
  bool reserved_ = false;
};

}  // namespace freshet
