#include "base/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include "base/check.h"

namespace freshet {

namespace {

constexpr size_t kDigestBytes = 32;

}  // namespace

std::string to_hex(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const unsigned char c : bytes) out += {kHex[c >> 4], kHex[c & 15]};
  return out;
}

std::string sha256(std::string_view data) {
  std::string digest(kDigestBytes, '\0');
  const int done = EVP_Digest(data.data(), data.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
                              EVP_sha256(), nullptr);
  FRESHET_CHECK(done == 1, "SHA-256 cannot fail");
  return digest;
}

std::string sha256_hex(std::string_view data) {
  return to_hex(sha256(data));
}

std::string uuid_of(std::string_view text) {
  std::string id = sha256_hex(text).substr(0, 32);
  constexpr std::string_view kVariants = "89ab";
  id[12] = '4';
  id[16] = kVariants[static_cast<size_t>(id[16] <= '9' ? id[16] - '0' : id[16] - 'a' + 10) % 4];
  for (const size_t dash : {20, 16, 12, 8}) id.insert(dash, 1, '-');
  return id;
}

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  FRESHET_CHECK(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1, "SHA-256 cannot fail");
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view data) {
  FRESHET_CHECK(EVP_DigestUpdate(state_->context.get(), data.data(), data.size()) == 1, "SHA-256 cannot fail");
}

std::string Sha256::hex() {
  std::string digest(kDigestBytes, '\0');
  const int done = EVP_DigestFinal_ex(state_->context.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  FRESHET_CHECK(done == 1, "SHA-256 cannot fail");
  return to_hex(digest);
}

std::string hmac_sha256(std::string_view key, std::string_view data) {
  std::string digest(kDigestBytes, '\0');
  const unsigned char* done =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(data.data()),
           data.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  FRESHET_CHECK(done != nullptr, "HMAC-SHA256 cannot fail");
  return digest;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string secret_token() {
  std::string bytes(32, '\0');
  // A request of this size is answered completely or not at all.
  const ssize_t given = getrandom(bytes.data(), bytes.size(), 0);
  FRESHET_CHECK(given == static_cast<ssize_t>(bytes.size()), "the system gives no random bytes");
  return to_hex(bytes);
}

}  // namespace freshet
