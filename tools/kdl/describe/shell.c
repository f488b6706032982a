/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/kdl/describe/describe.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Values of options                                                                            */

/* The completion of values, by their names in the help: a function in each shell's template. */
static const struct value_kind {
  const char *names; /* separated by blanks, with one at both ends */
  const char *bash;
  const char *zsh;
} kinds[] = {
    {" FILE OUT OUT.o PATH PUBKEY SECRET SIG ", "_kdl_files", "_files"},
    {" DIR FOLDER ", "_kdl_folders", "_files -/"},
    {" DEVICE ", "_kdl_words \"host $_kdl_devices\"", "_kdl_devices"},
    {" DEVICE,... ", "_kdl_list \"host $_kdl_devices\"", "_kdl_device_list"},
    {" SELECT ", "_kdl_terms 'triple arch kind image_kind'", " _kdl_terms"},
    {" K=V,... ", "_kdl_terms 'file triple arch kind image_kind'", " _kdl_terms file"},
    {" KEYS:FILE ", "_kdl_variant", ""},
    {" PROGRAM ", "_kdl_programs", "_command_names -e"},
    {" PID ", "COMPREPLY=()", "_pids"},
};

/* Values with a fixed list of words, or with words separated by '|'. A comma-separated list ends in
 * ",...". */
static const struct {
  const char *name;
  const char *words;
} word_lists[] = {
    {"VERSION", "v1|v2|v3|v3-zstd|v3-zlib"},
    {"POLICY", "best|first|capability|adaptive"},
    {"LANG", "c|c++|cl|cuda|hip"},
    {"LEVEL", "0|1|2|3|s|z|g|fast"},
    {"T,T",
#define KDL_NVPTX(number, plain, a, f, tile_ir, part, warps, groups, shared, partitions, offered)  \
  DESCRIBE_OFFER_##offered(number, "|")
#include "lib/inspect/nvptx.def"
     "gfx90a|gfx942|gfx950|gfx1030|gfx1100|gfx1200|gfx9-4-generic|gfx10-3-generic|gfx11-generic|"
     "gfx12-generic|spirv64|opencl-c|x86-64-v2|x86-64-v3|x86-64-v4|armv8-a,..."},
    {"PEER,...", "driver|driver-library|liboffload|cudart|mlir|opencl|plain|omp|onednn|openblas|"
                 "pocl|intel|openmp|"
                 "nvcc,..."},
};

/* The words of a value, separated by blanks; false where it has none. */
static bool value_word_list(const char *value, char out[512], bool *out_is_list) {
  for (size_t i = 0; i < sizeof word_lists / sizeof *word_lists; ++i) {
    if (strcmp(word_lists[i].name, value) == 0)
      value = word_lists[i].words;
  }
  if (!strchr(value, '|'))
    return false;
  int length = snprintf(out, 512, "%s", value);
  char *end = strstr(out, ",...");
  *out_is_list = end != NULL;
  if (end)
    *end = '\0';
  for (char *bar = out; (bar = memchr(bar, '|', (size_t)(out + length - bar)));)
    *bar = ' ';
  return true;
}

static const struct value_kind *find_value_kind(const char *value) {
  char name[64];
  snprintf(name, sizeof name, " %s ", value);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    if (strstr(kinds[i].names, name))
      return &kinds[i];
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* bash                                                                                         */

enum { longest_action = 600 };

static void bash_action(const cli_option *option, char out[longest_action]) {
  char words[512];
  bool is_list;
  const struct value_kind *kind = find_value_kind(option->value);
  if (value_word_list(option->value, words, &is_list))
    snprintf(out, longest_action, "_kdl_%s '%s'", is_list ? "list" : "words", words);
  else
    snprintf(out, longest_action, "%s", kind ? kind->bash : "COMPREPLY=()");
}

void describe_bash_options(void) {
  for (const cli_command *const *command = cli_commands; *command; ++command) {
    printf("    %s) options='", (*command)->name);
    for (const cli_option *option = (*command)->options; option->name; ++option)
      printf("%s%s%s ", cli_option_dashes(option), option->name, option->value ? "=" : "");
    printf("--color= --help' ;;\n");
  }
}

void describe_bash_actions(void) {
  for (const cli_command *const *command = cli_commands; *command; ++command) {
    if ((*command)->actions)
      printf("    %s) actions='%s' ;;\n", (*command)->name, (*command)->actions);
  }
}

/* COMMAND--OPTION and COMMAND-LETTER of all options with the same completion. */
void describe_bash_values(void) {
  static struct {
    const char *command;
    const cli_option *option;
    char action[longest_action];
  } all[256];
  size_t count = 0;
  for (const cli_command *const *command = cli_commands; *command; ++command) {
    for (const cli_option *option = (*command)->options; option->name; ++option) {
      if (!option->value || count == sizeof all / sizeof *all)
        continue;
      all[count].command = (*command)->name;
      all[count].option = option;
      bash_action(option, all[count++].action);
    }
  }
  for (size_t first = 0; first < count; ++first) {
    bool is_done = false;
    for (size_t i = 0; i < first; ++i)
      is_done |= strcmp(all[i].action, all[first].action) == 0;
    if (is_done)
      continue;
    for (size_t i = first; i < count; ++i) {
      const cli_option *option = all[i].option;
      if (strcmp(all[i].action, all[first].action) != 0)
        continue;
      printf("%s%s%s%s", i == first ? "    " : " | ", all[i].command, cli_option_dashes(option),
             option->name);
      if (option->letter)
        printf(" | %s-%c", all[i].command, option->letter);
    }
    printf(") %s ;;\n", all[first].action);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* zsh                                                                                          */

/* The text up to the first semicolon, which is enough for a list. */
static void put_zsh(const char *text) {
  for (; *text && *text != ';'; ++text) {
    if (*text == '\'')
      fputs("'\\''", stdout);
    else if (strchr("[]:\\", *text))
      printf("\\%c", *text);
    else
      putchar(*text);
  }
}

static void zsh_action(const cli_option *option) {
  char words[512];
  bool is_list;
  const struct value_kind *kind = find_value_kind(option->value);
  putchar(':');
  put_zsh(option->value);
  putchar(':');
  if (!value_word_list(option->value, words, &is_list))
    fputs(kind ? kind->zsh : "", stdout);
  else if (is_list)
    printf("_values -s , word %s", words);
  else
    printf("(%s)", words);
}

static void zsh_option(const cli_option *option) {
  const char *dashes = cli_option_dashes(option);
  bool is_gnu = dashes[1] != '\0';
  const char *equals = !option->value ? "" : is_gnu ? "=" : "+";
  fputs(" \\\n            '", stdout);
  if (option->arity == CLI_MANY)
    putchar('*');
  else if (option->letter)
    printf("(-%c --%s)", option->letter, option->name);
  if (option->letter)
    printf("'{-%c%s,--%s%s}'", option->letter, option->value ? "+" : "", option->name, equals);
  else
    printf("%s%s%s", dashes, option->name, equals);
  putchar('[');
  put_zsh(option->help);
  putchar(']');
  if (option->value)
    zsh_action(option);
  putchar('\'');
}

void describe_zsh_commands(void) {
  for (const cli_command *const *command = cli_commands; *command; ++command) {
    printf("    '%s:", (*command)->name);
    put_zsh((*command)->summary);
    puts("'");
  }
}

void describe_zsh_options(void) {
  for (const cli_command *const *command = cli_commands; *command; ++command) {
    printf("        %s)\n          _arguments $help", (*command)->name);
    for (const cli_option *option = (*command)->options; option->name; ++option)
      zsh_option(option);
    if ((*command)->actions)
      printf(" \\\n            '1:action:(%s)'", (*command)->actions);
    if ((*command)->max_operands)
      printf(" \\\n            '*:file:_files'");
    puts("\n          ;;");
  }
}
