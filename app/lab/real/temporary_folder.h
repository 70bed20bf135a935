// A new folder below the system's temporary folder. The destructor removes it with everything in it.
#pragma once

#include <string>

namespace freshet::lab {

class TemporaryFolder {
 public:
  // The folder's name is PREFIX-XXXXXX.
  explicit TemporaryFolder(const std::string& prefix);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }  // Empty: it could not be made.

 private:
  std::string path_;
};

}  // namespace freshet::lab
