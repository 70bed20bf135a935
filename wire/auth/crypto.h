// SHA-256 and HMAC-SHA256 of OpenSSL. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace freshet {

std::string sha256_hex(std::string_view data);
std::string hmac_sha256(std::string_view key, std::string_view data);  // 32 bytes.
std::string to_hex(std::string_view bytes);                            // Lower case.
// Takes the same time wherever the two differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace freshet
