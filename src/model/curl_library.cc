#include "model/curl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace kb {
namespace {

constexpr char kCurlFile[] = "libcurl.so.4";

Result<CurlLibrary> OpenCurl() {
  void* const library = dlopen(kCurlFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("models are called through {}, which cannot be loaded ({}): install it (Debian and Ubuntu: "
                            "libcurl4, Fedora: libcurl, Alpine: libcurl)",
                            kCurlFile, dlerror()));
  }
  CurlLibrary curl{};
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    if (*function == nullptr) missing = name;
  };
  find("curl_global_init", &curl.global_init);
  find("curl_easy_init", &curl.easy_init);
  find("curl_easy_reset", &curl.easy_reset);
  find("curl_easy_setopt", &curl.easy_setopt);
  find("curl_easy_cleanup", &curl.easy_cleanup);
  find("curl_easy_strerror", &curl.easy_strerror);
  find("curl_slist_append", &curl.slist_append);
  find("curl_slist_free_all", &curl.slist_free_all);
  find("curl_multi_init", &curl.multi_init);
  find("curl_multi_cleanup", &curl.multi_cleanup);
  find("curl_multi_add_handle", &curl.multi_add_handle);
  find("curl_multi_remove_handle", &curl.multi_remove_handle);
  find("curl_multi_perform", &curl.multi_perform);
  find("curl_multi_info_read", &curl.multi_info_read);
  find("curl_multi_poll", &curl.multi_poll);
  if (missing != nullptr) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("{} has no {}: install libcurl 7.66 or later", kCurlFile, missing));
  }
  if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return Fail(ErrorCode::kUnavailable, fmt::format("{} cannot be initialised", kCurlFile));
  }
  return curl;
}

}  // namespace

Result<const CurlLibrary*> LoadCurl() {
  static const Result<CurlLibrary> curl = OpenCurl();
  if (!curl) return tl::make_unexpected(curl.error());
  return &*curl;
}

}  // namespace kb
