/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/target/fold_list.h"

#include "lib/inspect/conditions.h"

static const kdl_fold_kind kinds[] = {[KDL_PARAM_INT] = KDL_FOLD_INT,
                                      [KDL_PARAM_UINT] = KDL_FOLD_UINT,
                                      [KDL_PARAM_FLOAT] = KDL_FOLD_FLOAT,
                                      [KDL_PARAM_PTR] = KDL_FOLD_POINTER};

static bool read_fold(const kdl_kernel_key *key, kdl_string name, kdl_fold *out_fold) {
  kdl_param param;
  size_t at = 0;
  if (kdl_text_is(name, "block")) {
    *out_fold = (kdl_fold){.kind = KDL_FOLD_BLOCK, .name = name};
    return true;
  }
  long index = kdl_kernel_find_param(key, name);
  if (index < 0 || index > UINT16_MAX)
    return false;
  for (long i = 0; i <= index; ++i) {
    if (!kdl_signature_next(key->sig, &at, &param, NULL))
      return false;
  }
  if (param.kind == KDL_PARAM_BYTES || param.size > sizeof(uint64_t))
    return false;
  *out_fold = (kdl_fold){.kind = kinds[param.kind],
                         .index = (uint16_t)index,
                         .size = (uint8_t)(param.size ? param.size : sizeof(void *)),
                         .name = name};
  return true;
}

bool kdl_fold_list_read(const kdl_kernel_key *key, kdl_fold_list *out_list,
                        kdl_parse_error *out_error) {
  kdl_string text = kdl_kernel_specialize(key);
  *out_list = (kdl_fold_list){.count = 0};
  for (size_t at = 0; at < text.length;) {
    size_t end = at;
    while (end < text.length && text.data[end] != ' ')
      ++end;
    if (end > at) {
      if (out_list->count == KDL_FOLD_LIMIT ||
          !read_fold(key, (kdl_string){text.data + at, end - at},
                     &out_list->items[out_list->count]))
        return kdl_parse_fail(out_error, (size_t)(text.data - key->text.data) + at,
                              KDL_FOLD_GRAMMAR);
      ++out_list->count;
    }
    at = end + 1;
  }
  return true;
}
