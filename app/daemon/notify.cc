#include "app/daemon/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace freshet {

void notify_service_manager(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || (path[0] != '/' && path[0] != '@') || std::strlen(path) >= sizeof address.sun_path) return;
  const size_t length = std::strlen(path);
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';  // An abstract socket.
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  // A lost notification is the service manager's loss: nothing to do about an error.
  [[maybe_unused]] const auto sent =
      sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
  close(fd);
}

std::optional<milliseconds> watchdog_interval() {
  const char* microseconds = std::getenv("WATCHDOG_USEC");
  const long long period = microseconds == nullptr ? 0 : std::atoll(microseconds);
  if (period < 2000) return std::nullopt;
  return milliseconds(period / 2000);
}

}  // namespace freshet
