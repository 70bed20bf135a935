// SHA-256 and HMAC-SHA256 of OpenSSL, and secrets of the system's random source. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace freshet {

std::string sha256_hex(std::string_view data);
// The same piece by piece, for what is too much at once. One thread.
class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256();
  void add(std::string_view data);
  std::string hex();  // Once, last.

 private:
  struct State;
  std::unique_ptr<State> state_;
};
std::string hmac_sha256(std::string_view key, std::string_view data);  // 32 bytes.
std::string to_hex(std::string_view bytes);                            // Lower case.
// A UUID of version 4 that is made of the text: always the same one, and another one for another text.
std::string uuid_of(std::string_view text);
// Takes the same time wherever the two differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);
// 256 bits that nobody can guess, as 64 hexadecimal digits. Never from the injected Random, which is not for secrets.
std::string secret_token();

}  // namespace freshet
