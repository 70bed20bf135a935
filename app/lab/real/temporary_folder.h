// A folder of its own below the system's temporary folder, removed with all that is in it when the object ends.
#pragma once

#include <string>

namespace freshet::lab {

class TemporaryFolder {
 public:
  // The folder is called PREFIX-XXXXXX.
  explicit TemporaryFolder(const std::string& prefix);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }  // Empty: it could not be made.

 private:
  std::string path_;
};

}  // namespace freshet::lab
