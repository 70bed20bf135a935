// Telling the service manager how we are (systemd's sd_notify(3) protocol: one datagram to $NOTIFY_SOCKET). Without
// that variable nothing happens.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"

namespace freshet {

// E.g. "READY=1", "STOPPING=1", "WATCHDOG=1".
void notify_service_manager(std::string_view state);

// Half of the period in which the watchdog wants to hear from us ($WATCHDOG_USEC), if it does.
std::optional<milliseconds> watchdog_interval();

}  // namespace freshet
