/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/device/spec_values.h"

#include "support/base/text.h"

#include <inttypes.h>
#include <stdio.h>

static const kdl_spec_key keys[] = {
#define KDL_SPEC_KEY(name, kind, field)                                                            \
  {name, KDL_SPEC_KIND_##kind, offsetof(kdl_device_spec, field),                                   \
   sizeof(((kdl_device_spec *)0)->field)},
#include "lib/device/spec_keys.def"
#undef KDL_SPEC_KEY
};
enum { key_count = sizeof keys / sizeof *keys };

static const char *const class_names[KDL_DEVICE_CLASS_COUNT] = {
    [KDL_DEVICE_CLASS_UNKNOWN] = "",
    [KDL_DEVICE_DISCRETE] = "discrete",
    [KDL_DEVICE_INTEGRATED] = "integrated",
    [KDL_DEVICE_ACCELERATOR] = "accelerator",
    [KDL_DEVICE_CPU] = "cpu",
};

static const char *const tools_names[KDL_TOOLS_COUNT] = {
    [KDL_TOOLS_LINKER] = "kdl-ld",
    [KDL_TOOLS_NONE] = "none",
    [KDL_TOOLS_TRANSLATOR] = "kdl-ld+llvm-spirv",
};

/* A number is printed in the largest unit that divides it. */
static const struct {
  const char *name;
  uint64_t factor;
} units[] = {
    {"TiB", (uint64_t)1 << 40},
    {"GiB", 1 << 30},
    {"MiB", 1 << 20},
    {"KiB", 1 << 10},
    {"TB", 1000000000000},
    {"GB", 1000000000},
    {"MB", 1000000},
    {"KB", 1000},
    {"B", 1},
};
enum { unit_count = sizeof units / sizeof *units };

const kdl_spec_key *kdl_spec_keys(size_t *out_count) {
  *out_count = key_count;
  return keys;
}

const kdl_spec_key *kdl_spec_key_find(kdl_string name) {
  for (size_t i = 0; i < key_count; ++i) {
    if (kdl_text_is(name, keys[i].name))
      return &keys[i];
  }
  return NULL;
}

/* "" for the unknown class. */
static const char *class_name(kdl_device_class device_class) {
  return (unsigned)device_class < KDL_DEVICE_CLASS_COUNT ? class_names[device_class] : "";
}

bool kdl_spec_text_is_clean(kdl_string text, size_t *out_at) {
  for (size_t at = 0, length; at < text.length; at += length) {
    uint32_t code = 0;
    length = kdl_utf8_decode(text.data + at, text.length - at, &code);
    if (length == 0 || kdl_utf8_is_control(code)) {
      *out_at = at;
      return false;
    }
  }
  return true;
}

static const void *field_of(const kdl_device_spec *spec, const kdl_spec_key *key) {
  return (const char *)spec + key->offset;
}

static void *field_in(kdl_device_spec *spec, const kdl_spec_key *key) {
  return (char *)spec + key->offset;
}

/* ------------------------------------------------------------------------------------------ */
/* Printing                                                                                     */

uint64_t kdl_spec_value_number(const kdl_device_spec *spec, const kdl_spec_key *key) {
  const void *field = field_of(spec, key);
  switch (key->kind) {
  case KDL_SPEC_KIND_BYTES:
    return *(const uint64_t *)field;
  case KDL_SPEC_KIND_COUNT:
  case KDL_SPEC_KIND_VERSION:
  case KDL_SPEC_KIND_SIZES:
    return *(const uint32_t *)field;
  case KDL_SPEC_KIND_ORDINAL:
    return ((const kdl_spec_ordinal *)field)->value;
  case KDL_SPEC_KIND_FLAG:
    return *(const bool *)field;
  case KDL_SPEC_KIND_CLASS:
    return (uint64_t)*(const kdl_device_class *)field;
  case KDL_SPEC_KIND_TOOLS:
    return (uint64_t)*(const kdl_spec_tools *)field;
  case KDL_SPEC_KIND_TEXT:
  case KDL_SPEC_KIND_TOKENS:
  case KDL_SPEC_KIND_UUID:
  case KDL_SPEC_KIND_PCI:
    break;
  }
  return 0;
}

bool kdl_spec_value_known(const kdl_device_spec *spec, const kdl_spec_key *key) {
  const void *field = field_of(spec, key);
  switch (key->kind) {
  case KDL_SPEC_KIND_TEXT:
  case KDL_SPEC_KIND_TOKENS:
    return *(const char *)field != '\0';
  case KDL_SPEC_KIND_ORDINAL:
    return ((const kdl_spec_ordinal *)field)->known;
  case KDL_SPEC_KIND_UUID:
    return ((const kdl_spec_uuid *)field)->known;
  case KDL_SPEC_KIND_PCI:
    return ((const kdl_spec_pci *)field)->known;
  default:
    return kdl_spec_value_number(spec, key) != 0;
  }
}

static void print_bytes(uint64_t bytes, kdl_out *out) {
  size_t best = unit_count - 1;
  for (size_t i = 0; i < unit_count; ++i) {
    if (bytes % units[i].factor == 0 && units[i].factor > units[best].factor)
      best = i;
  }
  kdl_out_format(out, "%" PRIu64 "%s", bytes / units[best].factor,
                 units[best].factor > 1 ? units[best].name : "");
}

static void print_sizes(uint32_t sizes, kdl_out *out) {
  const char *join = "";
  for (uint64_t size = 1; size <= sizes; size <<= 1) {
    if (sizes & size) {
      kdl_out_format(out, "%s%" PRIu64, join, size);
      join = "+";
    }
  }
}

static void print_uuid(const kdl_spec_uuid *uuid, kdl_out *out) {
  for (size_t i = 0; i < sizeof uuid->bytes; ++i)
    kdl_out_format(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid->bytes[i]);
}

void kdl_spec_value_print(const kdl_device_spec *spec, const kdl_spec_key *key, kdl_out *out) {
  const void *field = field_of(spec, key);
  uint64_t number = kdl_spec_value_number(spec, key);
  const kdl_spec_pci *pci = field;
  switch (key->kind) {
  case KDL_SPEC_KIND_TEXT:
  case KDL_SPEC_KIND_TOKENS:
    kdl_out_format(out, "%s", (const char *)field);
    break;
  case KDL_SPEC_KIND_CLASS:
    kdl_out_format(out, "%s", class_name((kdl_device_class)number));
    break;
  case KDL_SPEC_KIND_UUID:
    print_uuid(field, out);
    break;
  case KDL_SPEC_KIND_PCI:
    kdl_out_format(out, "%04" PRIx32 ":%02x:%02x.%x", pci->domain, pci->bus, pci->device,
                   pci->function);
    break;
  case KDL_SPEC_KIND_BYTES:
    print_bytes(number, out);
    break;
  case KDL_SPEC_KIND_COUNT:
  case KDL_SPEC_KIND_ORDINAL:
    kdl_out_format(out, "%" PRIu64, number);
    break;
  case KDL_SPEC_KIND_VERSION:
    kdl_out_format(out, "%" PRIu64 ".%" PRIu64, number >> 16, number & 0xffff);
    break;
  case KDL_SPEC_KIND_SIZES:
    print_sizes((uint32_t)number, out);
    break;
  case KDL_SPEC_KIND_FLAG:
    kdl_out_format(out, number ? "yes" : "no");
    break;
  case KDL_SPEC_KIND_TOOLS:
    kdl_out_format(out, "%s", number < KDL_TOOLS_COUNT ? tools_names[number] : "");
    break;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Parsing                                                                                      */

static bool parse_text(char *field, size_t size, kdl_string text, kdl_parse_error *out_error) {
  size_t at;
  if (!kdl_spec_text_is_clean(text, &at))
    return kdl_parse_fail(out_error, at, "UTF-8 without control characters");
  if (text.length >= size)
    return kdl_parse_fail(out_error, size - 1,
                          size == KDL_SPEC_DRIVER ? "at most 63 bytes" : "at most 127 bytes");
  memcpy(field, text.data, text.length);
  field[text.length] = '\0';
  return true;
}

static bool is_token_letter(char c) {
  return kdl_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '-' || c == '.';
}

/* Checks the syntax only; the rules of the device's family check whether the tokens exist. A comma
 * is read as '+'. */
static bool parse_tokens(char *field, size_t size, kdl_string text, kdl_parse_error *out_error) {
  static const char grammar[] = "feature tokens joined by '+'";
  if (text.length >= size)
    return kdl_parse_fail(out_error, size - 1, "at most 511 bytes of tokens");
  bool in_token = false;
  for (size_t i = 0; i < text.length; ++i) {
    bool separates = text.data[i] == '+' || text.data[i] == ',';
    if (separates ? !in_token : !is_token_letter(text.data[i]))
      return kdl_parse_fail(out_error, i, grammar);
    in_token = !separates;
  }
  if (!in_token)
    return kdl_parse_fail(out_error, text.length, grammar);
  for (size_t i = 0; i < text.length; ++i)
    field[i] = (char)(text.data[i] == ',' ? '+' : text.data[i]);
  field[text.length] = '\0';
  return true;
}

static bool parse_class(kdl_device_class *field, kdl_string text, kdl_parse_error *out_error) {
  for (unsigned i = KDL_DEVICE_CLASS_UNKNOWN + 1; i < KDL_DEVICE_CLASS_COUNT; ++i) {
    if (kdl_text_is(text, class_names[i])) {
      *field = (kdl_device_class)i;
      return true;
    }
  }
  return kdl_parse_fail(out_error, 0, "discrete, integrated, accelerator or cpu");
}

static int hex_digit(char c) {
  if (kdl_is_digit(c))
    return c - '0';
  char lower = (char)(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool parse_uuid(kdl_spec_uuid *field, kdl_string text, kdl_parse_error *out_error) {
  static const char grammar[] = "32 hexadecimal digits, as in 12345678-9abc-def0-1234-56789abcdef0";
  size_t at = kdl_text_starts(text, "GPU-") || kdl_text_starts(text, "MIG-") ? 4 : 0;
  kdl_spec_uuid uuid = {.known = true};
  for (size_t digits = 0; digits < 32; ++at) {
    if (at < text.length && text.data[at] == '-' && digits)
      continue;
    int digit = at < text.length ? hex_digit(text.data[at]) : -1;
    if (digit < 0)
      return kdl_parse_fail(out_error, at, grammar);
    uuid.bytes[digits / 2] = (uint8_t)(uuid.bytes[digits / 2] << 4 | digit);
    ++digits;
  }
  if (at != text.length)
    return kdl_parse_fail(out_error, at, grammar);
  *field = uuid;
  return true;
}

/* Parses hexadecimal digits up to `end`, and sets *at after it. */
static bool parse_hex_part(kdl_string text, size_t *at, char end, uint32_t largest,
                           uint32_t *out_part) {
  uint64_t part = 0;
  size_t i = *at;
  for (; i < text.length && hex_digit(text.data[i]) >= 0 && part <= largest; ++i)
    part = part << 4 | (uint64_t)hex_digit(text.data[i]);
  bool ended = end ? i < text.length && text.data[i] == end : i == text.length;
  if (i == *at || part > largest || !ended)
    return false;
  *out_part = (uint32_t)part;
  *at = i + 1;
  return true;
}

static bool parse_pci(kdl_spec_pci *field, kdl_string text, kdl_parse_error *out_error) {
  uint32_t domain = 0, bus, device, function;
  size_t at = 0;
  size_t colon = kdl_text_find(text, 0, ":");
  bool has_domain = kdl_text_find(text, colon + (colon < text.length), ":") < text.length;
  if ((has_domain && !parse_hex_part(text, &at, ':', UINT32_MAX, &domain)) ||
      !parse_hex_part(text, &at, ':', 0xff, &bus) ||
      !parse_hex_part(text, &at, '.', 0x1f, &device) ||
      !parse_hex_part(text, &at, '\0', 7, &function))
    return kdl_parse_fail(out_error, at, "a PCI address, as in 0000:65:00.0");
  *field = (kdl_spec_pci){true, domain, (uint8_t)bus, (uint8_t)device, (uint8_t)function};
  return true;
}

static bool parse_bytes(uint64_t *field, kdl_string text, kdl_parse_error *out_error) {
  static const char grammar[] = "a number of bytes, as in 80GB, 48KiB or 4096";
  uint64_t number = 0;
  size_t at = 0;
  for (; at < text.length && kdl_is_digit(text.data[at]); ++at) {
    unsigned digit = (unsigned)(text.data[at] - '0');
    if (number > (UINT64_MAX - digit) / 10)
      return kdl_parse_fail(out_error, 0, "less than 2^64 bytes");
    number = number * 10 + digit;
  }
  if (at == 0)
    return kdl_parse_fail(out_error, 0, grammar);
  kdl_string unit = kdl_text_substr(text, at);
  uint64_t factor = unit.length ? 0 : 1;
  for (size_t i = 0; i < unit_count; ++i) {
    if (kdl_text_is(unit, units[i].name))
      factor = units[i].factor;
  }
  if (!factor)
    return kdl_parse_fail(out_error, at, grammar);
  if (number > UINT64_MAX / factor)
    return kdl_parse_fail(out_error, 0, "less than 2^64 bytes");
  *field = number * factor;
  return true;
}

static bool parse_count(uint32_t *field, kdl_string text, kdl_parse_error *out_error) {
  size_t at = 0;
  uint32_t number;
  if (!kdl_text_parse_number(text, &at, &number) || at != text.length)
    return kdl_parse_fail(out_error, at, "a number below 2^32");
  *field = number;
  return true;
}

static bool parse_version(uint32_t *field, kdl_string text, kdl_parse_error *out_error) {
  static const char grammar[] = "a version, as in 1.4";
  size_t at = 0;
  uint32_t major, minor = 0;
  if (!kdl_text_parse_number(text, &at, &major) || major > 0xffff)
    return kdl_parse_fail(out_error, at < text.length ? 0 : at, grammar);
  if (at < text.length) {
    size_t dot = at++;
    if (text.data[dot] != '.')
      return kdl_parse_fail(out_error, dot, grammar);
    if (!kdl_text_parse_number(text, &at, &minor) || minor > 0xffff || at != text.length)
      return kdl_parse_fail(out_error, at, grammar);
  }
  *field = KDL_VERSION_OF(major, minor);
  return true;
}

static bool parse_sizes(uint32_t *field, kdl_string text, kdl_parse_error *out_error) {
  uint32_t sizes = 0;
  for (size_t at = 0;; ++at) {
    size_t start = at;
    uint32_t size;
    if (!kdl_text_parse_number(text, &at, &size) || size == 0 || (size & (size - 1)) ||
        (at < text.length && text.data[at] != '+'))
      return kdl_parse_fail(out_error, start, "powers of two joined by '+', as in 16+32");
    sizes |= size;
    if (at == text.length)
      break;
  }
  *field = sizes;
  return true;
}

static bool parse_flag(bool *field, kdl_string text, kdl_parse_error *out_error) {
  if (!kdl_text_is(text, "yes") && !kdl_text_is(text, "no"))
    return kdl_parse_fail(out_error, 0, "yes or no");
  *field = kdl_text_is(text, "yes");
  return true;
}

static bool parse_tools(kdl_spec_tools *field, kdl_string text, kdl_parse_error *out_error) {
  for (unsigned i = 0; i < KDL_TOOLS_COUNT; ++i) {
    if (kdl_text_is(text, tools_names[i])) {
      *field = (kdl_spec_tools)i;
      return true;
    }
  }
  return kdl_parse_fail(out_error, 0, "none, kdl-ld or kdl-ld+llvm-spirv");
}

bool kdl_spec_value_parse(kdl_device_spec *spec, const kdl_spec_key *key, kdl_string text,
                          kdl_parse_error *out_error) {
  void *field = field_in(spec, key);
  switch (key->kind) {
  case KDL_SPEC_KIND_TEXT:
    return parse_text(field, key->size, text, out_error);
  case KDL_SPEC_KIND_TOKENS:
    return parse_tokens(field, key->size, text, out_error);
  case KDL_SPEC_KIND_CLASS:
    return parse_class(field, text, out_error);
  case KDL_SPEC_KIND_ORDINAL:
    ((kdl_spec_ordinal *)field)->known = true;
    return parse_count(&((kdl_spec_ordinal *)field)->value, text, out_error);
  case KDL_SPEC_KIND_UUID:
    return parse_uuid(field, text, out_error);
  case KDL_SPEC_KIND_PCI:
    return parse_pci(field, text, out_error);
  case KDL_SPEC_KIND_BYTES:
    return parse_bytes(field, text, out_error);
  case KDL_SPEC_KIND_COUNT:
    return parse_count(field, text, out_error);
  case KDL_SPEC_KIND_VERSION:
    return parse_version(field, text, out_error);
  case KDL_SPEC_KIND_SIZES:
    return parse_sizes(field, text, out_error);
  case KDL_SPEC_KIND_FLAG:
    return parse_flag(field, text, out_error);
  case KDL_SPEC_KIND_TOOLS:
    return parse_tools(field, text, out_error);
  }
  return false;
}

bool kdl_spec_value_set_number(kdl_device_spec *spec, const kdl_spec_key *key, uint64_t number) {
  void *field = field_in(spec, key);
  if (key->kind == KDL_SPEC_KIND_BYTES) {
    *(uint64_t *)field = number;
    return true;
  }
  if (number > UINT32_MAX)
    return false;
  if (key->kind == KDL_SPEC_KIND_COUNT) {
    *(uint32_t *)field = (uint32_t)number;
    return true;
  }
  if (key->kind == KDL_SPEC_KIND_ORDINAL) {
    *(kdl_spec_ordinal *)field = (kdl_spec_ordinal){true, (uint32_t)number};
    return true;
  }
  return false;
}
