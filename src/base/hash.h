// SHA-256 over delimited fields, for content addresses.
#ifndef BASE_HASH_H_
#define BASE_HASH_H_

#include <memory>
#include <string>
#include <string_view>

namespace kb {

// Each field is hashed with its length before it, so ("ab", "c") and ("a", "bc") differ.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher& Add(std::string_view field);
  std::string Hex();  // 64 lower-case digits; the hasher is spent afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Plain SHA-256 of the bytes, as sha256sum prints it.
std::string Sha256(std::string_view bytes);

}  // namespace kb

#endif  // BASE_HASH_H_
