// libcurl, loaded when a model is first called: it and the thirty libraries it needs would cost every evaluation
// milliseconds at start, though none calls a model.
#ifndef MODEL_CURL_LIBRARY_H_
#define MODEL_CURL_LIBRARY_H_

#include <curl/curl.h>

#include "base/result.h"

namespace kb {

struct CurlLibrary {
  decltype(&::curl_global_init) global_init;
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_reset) easy_reset;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::curl_multi_init) multi_init;
  decltype(&::curl_multi_cleanup) multi_cleanup;
  decltype(&::curl_multi_add_handle) multi_add_handle;
  decltype(&::curl_multi_remove_handle) multi_remove_handle;
  decltype(&::curl_multi_perform) multi_perform;
  decltype(&::curl_multi_info_read) multi_info_read;
  decltype(&::curl_multi_poll) multi_poll;
};

// The library, loaded and initialised by the first call. kUnavailable, with what to install, where there is none.
Result<const CurlLibrary*> LoadCurl();

}  // namespace kb

#endif  // MODEL_CURL_LIBRARY_H_
