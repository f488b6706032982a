/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/emit/emit.h"
#include "support/base/error.h"

#include <string.h>
#include <strings.h>

typedef struct {
  const char *caller; /* the name of the bitcode in messages */
  bool is_remark;     /* ';' starts a comment, not a statement */
  kdl_status status;
} check;

/* ------------------------------------------------------------------------------------------ */
/* Strings                                                                                      */

/* Directives that name files, and directives from which others can be assembled. The assembler
 * ignores case. */
static const char *find_directive(const char *text, size_t size) {
  static const char *const directives[] = {".incbin", ".include", ".macro", ".irp", ".altmacro"};
  for (size_t at = 0; at < size; ++at) {
    for (size_t i = 0; text[at] == '.' && i < sizeof directives / sizeof *directives; ++i) {
      size_t length = strlen(directives[i]);
      if (size - at >= length && strncasecmp(text + at, directives[i], length) == 0)
        return directives[i];
    }
  }
  return NULL;
}

static void check_assembly_text(check *checking, const char *text, size_t size) {
  const char *found = find_directive(text, size);
  if (found)
    checking->status =
        kdl_fail(KDL_BAD_FILE,
                 "%s: found assembly with '%s', expected none that names files or defines macros",
                 checking->caller, found);
}

/* Whether the word that ends before `at` starts a statement; true where that is unclear. */
static bool begins_statement(const check *checking, const char *text, size_t at) {
  static const char in_words[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "_.-$(|){}";
  while (at && strchr(in_words, text[at - 1]))
    --at;
  while (at && strchr(" \t\f\v", text[at - 1]))
    --at;
  if (!at || (at > 1 && text[at - 1] == '/' && text[at - 2] == '*'))
    return true;
  return strchr(checking->is_remark ? "\n\r:" : "\n\r:;", text[at - 1]) != NULL;
}

/* In a function's assembly, operands replace $0 or ${1:c}. An operand may be a symbol named
 * ".incbin" or "bin", which is a directive only at the start of a statement. $$ is a dollar, and
 * ${:uid} a number. */
static void check_template(check *checking, const char *text, size_t size) {
  static const char number[] = "${:uid}";
  check_assembly_text(checking, text, size);
  for (size_t at = 0; at < size && checking->status == KDL_OK; ++at) {
    if (text[at] != '$')
      continue;
    size_t left = size - at;
    if (left > 1 && text[at + 1] == '$') {
      ++at;
    } else if (left >= sizeof number - 1 && memcmp(text + at, number, sizeof number - 1) == 0) {
      at += sizeof number - 2;
    } else if (begins_statement(checking, text, at)) {
      checking->status = kdl_fail(KDL_BAD_FILE,
                                  "%s: found assembly in which an operand begins a statement, "
                                  "expected instructions",
                                  checking->caller);
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Modules                                                                                      */

static bool is_call(LLVMValueRef instruction) {
  LLVMOpcode code = LLVMGetInstructionOpcode(instruction);
  return code == LLVMCall || code == LLVMInvoke || code == LLVMCallBr;
}

static void check_function_assembly(check *checking, LLVMValueRef function) {
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
       block = LLVMGetNextBasicBlock(block)) {
    for (LLVMValueRef at = LLVMGetFirstInstruction(block); at && checking->status == KDL_OK;
         at = LLVMGetNextInstruction(at)) {
      LLVMValueRef callee = is_call(at) ? LLVMGetCalledValue(at) : NULL;
      if (!callee || !LLVMIsAInlineAsm(callee))
        continue;
      size_t size;
      const char *text = LLVMGetInlineAsmAsmString(callee, &size);
      check_template(checking, text, size);
    }
  }
}

kdl_status ir_assembly_check(const ir_linker *linker) {
  check checking = {.caller = linker->request->caller,
                    .is_remark = linker->target.family == KDL_FAMILY_AMDGCN,
                    .status = KDL_OK};
  size_t size;
  const char *text = LLVMGetModuleInlineAsm(linker->module, &size);
  check_assembly_text(&checking, text, size);
  for (LLVMValueRef f = LLVMGetFirstFunction(linker->module); f && checking.status == KDL_OK;
       f = LLVMGetNextFunction(f))
    check_function_assembly(&checking, f);
  return checking.status;
}
