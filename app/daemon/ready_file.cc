#include "app/daemon/ready_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
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

// Opens the file of that name to lock it. False if there is none, or if it is a link: links are not followed.
Result<bool> ReadyFile::lock_earlier(const std::string& name) {
  const Fd earlier(::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!earlier && (errno == ENOENT || errno == ELOOP)) return errno == ELOOP;
  struct stat about {};
  if (!earlier || ::fstat(earlier.get(), &about) != 0) return failed("read");
  if (!S_ISREG(about.st_mode)) {
    return fail(ErrorCode::kIo, "cannot write --ready-file '" + path_ + "': '" + name + "' is there and is no file");
  }
  if (::flock(earlier.get(), LOCK_EX | LOCK_NB) != 0) return failed("lock");
  return true;
}

Result<void> ReadyFile::reserve() {
  if (path_.empty()) return {};
  // The lock stays with the file when it gets its name: whoever starts at the same time meets it under one of the two.
  // An unlocked file is left from a run that was killed. Remove it and do not write to it: it may be anybody's by now.
  for (int attempt = 0; attempt < 10 && !reserved_; ++attempt) {
    file_.reset(::open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640));
    if (file_) {
      if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) return failed("lock");
      struct stat ours {};
      struct stat there {};
      // Before we locked it, another start may have taken it for a leftover file.
      reserved_ = ::fstat(file_.get(), &ours) == 0 && ::lstat(unfinished_.c_str(), &there) == 0 &&
                  ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
    } else if (errno != EEXIST) {
      return failed("write");
    } else if (auto locked = lock_earlier(unfinished_); !locked) {
      return fail(locked.error());
    } else if (*locked && ::unlink(unfinished_.c_str()) != 0 && errno != ENOENT) {
      return failed("replace");
    }
  }
  if (!reserved_) return fail(ErrorCode::kConflict, "--ready-file '" + path_ + "': others make and remove it");
  auto earlier = lock_earlier(path_);
  if (!earlier) return fail(earlier.error());
  if (*earlier && ::unlink(path_.c_str()) != 0) return failed("replace");
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
