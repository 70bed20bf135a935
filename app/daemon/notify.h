// Reports the daemon's state to the service manager (systemd's sd_notify(3) protocol: one datagram to $NOTIFY_SOCKET).
// Does nothing without that variable.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"

namespace freshet {

// E.g. "READY=1", "STOPPING=1", "WATCHDOG=1".
void notify_service_manager(std::string_view state);

// Half of the period in which the watchdog expects a message ($WATCHDOG_USEC), if it expects one.
std::optional<milliseconds> watchdog_interval();

}  // namespace freshet
