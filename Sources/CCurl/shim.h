#pragma once
#include <curl/curl.h>
#include <malloc.h>

// Swift imports neither variadic functions nor casting macros: one typed call per argument class.

static inline CURLcode trax_curl_start(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

static inline CURLcode trax_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode trax_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode trax_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode trax_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode trax_curl_set_headers(CURL *handle, struct curl_slist *list) {
    return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, list);
}

static inline CURLcode trax_curl_set_callback(
    CURL *handle, CURLoption option, size_t (*callback)(char *, size_t, size_t, void *)
) {
    return curl_easy_setopt(handle, option, callback);
}

static inline CURLcode trax_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode trax_curl_get_size(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode trax_curl_get_pointer(CURL *handle, CURLINFO info, void **value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLMcode trax_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

// glibc gives freed memory back to the kernel and asks for it again with each TLS record.
static inline int trax_keep_heap(int bytes) {
    return mallopt(M_TRIM_THRESHOLD, bytes) && mallopt(M_TOP_PAD, bytes / 16);
}
