#include "app/daemon/options.h"

#include "base/number_text.h"

namespace freshet {
bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.substr(0, 4) == "127.";
}

Result<ListenAddress> parse_listen(const std::string& text, bool signed_for) {
  const auto wrong = [&](const std::string& why) {
    return invalid("--listen '" + text + "': " + why + " (like 127.0.0.1:7070; port 0 picks a free one)");
  };
  const auto colon = text.rfind(':');
  if (uint16_t port = 0; read_number_in(text, port)) {
    return invalid("--listen '" + text + "': the address is missing; did you mean 127.0.0.1:" + text + "?");
  }
  if (colon == std::string::npos) return wrong("the port is missing");
  ListenAddress address;
  address.host = text.substr(0, colon);
  if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  if (!read_number_in(std::string_view(text).substr(colon + 1), address.port))
    return wrong("the port is no number up to 65535");
  if (!signed_for && !is_loopback(address.host)) {
    return invalid("--listen '" + text +
                   "': an address beyond loopback needs --credentials FILE, the access keys that requests are signed "
                   "with; without it, listen on 127.0.0.1");
  }
  if (address.host == "localhost") address.host = "127.0.0.1";
  return address;
}

Result<Durability> parse_durability(const std::string& text) {
  if (text == "sync") return Durability{};
  if (text == "none") return Durability{DurabilityMode::kNone, milliseconds(0)};
  constexpr std::string_view kInterval = "interval:";
  int64_t ms = 0;
  if (text.rfind(kInterval, 0) == 0 && read_number_in(std::string_view(text).substr(kInterval.size()), ms) && ms > 0 &&
      ms <= 60'000) {
    return Durability{DurabilityMode::kInterval, milliseconds(ms)};
  }
  return invalid("--durability '" + text + "' must be sync, interval:MS (1 to 60000) or none");
}

}  // namespace freshet
