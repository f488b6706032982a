/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One request by libcurl, and its answer. Nothing is followed and nobody is logged in here:
 * session.h does. Every part of an answer is bounded. */
#ifndef KDL_REGISTRY_HTTP_H
#define KDL_REGISTRY_HTTP_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT } http_method;

enum { HTTP_LIMIT_URL = 8192, HTTP_LIMIT_CHALLENGE = 2048, HTTP_LIMIT_ERROR = 1024 };

typedef struct http_response {
  long code;
  bool has_length, has_begin;
  uint64_t length; /* Content-Length */
  uint64_t begin;  /* Content-Range: the first byte */
  char digest[80]; /* Docker-Content-Digest; "" where there is none, or it is no sha256 */
  char location[HTTP_LIMIT_URL];        /* absolute; "" where there is none */
  char challenge[HTTP_LIMIT_CHALLENGE]; /* WWW-Authenticate */
  char error[HTTP_LIMIT_ERROR];         /* how a body that is no content begins */
  size_t error_size;
} http_response;

/* Takes the body of an answer that has content, 200 or 206. */
typedef struct http_sink {
  kdl_status (*begin)(void *user, const http_response *response);
  kdl_status (*put)(void *user, const void *data, size_t size);
  void *user;
} http_sink;

/* The same into memory, for small bodies. `text` has room for `room` bytes; more is a failure, in
 * which `from` and `what` are named: "HOST: found a token of more than ...". */
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
  uint64_t from; /* asks for a range from there on; 0: for all */
  bool is_small; /* the whole of it may take no longer than a few timeouts */
  const http_sink *sink;
} http_request;

typedef struct http http;

/* `schemes` is what may be spoken at all: "https", or "http,https". The caller closes *out_http. */
kdl_status http_open(const char *schemes, http **out_http);
void http_close(http *client);

/* `authorization` is the header's value, or NULL. KDL_IO where the transfer failed, which may
 * succeed the next time; KDL_UNSUPPORTED where it was too slow; what the sink says where it
 * refused. */
kdl_status http_send(http *client, const char *url, const char *authorization,
                     const http_request *request, http_response *out_response);

/* A URL as libcurl reads it, with its scheme in lower case; a relative one below `base`, unless
 * that is NULL. "" where it is none, or has a user or a password. */
void http_normalize(const char *base, char url[HTTP_LIMIT_URL]);

/* How much of a URL messages show: not its query, which may hold a signature. */
int http_display_length(const char *url);

/* KEY=VALUE for a URL's query, escaped, behind ? or &. False where it does not fit. */
bool http_add_query(char url[HTTP_LIMIT_URL], const char *key, const char *value);

/* Whether scheme, host and port of both are the same. */
bool http_same_origin(const char *a, const char *b);

/* The host of a URL, with its port, and whether it is http. False where it is no http or https, or
 * too long. */
bool http_host_of(const char *url, char *out_host, size_t capacity, bool *out_is_plain);

/* What the registry says of a failure, for people: "404 manifest unknown". */
void http_describe(const http_response *response, char *out_text, size_t capacity);

#endif
