#include "app/daemon/ready_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace freshet {

ReadyFile::~ReadyFile() {
  if (reserved_) ::unlink(unfinished_.c_str());
}

tl::unexpected<Error> ReadyFile::failed(const std::string& what) const {
  if (errno == EWOULDBLOCK) {
    return fail(ErrorCode::kConflict, "--ready-file '" + path_ + "' is that of another daemon, which runs");
  }
  return fail(ErrorCode::kIo, "cannot " + what + " --ready-file '" + path_ + "': " + std::strerror(errno));
}

Result<void> ReadyFile::reserve() {
  if (path_.empty()) return {};
  // The lock stays with the file when it gets its name: whoever starts at the same time meets it under one of the two.
  file_.reset(::open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!file_) return failed("write");
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) return failed("lock");
  reserved_ = true;
  const Fd earlier(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!earlier && errno == ENOENT) return {};
  if (!earlier || ::flock(earlier.get(), LOCK_EX | LOCK_NB) != 0) return failed("read");
  if (::unlink(path_.c_str()) != 0) return failed("replace");
  return {};
}

Result<void> ReadyFile::write(const std::string& url) {
  if (path_.empty()) return {};
  const std::string line = url + '\n';
  if (::ftruncate(file_.get(), 0) != 0 ||
      ::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      std::rename(unfinished_.c_str(), path_.c_str()) != 0) {
    return failed("write");
  }
  reserved_ = false;
  return {};
}

}  // namespace freshet
