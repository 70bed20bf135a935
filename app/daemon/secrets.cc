#include "app/daemon/secrets.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace freshet {

namespace {

// The variables that the daemon or its libraries read after the start. All others have been read by then, or do not
// concern the daemon and may hold anything.
constexpr std::array<std::string_view, 16> kNames{
    "PATH",     "TZ",      "LANG",          "LANGUAGE",    "TMPDIR",        "TMP",          "TEMP",
    "HOME",     "TEMPDIR", "NOTIFY_SOCKET", "HOSTALIASES", "SSL_CERT_FILE", "SSL_CERT_DIR", "WATCHDOG_USEC",
    "NO_COLOR", "TERM",
};
constexpr std::array<std::string_view, 9> kBeginnings{
    "LC_", "RES_", "LOCALDOMAIN", "OPENSSL_", "MALLOC_", "GLIBC_", "LLVM_PROFILE_", "ASAN_", "UBSAN_",
};

bool is_kept(std::string_view name) {
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](std::string_view one) { return name.starts_with(one); });
}

}  // namespace

void hide_secrets() {
  prctl(PR_SET_DUMPABLE, 0);
  if (environ == nullptr) return;
  char** kept = environ;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (is_kept(text.substr(0, text.find('=')))) {
      *kept++ = *variable;
    } else {
      // Overwrites it in place: /proc/PID/environ shows these very bytes, whatever `environ` points to.
      explicit_bzero(*variable, text.size());
    }
  }
  *kept = nullptr;
}

}  // namespace freshet
