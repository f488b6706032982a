/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/oci/reference.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/memory.h"

#include <string.h>

enum { longest_name = 255, longest_tag = 128, longest_host = 255 };

static const char reference_grammar[] =
    "oci:DIR[:TAG][@sha256:...] or HOST[:PORT]/NAME[:TAG][@sha256:...]";

static bool is_name_char(char c) {
  return kdl_is_digit(c) || (c >= 'a' && c <= 'z');
}

static bool is_word_char(char c) {
  return is_name_char(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

/* [a-z0-9]+((\.|_|__|-+)[a-z0-9]+)* */
static bool is_component(const char *text, size_t length) {
  size_t at = 0;
  while (at < length) {
    if (!is_name_char(text[at]))
      return false;
    while (at < length && is_name_char(text[at]))
      ++at;
    if (at == length)
      return true;
    size_t from = at;
    while (at < length && text[at] == text[from] && kdl_is_one_of(text[at], "._-"))
      ++at;
    size_t most = text[from] == '.' ? 1 : text[from] == '_' ? 2 : length;
    if (at == from || at - from > most)
      return false;
  }
  return false;
}

static bool is_repository_name(const char *name) {
  if (!*name || strlen(name) > longest_name)
    return false;
  for (const char *at = name;; ++at) {
    size_t length = strcspn(at, "/");
    if (!is_component(at, length))
      return false;
    at += length;
    if (!*at)
      return true;
  }
}

static bool is_tag(const char *tag) {
  size_t length = strlen(tag);
  bool fits = length > 0 && length <= longest_tag && is_word_char(tag[0]);
  for (size_t i = 0; i < length; ++i)
    fits &= is_word_char(tag[i]) || tag[i] == '.' || tag[i] == '-';
  return fits;
}

static bool is_port(const char *text) {
  size_t length = strlen(text);
  return length > 0 && length <= 5 && strspn(text, "0123456789") == length;
}

/* A DNS name or an address that cannot change the meaning of the URL it is put into. */
static bool is_registry_host(const char *host) {
  size_t length = strcspn(host, ":");
  bool is_v6 = host[0] == '[';
  if (is_v6) {
    length = strcspn(host, "]");
    if (!host[length] || length < 3 || strspn(host + 1, "0123456789abcdefABCDEF:.") != length - 1)
      return false;
    ++length;
  }
  for (size_t i = 0; i < length && !is_v6; ++i) {
    if ((!is_word_char(host[i]) && host[i] != '.' && host[i] != '-') || host[i] == '_')
      return false;
  }
  return length > 0 && strlen(host) <= longest_host &&
         (!host[length] || (host[length] == ':' && is_port(host + length + 1)));
}

bool oci_host_is_local(const char *host) {
  size_t length = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
  kdl_string name = {host, length};
  return kdl_text_is(name, "localhost") || kdl_text_is(name, "[::1]") ||
         (kdl_text_starts(name, "127.") && strspn(host, "0123456789.") >= length);
}

static kdl_status fail_reference_part(const oci_reference *reference, const char *part,
                                      const char *found, const char *use) {
  return kdl_fail(KDL_BAD_CALL, "%s: bad %s '%s': use %s", reference->text, part, found, use);
}

static kdl_status parse_digest(oci_reference *reference, char *text) {
  char *at = strchr(text, '@');
  if (!at)
    return KDL_OK;
  *at++ = '\0';
  if (!oci_digest_is_valid(at))
    return fail_reference_part(reference, "digest", at, "sha256: and 64 hexadecimal digits");
  memcpy(reference->digest, at, OCI_DIGEST_SIZE);
  return KDL_OK;
}

static kdl_status parse_tag(oci_reference *reference, char *from) {
  char *colon = strrchr(from, ':');
  if (!colon || strchr(colon, '/'))
    return KDL_OK;
  *colon++ = '\0';
  reference->tag = colon;
  return is_tag(colon) ? KDL_OK
                       : fail_reference_part(reference, "tag", colon,
                                             "at most 128 letters, digits, '_', '.' and '-'");
}

static kdl_status parse_folder(oci_reference *reference, char *text) {
  reference->folder = text;
  KDL_TRY(parse_tag(reference, text));
  return *text ? KDL_OK : fail_reference_part(reference, "folder", "", reference_grammar);
}

static kdl_status parse_remote(oci_reference *reference, char *text) {
  bool says_https = kdl_starts_with(text, "https://");
  text += says_https ? strlen("https://") : 0;
  char *slash = strchr(text, '/');
  if (!slash)
    return kdl_fail(KDL_BAD_CALL, "bad reference '%s': use %s", reference->text, reference_grammar);
  *slash = '\0';
  reference->host = text;
  reference->name = slash + 1;
  if (!is_registry_host(text) || (!strpbrk(text, ".:") && strcmp(text, "localhost") != 0))
    return fail_reference_part(reference, "host", text,
                               "a name with a dot, one with a port, an address, or localhost");
  reference->is_secure = says_https || !oci_host_is_local(text);
  KDL_TRY(parse_tag(reference, slash + 1));
  if (!is_repository_name(reference->name))
    KDL_TRY(fail_reference_part(
        reference, "name", reference->name,
        "lower-case letters and digits, in parts between '/', with single '.', '_', "
        "'__' or '-' inside a part"));
  return KDL_OK;
}

kdl_status oci_reference_parse(kdl_arena *arena, const char *text, oci_reference *out_reference) {
  *out_reference = (oci_reference){.text = text, .host = "", .name = "", .tag = ""};
  char *own = (char *)xarena_string(arena, text, strlen(text)).data;
  KDL_TRY(parse_digest(out_reference, own));
  return kdl_starts_with(own, "oci:") ? parse_folder(out_reference, own + strlen("oci:"))
                                      : parse_remote(out_reference, own);
}

const char *oci_reference_base(const oci_reference *reference) {
  return basename(reference->folder ? reference->folder : reference->name);
}
