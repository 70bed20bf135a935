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

Variables hide_secrets() {
  prctl(PR_SET_DUMPABLE, 0);
  Variables of_sdks;
  if (environ == nullptr) return of_sdks;
  char** kept = environ;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const size_t equals = text.find('=');
    if (text.starts_with("AWS_") && equals != std::string_view::npos) {
      of_sdks.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    if (is_kept(text.substr(0, equals))) {
      *kept++ = *variable;
    } else {
      // Overwrites it in place: /proc/PID/environ shows these very bytes, whatever `environ` points to.
      explicit_bzero(*variable, text.size());
    }
  }
  *kept = nullptr;
  return of_sdks;
}

}  // namespace freshet
