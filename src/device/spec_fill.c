/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "device/spec_fill.h"

#include "base/utf8.h"
#include "device/spec_values.h"

#include <stdio.h>

void kdl_spec_set_text(char *field, size_t size, const char *text, size_t length) {
  while (length && text[0] == ' ') {
    ++text;
    --length;
  }
  while (length && text[length - 1] == ' ')
    --length;
  size_t used = 0;
  for (size_t at = 0, step; at < length; at += step) {
    step = kdl_utf8_length(text + at, length - at);
    size_t bad;
    bool clean = step && kdl_spec_text_is_clean((kdl_string){text + at, step}, &bad);
    step = step ? step : 1;
    size_t bytes = clean ? step : 1;
    if (used + bytes >= size)
      break;
    memcpy(field + used, clean ? text + at : "?", bytes);
    used += bytes;
  }
  field[used] = '\0';
}

void kdl_spec_add_token(char *field, size_t size, const char *token) {
  size_t used = strlen(field);
  size_t length = strlen(token);
  for (const char *at = field; (at = strstr(at, token)) != NULL; at += length) {
    bool starts = at == field || at[-1] == '+';
    if (starts && (at[length] == '\0' || at[length] == '+'))
      return;
  }
  if (used + 1 + length >= size)
    return;
  snprintf(field + used, size - used, "%s%s", used ? "+" : "", token);
}

void kdl_spec_set_uuid(kdl_spec_uuid *field, const void *bytes) {
  static const uint8_t none[16];
  field->known = memcmp(bytes, none, sizeof none) != 0;
  memcpy(field->bytes, bytes, sizeof field->bytes);
}

void kdl_spec_set_pci(kdl_spec_pci *field, uint32_t domain, uint32_t bus, uint32_t device,
                      uint32_t function) {
  bool possible = bus <= 0xff && device <= 0x1f && function <= 7;
  *field = (kdl_spec_pci){possible && (domain | bus | device | function), domain, (uint8_t)bus,
                          (uint8_t)device, (uint8_t)function};
}
