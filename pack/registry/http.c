/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/registry/http.h"

#include "pack/oci/digest.h"
#include "pack/oci/reference.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/json/reader.h"
#include "support/system/environment.h"
#include "tools/common/memory.h"

#include <curl/curl.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
  default_seconds = 30,
  limit_seconds = 24 * 60 * 60,
  default_deadline = 60 * 60, /* seconds, for all requests */
  limit_deadline = 7 * limit_seconds,
  rounding_ms = 50,
  slowest = 1024, /* minimal speed, in bytes per second */
  most_headers = 64 * 1024,
  small_factor = 4,
  checked_a_second = 32 << 20,
};

struct http {
  CURL *curl;
  const char *schemes;
  long seconds;
  long deadline;
  int64_t end; /* end of that time, in milliseconds */
  char error[CURL_ERROR_SIZE];
};

/* An active transfer. */
typedef struct {
  CURL *curl;
  const char *url;
  const http_request *request;
  http_response *response;
  size_t header_bytes;
  size_t sent;
  bool has_begun;
  kdl_status status; /* from the sink, or from a bad header */
} transfer;

/* ------------------------------------------------------------------------------------------ */
/* Opening                                                                                      */

static int64_t http_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

kdl_status http_open(const char *schemes, http **out_http) {
  uint32_t seconds = default_seconds, deadline = default_deadline;
  KDL_TRY(kdl_environment_seconds(KDL_VARIABLE_REGISTRY_TIMEOUT, limit_seconds, &seconds));
  KDL_TRY(kdl_environment_seconds(KDL_VARIABLE_REGISTRY_DEADLINE, limit_deadline, &deadline));
  http *client = xcalloc(1, sizeof *client);
  *client = (http){.schemes = schemes,
                   .seconds = (long)seconds,
                   .deadline = (long)deadline,
                   .end = http_now_ms() + (int64_t)deadline * 1000};
  if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
    client->curl = cli_check_alloc(curl_easy_init());
  *out_http = client;
  return client->curl ? KDL_OK : kdl_fail(KDL_UNSUPPORTED, "libcurl cannot begin");
}

void http_close(http *client) {
  if (!client)
    return;
  curl_easy_cleanup(client->curl);
  curl_global_cleanup();
  free(client);
}

/* ------------------------------------------------------------------------------------------ */
/* Headers                                                                                      */

/* The value after "NAME:", without surrounding blanks. */
static bool match_header(kdl_string line, const char *name, kdl_string *out_value) {
  size_t length = strlen(name);
  if (line.length <= length || line.data[length] != ':' ||
      strncasecmp(line.data, name, length) != 0)
    return false;
  kdl_string value = kdl_text_substr(line, length + 1);
  while (value.length && kdl_is_one_of(value.data[0], " \t"))
    value = kdl_text_substr(value, 1);
  while (value.length && kdl_is_one_of(value.data[value.length - 1], " \t\r\n"))
    --value.length;
  *out_value = value;
  return true;
}

static bool parse_header_number(kdl_string text, size_t *at, uint64_t *out_number) {
  uint64_t number = 0;
  size_t begin = *at;
  for (; *at < text.length && kdl_is_digit(text.data[*at]); ++*at) {
    if (number > (UINT64_MAX - 9) / 10)
      return false;
    number = number * 10 + (uint64_t)(text.data[*at] - '0');
  }
  *out_number = number;
  return *at > begin;
}

static void copy_header(kdl_string value, char *out, size_t capacity) {
  snprintf(out, capacity, "%.*s", value.length < capacity ? (int)value.length : 0, value.data);
}

/* A redirect has its own headers, which the next status line discards. */
static void parse_header(http_response *response, kdl_string line) {
  kdl_string value;
  size_t at = 0;
  if (kdl_text_starts(line, "HTTP/"))
    *response = (http_response){.code = 0};
  else if (match_header(line, "Content-Length", &value))
    response->has_length = parse_header_number(value, &at, &response->length) && at == value.length;
  else if (match_header(line, "Content-Range", &value) && kdl_text_starts(value, "bytes ")) {
    at = strlen("bytes ");
    response->has_begin = parse_header_number(value, &at, &response->begin);
  } else if (match_header(line, "Docker-Content-Digest", &value))
    copy_header(value, response->digest, sizeof response->digest);
  else if (match_header(line, "Location", &value))
    copy_header(value, response->location, sizeof response->location);
  else if (match_header(line, "WWW-Authenticate", &value) &&
           (!response->challenge[0] || strncasecmp(value.data, "Bearer", 6) == 0))
    copy_header(value, response->challenge, sizeof response->challenge);
  if (!oci_digest_is_valid(response->digest))
    response->digest[0] = '\0';
}

/* ------------------------------------------------------------------------------------------ */
/* Bodies                                                                                       */

static void append_error_body(http_response *response, const char *data, size_t size) {
  size_t capacity = sizeof response->error - 1 - response->error_size;
  size_t taken = size < capacity ? size : capacity;
  memcpy(response->error + response->error_size, data, taken);
  response->error_size += taken;
}

static kdl_status begin_content(transfer *work) {
  if (work->has_begun)
    return KDL_OK;
  work->has_begun = true;
  return work->request->sink->begin(work->request->sink->user, work->response);
}

/* Whether the sink takes the body. */
static bool is_content(transfer *work) {
  curl_easy_getinfo(work->curl, CURLINFO_RESPONSE_CODE, &work->response->code);
  return work->request->sink && work->request->method == HTTP_GET &&
         (work->response->code == 200 || work->response->code == 206);
}

static kdl_status begin_text(void *user, const http_response *response) {
  const http_text_buffer *to = user;
  if (response->has_length && response->length > to->capacity)
    return kdl_fail(KDL_BAD_FILE, "%s: found a %s of %" PRIu64 " bytes, expected at most %zu",
                    to->from, to->what, response->length, to->capacity);
  return KDL_OK;
}

static kdl_status append_body_text(void *user, const void *data, size_t size) {
  http_text_buffer *to = user;
  if (size > to->capacity - to->used)
    return kdl_fail(KDL_BAD_FILE, "%s: found a %s of more than %zu bytes, expected at most that",
                    to->from, to->what, to->capacity);
  memcpy(to->text + to->used, data, size);
  to->used += size;
  return KDL_OK;
}

http_sink http_text_sink(http_text_buffer *to) {
  return (http_sink){begin_text, append_body_text, to};
}

static size_t on_header(const char *data, size_t size, size_t count, void *user) {
  transfer *work = user;
  (void)size;
  work->header_bytes += count;
  if (work->header_bytes > most_headers) {
    work->status =
        kdl_fail(KDL_BAD_FILE, "%.*s: found headers of more than %d bytes, expected less",
                 http_display_length(work->url), work->url, most_headers);
    return 0;
  }
  parse_header(work->response, (kdl_string){data, count});
  bool is_last = count <= 2 && (data[0] == '\r' || data[0] == '\n');
  if (is_last && is_content(work))
    work->status = begin_content(work); /* may refuse it before any byte is passed on */
  return work->status == KDL_OK ? count : 0;
}

static size_t on_body(char *data, size_t size, size_t count, void *user) {
  transfer *work = user;
  (void)size;
  if (!is_content(work)) {
    append_error_body(work->response, data, count);
    /* The remaining body is not needed; the connection is closed. */
    return work->response->error_size + 1 < sizeof work->response->error ? count : 0;
  }
  if (work->status == KDL_OK)
    work->status = work->request->sink->put(work->request->sink->user, data, count);
  return work->status == KDL_OK ? count : 0;
}

static size_t on_read(char *buffer, size_t size, size_t count, void *user) {
  transfer *work = user;
  size_t left = work->request->body_size - work->sent, capacity = size * count;
  size_t taken = left < capacity ? left : capacity;
  if (taken)
    memcpy(buffer, (const char *)work->request->body + work->sent, taken);
  work->sent += taken;
  return taken;
}

static int on_seek(void *user, curl_off_t offset, int origin) {
  transfer *work = user;
  if (origin != SEEK_SET || offset < 0 || (size_t)offset > work->request->body_size)
    return CURL_SEEKFUNC_CANTSEEK;
  work->sent = (size_t)offset;
  return CURL_SEEKFUNC_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The request                                                                                  */

static void add_header(struct curl_slist **list, const char *name, const char *value) {
  if (!value)
    return;
  char *line = xasprintf("%s: %s", name, value);
  *list = cli_check_alloc(curl_slist_append(*list, line));
  free(line);
}

static struct curl_slist *make_headers(const http_request *request, const char *authorization) {
  struct curl_slist *list = cli_check_alloc(curl_slist_append(NULL, "Expect:"));
  add_header(&list, "Authorization", authorization);
  add_header(&list, "Accept", request->accept);
  add_header(&list, "Content-Type", request->content_type);
  return list;
}

static void set_method(CURL *curl, const http_request *request, transfer *work) {
  switch (request->method) {
  case HTTP_GET:
    break;
  case HTTP_HEAD:
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    break;
  case HTTP_POST:
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "");
    break;
  case HTTP_PUT:
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(curl, CURLOPT_READDATA, work);
    curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, on_seek);
    curl_easy_setopt(curl, CURLOPT_SEEKDATA, work);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->body_size);
    break;
  }
}

static void set_limits(const http *client, const char *url, const http_request *request) {
  CURL *curl = client->curl;
  char host[HTTP_LIMIT_URL];
  bool is_plain;
  const char *authorities = kdl_environment(KDL_VARIABLE_SSL_CERT_FILE);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, client->seconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)slowest);
  /* A registry may read again what it was sent before it responds. */
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                   client->seconds + (long)(request->body_size / checked_a_second));
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "kdl");
  int64_t most = client->end - http_now_ms();
  if (request->is_small && most > (int64_t)small_factor * client->seconds * 1000)
    most = (int64_t)small_factor * client->seconds * 1000;
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                   most > 1 ? (long)most : 1L); /* 0 would mean no limit */
  if (authorities && *authorities)
    curl_easy_setopt(curl, CURLOPT_CAINFO, authorities);
  if (http_host_of(url, host, sizeof host, &is_plain) && oci_host_is_local(host))
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
}

/* Whether a line exceeded libcurl's own limit, which on_header does not see. Before version 8.6
 * libcurl reports that as out of memory. */
static bool is_header_too_long(CURLcode code, const transfer *work) {
#if LIBCURL_VERSION_NUM >= 0x080600
  if (code == CURLE_TOO_LARGE)
    return true;
#endif
  return code == CURLE_OUT_OF_MEMORY && work->header_bytes && !work->has_begun;
}

static kdl_status check_transfer(const http *client, CURLcode code, const transfer *work) {
  if (work->status != KDL_OK)
    return work->status;
  /* An error body was cut off on purpose. */
  if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && work->response->error_size))
    return KDL_OK;
  if (is_header_too_long(code, work))
    return kdl_fail(KDL_BAD_FILE,
                    "%.*s: found a header that is too long, expected headers of at most %d bytes",
                    http_display_length(work->url), work->url, most_headers);
  const char *words = client->error[0] ? client->error : curl_easy_strerror(code);
  /* libcurl rounds its timeout and may end some milliseconds early. */
  if (code == CURLE_OPERATION_TIMEDOUT && http_now_ms() + rounding_ms >= client->end)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%.*s: %s: expected all that was asked for within %ld s: KDL_REGISTRY_DEADLINE "
                    "allows more, and another pull goes on from here",
                    http_display_length(work->url), work->url, words, client->deadline);
  if (code == CURLE_OPERATION_TIMEDOUT)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%.*s: %s: expected an answer, and %d bytes a second, within %ld s: "
                    "KDL_REGISTRY_TIMEOUT allows more",
                    http_display_length(work->url), work->url, words, slowest, client->seconds);
  return kdl_fail(KDL_IO, "%.*s: %s", http_display_length(work->url), work->url, words);
}

kdl_status http_send(http *client, const char *url, const char *authorization,
                     const http_request *request, http_response *out_response) {
  CURL *curl = client->curl;
  transfer work = {.curl = curl, .url = url, .request = request, .response = out_response};
  char range[32];
  *out_response = (http_response){.code = 0};
  curl_easy_reset(curl);
  client->error[0] = '\0';
  struct curl_slist *headers = make_headers(request, authorization);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, client->error);
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, client->schemes);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &work);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &work);
  set_method(curl, request, &work);
  set_limits(client, url, request);
  snprintf(range, sizeof range, "%" PRIu64 "-", request->from);
  if (request->from)
    curl_easy_setopt(curl, CURLOPT_RANGE, range);
  kdl_status status = check_transfer(client, curl_easy_perform(curl), &work);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &out_response->code);
  http_normalize(url, out_response->location);
  curl_slist_free_all(headers);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* URLs                                                                                         */

void http_normalize(const char *base, char url[HTTP_LIMIT_URL]) {
  CURLU *parsed = curl_url();
  char *whole = NULL;
  bool fits =
      *url && parsed && (!base || curl_url_set(parsed, CURLUPART_URL, base, 0) == CURLUE_OK) &&
      curl_url_set(parsed, CURLUPART_URL, url, CURLU_DISALLOW_USER) == CURLUE_OK &&
      curl_url_get(parsed, CURLUPART_URL, &whole, 0) == CURLUE_OK && strlen(whole) < HTTP_LIMIT_URL;
  url[0] = '\0';
  if (fits)
    memcpy(url, whole, strlen(whole) + 1);
  curl_free(whole);
  curl_url_cleanup(parsed);
}

int http_display_length(const char *url) {
  return (int)strcspn(url, "?#");
}

bool http_add_query(char url[HTTP_LIMIT_URL], const char *key, const char *value) {
  size_t length = strlen(url);
  char *escaped = curl_easy_escape(NULL, value, 0);
  int used = escaped ? snprintf(url + length, HTTP_LIMIT_URL - length, "%c%s=%s",
                                strchr(url, '?') ? '&' : '?', key, escaped)
                     : -1;
  curl_free(escaped);
  return used > 0 && (size_t)used < HTTP_LIMIT_URL - length;
}

static char *url_part(const char *url, CURLUPart part, unsigned flags) {
  CURLU *parsed = curl_url();
  char *text = NULL;
  if (parsed && (curl_url_set(parsed, CURLUPART_URL, url, 0) != CURLUE_OK ||
                 curl_url_get(parsed, part, &text, flags) != CURLUE_OK))
    text = NULL;
  curl_url_cleanup(parsed);
  return text;
}

bool http_same_origin(const char *a, const char *b) {
  static const CURLUPart parts[] = {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT};
  bool same = true;
  for (size_t i = 0; i < sizeof parts / sizeof *parts && same; ++i) {
    char *one = url_part(a, parts[i], CURLU_DEFAULT_PORT);
    char *other = url_part(b, parts[i], CURLU_DEFAULT_PORT);
    same = one && other && strcasecmp(one, other) == 0;
    curl_free(one);
    curl_free(other);
  }
  return same;
}

bool http_host_of(const char *url, char *out_host, size_t capacity, bool *out_is_plain) {
  char *scheme = url_part(url, CURLUPART_SCHEME, 0), *host = url_part(url, CURLUPART_HOST, 0);
  char *port = url_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  *out_is_plain = scheme && strcasecmp(scheme, "http") == 0;
  bool fits = scheme && host && port && (*out_is_plain || strcasecmp(scheme, "https") == 0) &&
              (size_t)snprintf(out_host, capacity, "%s:%s", host, port) < capacity;
  curl_free(scheme);
  curl_free(host);
  curl_free(port);
  return fits;
}

/* ------------------------------------------------------------------------------------------ */
/* Errors                                                                                       */

/* {"errors": [{"code": ..., "message": ...}]}; the first message is used. */
static bool read_message(const http_response *response, char *out_text, size_t capacity) {
  char key[32];
  kdl_json json;
  kdl_json_kind kind;
  bool more = true, found = false;
  kdl_json_start(&json, "answer", response->error, response->error_size);
  kdl_status status = kdl_json_begin(&json, KDL_JSON_OBJECT);
  while (status == KDL_OK && !found && kdl_json_next_key(&json, key, sizeof key, &more) == KDL_OK &&
         more) {
    if (strcmp(key, "errors") != 0) {
      status = kdl_json_skip(&json);
      continue;
    }
    status = kdl_json_begin(&json, KDL_JSON_ARRAY);
    if (status == KDL_OK)
      status = kdl_json_next_item(&json, &more);
    if (status == KDL_OK && more)
      status = kdl_json_begin(&json, KDL_JSON_OBJECT);
    while (status == KDL_OK && more && !found &&
           kdl_json_next_key(&json, key, sizeof key, &more) == KDL_OK && more) {
      bool is_text = strcmp(key, "message") == 0 && kdl_json_peek(&json, &kind) == KDL_OK &&
                     kind == KDL_JSON_STRING;
      status = is_text ? kdl_json_string(&json, out_text, capacity) : kdl_json_skip(&json);
      found = is_text && status == KDL_OK;
    }
    break;
  }
  return found;
}

void http_describe(const http_response *response, char *out_text, size_t capacity) {
  char message[256];
  bool has_message = read_message(response, message, sizeof message);
  snprintf(out_text, capacity, "HTTP status %ld%s%s%s", response->code, has_message ? " (" : "",
           has_message ? message : "", has_message ? ")" : "");
}
