#include "base/hash.h"

#include <openssl/evp.h>

#include <cstdint>

#include "base/result.h"

namespace kb {
namespace {

std::string ToHex(const unsigned char* bytes, unsigned size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex += kDigits[bytes[i] >> 4];
    hex += kDigits[bytes[i] & 15];
  }
  return hex;
}

}  // namespace

struct Hasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  KB_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Hasher::~Hasher() = default;

Hasher& Hasher::Add(std::string_view field) {
  const uint64_t size = field.size();
  KB_CHECK(EVP_DigestUpdate(state_->context, &size, sizeof size) == 1);
  KB_CHECK(EVP_DigestUpdate(state_->context, field.data(), field.size()) == 1);
  return *this;
}

std::string Hasher::Hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  KB_CHECK(EVP_DigestFinal_ex(state_->context, digest, &size) == 1);
  return ToHex(digest, size);
}

std::string Sha256(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  KB_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) == 1);
  return ToHex(digest, size);
}

}  // namespace kb
