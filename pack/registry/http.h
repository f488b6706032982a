/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One HTTP request by libcurl, and its response, every part of it limited. Redirects and
 * authentication are in session.h. */
#ifndef KDL_PACK_REGISTRY_HTTP_H
#define KDL_PACK_REGISTRY_HTTP_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT } http_method;

enum { HTTP_LIMIT_URL = 8192, HTTP_LIMIT_CHALLENGE = 2048, HTTP_LIMIT_ERROR = 1024 };

typedef struct http_response {
  long code;
  bool has_length, has_begin;
  uint64_t length;               /* Content-Length */
  uint64_t begin;                /* Content-Range: the first byte */
  char digest[80];               /* Docker-Content-Digest; "" where it is missing or not sha256 */
  char location[HTTP_LIMIT_URL]; /* absolute; "": none */
  char challenge[HTTP_LIMIT_CHALLENGE]; /* WWW-Authenticate */
  char error[HTTP_LIMIT_ERROR];         /* the beginning of an error body */
  size_t error_size;
} http_response;

/* Receives the body of a successful response, 200 or 206. */
typedef struct http_sink {
  kdl_status (*begin)(void *user, const http_response *response);
  kdl_status (*put)(void *user, const void *data, size_t size);
  void *user;
} http_sink;

/* A sink in memory, for small bodies. `text` has room for `room` bytes; a larger body fails with a
 * message that names `from` and `what`: "HOST: found a token of more than ...". */
typedef struct http_text_buffer {
  const char *from, *what;
  char *text;
  size_t capacity, used;
} http_text_buffer;
http_sink http_text_sink(http_text_buffer *to);

typedef struct http_request {
  http_method method;
  const char *accept;       /* NULL: anything */
  const char *content_type; /* of the body */
  const void *body;
  size_t body_size;
  uint64_t from; /* requests a range from this offset; 0: everything */
  bool is_small; /* small transfer: total time limited to a few timeouts */
  const http_sink *sink;
} http_request;

typedef struct http http;

/* `schemes` are the allowed ones: "https", or "http,https". The caller closes *out_http. */
kdl_status http_open(const char *schemes, http **out_http);
void http_close(http *client);

/* `authorization` is the header's value, or NULL. KDL_IO where the transfer failed and may be
 * retried; KDL_UNSUPPORTED where it was too slow; the sink's status where the sink refused. */
kdl_status http_send(http *client, const char *url, const char *authorization,
                     const http_request *request, http_response *out_response);

/* Normalizes a URL by libcurl's rules, with the scheme in lower case; a relative one is resolved
 * against `base`, unless that is NULL. "" where it is invalid, or has a user or a password. */
void http_normalize(const char *base, char url[HTTP_LIMIT_URL]);

/* How much of a URL messages show: not the query, which may contain a signature. */
int http_display_length(const char *url);

/* Appends KEY=VALUE to a URL's query, escaped, after ? or &. False where it does not fit. */
bool http_add_query(char url[HTTP_LIMIT_URL], const char *key, const char *value);

/* Whether scheme, host and port are the same. */
bool http_same_origin(const char *a, const char *b);

/* The host of a URL with its port, and whether it is plain http. False for other schemes, and where
 * it is too long. */
bool http_host_of(const char *url, char *out_host, size_t capacity, bool *out_is_plain);

/* The registry's description of a failure, for messages: "404 manifest unknown". */
void http_describe(const http_response *response, char *out_text, size_t capacity);

#endif
