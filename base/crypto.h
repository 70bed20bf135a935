// SHA-256 and HMAC-SHA256 of OpenSSL, and secrets of the system's random source. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace freshet {

std::string sha256(std::string_view data);  // 32 bytes.
std::string sha256_hex(std::string_view data);
// SHA-256 of data that arrives in pieces. Use it on one thread.
class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256();
  void add(std::string_view data);
  std::string hex();  // Returns the digest. Call it once, as the last call.

 private:
  struct State;
  std::unique_ptr<State> state_;
};
std::string hmac_sha256(std::string_view key, std::string_view data);  // 32 bytes.
std::string to_hex(std::string_view bytes);                            // Lower case.
// A version 4 UUID derived from the text: equal texts give equal UUIDs, different texts different ones.
std::string uuid_of(std::string_view text);
// Compares in a time that does not depend on where the texts differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);
// 256 random bits as 64 hexadecimal digits. They come from the system's secure source, never from the injected Random.
std::string secret_token();

}  // namespace freshet
