#ifndef BASE_JSON_H_
#define BASE_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

namespace kb {

// `value` as text in one line. What a compiler or a candidate said may be no UTF-8: such bytes are replaced.
template <typename Json = nlohmann::json>
std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kb

#endif  // BASE_JSON_H_
