/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/ir/ir_text.h"
#include "tools/common/lines.h"

bool cc_ir_next_name(kdl_string line, size_t *at, kdl_string *out_name) {
  for (size_t i = *at; i < line.length && line.data[i] != ';'; ++i) {
    if (line.data[i] == '"')
      i = kdl_text_find(line, i + 1, "\""); /* LLVM escapes quotes within as \22 */
    if (i >= line.length || line.data[i] != '@')
      continue;
    size_t begin = i + 1, end = begin;
    if (begin < line.length && line.data[begin] == '"')
      end = kdl_text_find(line, begin + 1, "\"") + 1;
    while (end < line.length &&
           (cli_is_word(line.data[end]) || kdl_is_one_of(line.data[end], "-$.")))
      ++end;
    end = end < line.length ? end : line.length;
    *out_name = (kdl_string){line.data + begin, end - begin};
    *at = end;
    return true;
  }
  *at = line.length;
  return false;
}

bool cc_ir_next_declared(kdl_string *rest, kdl_string *out_name) {
  kdl_string found;
  if (!cli_text_after(*rest, "\ndeclare ", &found))
    return false;
  *rest = found;
  size_t name = kdl_text_find(*rest, 0, "@\n") + 1;
  if (name >= rest->length)
    return false;
  *out_name = cli_text_until(kdl_text_substr(*rest, name), "(\n");
  return true;
}

cc_ir_uses cc_ir_read_uses(kdl_arena *arena, kdl_string ir) {
  cli_list functions = {.count = 0}, uses = {.count = 0};
  bool is_body = false;
  kdl_string line, name;
  while (cli_next_line(&ir, &line)) {
    size_t at = 0;
    if (kdl_text_starts(line, "define ") && cc_ir_next_name(line, &at, &name)) {
      *(kdl_string *)cli_list_add(arena, &functions, sizeof name) = name;
      is_body = true;
    } else if (kdl_text_is(line, "}")) {
      is_body = false;
    }
    bool is_call = at == 0 && kdl_text_contains(line, "call ");
    for (; is_body && cc_ir_next_name(line, &at, &name); is_call = false)
      *(cc_ir_use *)cli_list_add(arena, &uses, sizeof(cc_ir_use)) =
          (cc_ir_use){functions.count - 1, name, line, is_call};
  }
  return (cc_ir_uses){functions.items, functions.count, uses.items, uses.count};
}
