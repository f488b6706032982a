/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Address spaces are part of types, which LLVM's C interface does not change in place; so the
 * module is printed, rewritten as text and read again. LLVM corrects the names of intrinsics
 * itself.
 */
#include "compiler/ir/portable/lower.h"

#include "support/base/error.h"
#include "tools/common/memory.h"

#include <string.h>

/* The length of `word` where it stands at `at` as a word of its own; else 0. */
static size_t word_at(const char *text, const char *at, const char *word) {
  size_t length = strlen(word);
  bool begins = at == text || at[-1] == ' ' || at[-1] == '(' || at[-1] == '\n';
  return begins && strncmp(at, word, length) == 0 ? length : 0;
}

static size_t address_space_at(const char *at) {
  static const char word[] = " addrspace(";
  if (strncmp(at, word, sizeof word - 1) != 0)
    return 0;
  size_t digits = strspn(at + sizeof word - 1, "0123456789");
  return digits && at[sizeof word - 1 + digits] == ')' ? sizeof word + digits : 0;
}

/* Rewrites in place: the text becomes shorter. */
static size_t rewrite(char *text) {
  static const char cast[] = "addrspacecast ", plain[] = "bitcast ", convergent[] = "convergent ";
  static const char instead[] = "nounwind "; /* a group of attributes must not become empty */
  char *out = text;
  bool is_quoted = false;
  for (const char *at = text; *at;) {
    size_t skip = 0;
    is_quoted ^= *at == '"';
    if (!is_quoted && (skip = address_space_at(at)) > 0) {
      at += skip;
      continue;
    }
    if (!is_quoted && (skip = word_at(text, at, cast)) > 0) {
      memcpy(out, plain, sizeof plain - 1);
      out += sizeof plain - 1;
      at += skip;
      continue;
    }
    if (!is_quoted && (skip = word_at(text, at, convergent)) > 0) {
      memcpy(out, instead, sizeof instead - 1);
      out += sizeof instead - 1;
      at += skip;
      continue;
    }
    *out++ = *at++;
  }
  *out = '\0';
  return (size_t)(out - text);
}

kdl_status ir_flatten(ir_context *context, const char *name, LLVMModuleRef *module) {
  char *text = cli_check_alloc(LLVMPrintModuleToString(*module));
  LLVMModuleRef flat = NULL;
  kdl_status status = ir_module_read_text(context, text, rewrite(text), name, &flat);
  LLVMDisposeMessage(text);
  if (status != KDL_OK)
    return status;
  LLVMDisposeModule(*module);
  *module = flat;
  return KDL_OK;
}
