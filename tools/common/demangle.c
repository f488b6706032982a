/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/demangle.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/loader.h"
#include "tools/common/memory.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
  longest_name = 1024, /* libstdc++'s limit */
  longest_text = 64 * 1024,
  most_references = 40,
  references_of_pack = 13,
};

struct cli_demangler {
  char *(*demangle)(const char *name, char *room, size_t *size, int *status);
  char *text;
};

kdl_status cli_demangler_start(cli_demangler **out_demangler) {
  static const char library[] = "libstdc++.so.6";
  void *handle = kdl_dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void *symbol = handle ? dlsym(handle, "__cxa_demangle") : NULL;
  if (!symbol) {
    const char *reason = dlerror();
    return kdl_fail(KDL_UNSUPPORTED, "--demangle: needs %s, which is not installed (dlopen: %s)",
                    library, reason ? reason : "no reason given");
  }
  cli_demangler *demangler = xcalloc(1, sizeof *demangler);
  memcpy(&demangler->demangle, &symbol, sizeof symbol);
  *out_demangler = demangler;
  return KDL_OK;
}

void cli_demangler_stop(cli_demangler *demangler) {
  if (demangler)
    free(demangler->text);
  free(demangler);
}

/* A reference (S_, S1_, T_, T0_) repeats an earlier part of the text, so that a short name can
 * expand to a text that exceeds memory. r references make the text at most 3^(r/3) times as long:
 * three to the same part triple it, and other numbers gain less per reference. With 40 that is some
 * MB. The expansion of a pack (Dp, sp) repeats its pattern once per element; a name of this length
 * has at most a few hundred. */
static bool is_short(kdl_string name) {
  size_t references = 0;
  for (size_t i = 0; i + 1 < name.length; ++i) {
    char first = name.data[i];
    if ((first == 'D' || first == 's') && name.data[i + 1] == 'p')
      references += references_of_pack;
    if (first != 'S' && first != 'T')
      continue;
    size_t end = i + 1;
    while (end < name.length &&
           (kdl_is_digit(name.data[end]) || (name.data[end] >= 'A' && name.data[end] <= 'Z')))
      ++end;
    references += end < name.length && name.data[end] == '_';
  }
  return references <= most_references;
}

kdl_string cli_demangle(cli_demangler *demangler, kdl_string name) {
  char copy[longest_name + 1];
  int status;
  if (!demangler || !kdl_text_starts(name, "_Z") || name.length > longest_name || !is_short(name) ||
      memchr(name.data, '\0', name.length))
    return name;
  memcpy(copy, name.data, name.length);
  copy[name.length] = '\0';
  free(demangler->text);
  demangler->text = demangler->demangle(copy, NULL, NULL, &status);
  size_t length = demangler->text ? strlen(demangler->text) : 0;
  return length && length <= longest_text ? (kdl_string){demangler->text, length} : name;
}
