/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/target/rules/metadata.h"

#include "lib/target/families/gpu.h"

const kdl_key_row kdl_keys[KDL_KEY_COUNT] = {
    [KDL_KEY_MIN_SM] = {KDL_TEXT_ROW("min_sm"), "a compute capability without the dot: 90 is 9.0",
                        true},
    [KDL_KEY_MIN_GFX] = {KDL_TEXT_ROW("min_gfx"), "a processor and its family: gfx90a:cdna2", true},
    [KDL_KEY_REQUIRES_FEATURES] = {KDL_TEXT_ROW("requires_features"),
                                   "tokens joined by '+': bf16+fp8", true},
    [KDL_KEY_VARIANT_PRIORITY] = {KDL_TEXT_ROW("variant_priority"),
                                  "an unsigned number up to 4294967295", false},
    [KDL_KEY_VARIANT_TAG] = {KDL_TEXT_ROW("variant_tag"), "any text", false},
};

kdl_key kdl_key_find(kdl_string name) {
  for (int key = 0; key < KDL_KEY_COUNT; ++key) {
    if (kdl_text_equal(name, kdl_keys[key].name))
      return (kdl_key)key;
  }
  return KDL_KEY_COUNT;
}

static bool parse_min_sm(kdl_string value, uint8_t *out_major, uint8_t *out_minor,
                         kdl_parse_error *out_error) {
  const char *grammar = kdl_keys[KDL_KEY_MIN_SM].grammar;
  size_t at = 0;
  uint32_t number;
  if (!kdl_text_parse_number(value, &at, &number) || at != value.length)
    return kdl_parse_fail(out_error, at, grammar);
  return kdl_nvptx_capability(number, out_major, out_minor) ||
         kdl_parse_fail(out_error, 0, grammar);
}

static bool is_token_character(char c) {
  return (c >= 'a' && c <= 'z') || kdl_is_digit(c) || c == '_' || c == '-' || c == '.';
}

/* Whether the value is a list of tokens, known or not. */
static bool check_token_list(kdl_string value, kdl_parse_error *out_error) {
  bool in_token = false;
  for (size_t at = 0; at < value.length; ++at) {
    bool separator = value.data[at] == '+' || value.data[at] == ',';
    if (separator ? !in_token : !is_token_character(value.data[at]))
      return kdl_parse_fail(out_error, at, kdl_keys[KDL_KEY_REQUIRES_FEATURES].grammar);
    in_token = !separator;
  }
  return in_token ||
         kdl_parse_fail(out_error, value.length, kdl_keys[KDL_KEY_REQUIRES_FEATURES].grammar);
}

static bool parse_priority(kdl_string value, uint32_t *out_priority, kdl_parse_error *out_error) {
  size_t at = 0;
  uint32_t number;
  if (!kdl_text_parse_number(value, &at, &number) || at != value.length)
    return kdl_parse_fail(out_error, at, kdl_keys[KDL_KEY_VARIANT_PRIORITY].grammar);
  *out_priority = number;
  return true;
}

bool kdl_metadata_check(kdl_key key, kdl_string value, kdl_parse_error *out_error) {
  uint8_t major;
  uint8_t minor;
  uint32_t priority;
  const kdl_amdgcn_processor *processor;
  switch (key) {
  case KDL_KEY_MIN_SM:
    return parse_min_sm(value, &major, &minor, out_error);
  case KDL_KEY_MIN_GFX:
    return kdl_amdgcn_parse_min(value, &processor, out_error);
  case KDL_KEY_REQUIRES_FEATURES:
    return check_token_list(value, out_error);
  case KDL_KEY_VARIANT_PRIORITY:
    return parse_priority(value, &priority, out_error);
  case KDL_KEY_VARIANT_TAG:
  case KDL_KEY_COUNT:
    break;
  }
  return true;
}

kdl_string kdl_metadata_unknown_token(kdl_string list, kdl_feature_class which) {
  for (size_t at = 0; at < list.length;) {
    size_t end = kdl_text_find(list, at, "+,");
    kdl_string token = {list.data + at, end - at};
    kdl_feature_set named;
    if (!kdl_feature_find(which, token, &named))
      return token;
    at = end + 1;
  }
  return (kdl_string){NULL, 0};
}

static bool read_metadata_key(kdl_metadata *metadata, kdl_key key, kdl_feature_class which) {
  kdl_string value = metadata->value[key];
  switch (key) {
  case KDL_KEY_MIN_SM:
    return parse_min_sm(value, &metadata->min_sm_major, &metadata->min_sm_minor, NULL);
  case KDL_KEY_MIN_GFX:
    return kdl_amdgcn_parse_min(value, &metadata->min_gfx, NULL);
  case KDL_KEY_REQUIRES_FEATURES:
    if (!check_token_list(value, NULL))
      return false;
    metadata->requires_unknown = !kdl_feature_parse(which, value, &metadata->required, NULL);
    kdl_feature_close(which, &metadata->required);
    return true;
  case KDL_KEY_VARIANT_PRIORITY:
    return parse_priority(value, &metadata->priority, NULL);
  case KDL_KEY_VARIANT_TAG:
  case KDL_KEY_COUNT:
    break;
  }
  return true;
}

void kdl_metadata_read(const kdl_pair *pairs, size_t count, kdl_feature_class which,
                       kdl_metadata *out_metadata) {
  *out_metadata = (kdl_metadata){0};
  for (size_t i = 0; i < count; ++i) {
    kdl_key key = kdl_key_find(pairs[i].key);
    if (key != KDL_KEY_COUNT)
      out_metadata->value[key] = pairs[i].value;
  }
  for (int key = 0; key < KDL_KEY_COUNT; ++key) {
    if (out_metadata->value[key].data && !read_metadata_key(out_metadata, (kdl_key)key, which))
      out_metadata->malformed |= 1u << key;
  }
}
