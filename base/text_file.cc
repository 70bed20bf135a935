#include "base/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace freshet {

Result<std::string> read_text_file(const std::string& path, size_t most) {
  const auto wrong = [&](int error) {
    const char* what_to_do = error == EACCES ? " (chmod or chown lets this user read it)" : "";
    return fail(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                "cannot read '" + path + "': " + std::strerror(error) + what_to_do);
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return wrong(errno);
  std::string text;
  char part[16 << 10];
  while (const size_t n = std::fread(part, 1, sizeof part, file.get())) {
    text.append(part, n);
    if (text.size() <= most) continue;
    return fail(ErrorCode::kRequestTooLarge,
                "cannot read '" + path + "': it is longer than " + std::to_string(most >> 20) + " MiB");
  }
  if (std::ferror(file.get()) != 0) return wrong(errno);
  return text;
}

}  // namespace freshet
