/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/options.h"

#include "support/base/error.h"
#include "support/base/nearest.h"
#include "support/base/string_list.h"
#include "support/base/text.h"
#include "tools/common/command.h"
#include "tools/common/memory.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Parsing                                                                                      */

static const cli_option *find_option(const cli_command *command, const char *name, size_t length) {
  for (const cli_option *option = command->options; option->name; ++option) {
    bool is_letter = length == 1 && option->letter == name[0];
    if (is_letter || (strlen(option->name) == length && memcmp(option->name, name, length) == 0))
      return option;
  }
  return NULL;
}

static kdl_status unknown_option(const cli_command *command, const char *word) {
  const char *name = word + strspn(word, "-");
  kdl_nearest nearest = kdl_nearest_to((kdl_string){name, strcspn(name, "=")});
  for (const cli_option *option = command->options; option->name; ++option)
    kdl_nearest_add(&nearest, option->name);
  return kdl_fail(KDL_BAD_CALL, "unknown option '%s'%s%s%s (see '%s --help')", word,
                  nearest.best ? "; did you mean '--" : "", nearest.best ? nearest.best : "",
                  nearest.best ? "'?" : "", cli_report_name());
}

static kdl_status add_setting(cli_args *args, const cli_option *option, const char *value) {
  if (option->arity == CLI_ONCE && cli_args_has(args, option->name))
    return kdl_fail(KDL_BAD_CALL, "--%s is given twice: give it once", option->name);
  args->settings[args->setting_count++] = (cli_setting){option, value};
  return KDL_OK;
}

/* Adds `-lk` as -l -k if every letter is a flag. */
static bool add_flags(const cli_command *command, const char *letters, cli_args *args) {
  size_t count = strlen(letters);
  for (size_t i = 0; i < count; ++i) {
    const cli_option *option = find_option(command, letters + i, 1);
    if (!option || option->arity != CLI_FLAG)
      return false;
  }
  for (size_t i = 0; i < count; ++i)
    args->settings[args->setting_count++] =
        (cli_setting){find_option(command, letters + i, 1), NULL};
  return true;
}

/* `word` starts with a dash and is longer than that; *next is the next word, consumed if needed. */
static kdl_status parse_option(const cli_command *command, const char *word, char ***next,
                               cli_args *args) {
  const char *name = word + (word[1] == '-' ? 2 : 1);
  size_t length = strcspn(name, "=");
  const char *value = name[length] ? name + length + 1 : NULL;
  const cli_option *option = find_option(command, name, length);
  if (!option && word[1] != '-') {
    if (add_flags(command, name, args))
      return KDL_OK;
    option = find_option(command, name, 1); /* -oFILE */
    if (option && option->arity == CLI_FLAG)
      option = NULL;
    value = name + 1;
  }
  if (!option)
    return unknown_option(command, word);
  if (option->arity == CLI_FLAG && value)
    return kdl_fail(KDL_BAD_CALL, "--%s takes no value: leave out '=%s'", option->name, value);
  if (option->arity != CLI_FLAG && !value) {
    if (!**next)
      return kdl_fail(KDL_BAD_CALL, "missing value: use %s%c%s", word, word[1] == '-' ? '=' : ' ',
                      option->value);
    value = *(*next)++;
  }
  return add_setting(args, option, value);
}

static bool asks_for_help(const char *word) {
  return strcmp(word, "--help") == 0 || strcmp(word, "-help") == 0 || strcmp(word, "-h") == 0;
}

/* The end of a word of a form of use; brackets keep words together. */
static size_t form_word(const char *form) {
  size_t length = 0;
  for (int depth = 0; form[length] && form[length] != '\n'; ++length) {
    char letter = form[length];
    if (letter == ' ' && !depth)
      break;
    depth += (letter == '[' || letter == '(') - (letter == ']' || letter == ')');
  }
  return length;
}

/* A form of use without its options: "kdl diff OLD NEW". Returns the number of words. */
static size_t strip_form(const char *form, char *to, size_t room) {
  kdl_out out = {to, room, 0};
  size_t words = 0;
  *to = '\0';
  for (bool is_value = false; *form && *form != '\n';) {
    size_t length = form_word(form), start = strspn(form, "[(");
    bool is_option = form[start] == '-' || strncmp(form, "[OPTION", 7) == 0;
    if (!is_option && !is_value)
      kdl_out_format(&out, "%s%.*s", words++ ? " " : "", (int)length, form);
    is_value = is_option && start == 0 && length == 2; /* -o OUT */
    form += length;
    form += strspn(form, " ");
  }
  return words;
}

static const char *next_form(const char *form) {
  form += strcspn(form, "\n");
  return form + (*form == '\n');
}

/* "kdl bench layers|cold", where the first form of the usage has not all actions. */
static void name_actions(const cli_command *command, char *out, size_t room) {
  const char *actions = command->actions ? command->actions : "";
  const char *last = strrchr(actions, ' ');
  if (!last || strstr(out, last + 1))
    return;
  snprintf(out, room, "kdl %s %s", command->name, actions);
  for (char *at = out + strlen(out) - strlen(actions); *at; ++at)
    *at = *at == ' ' ? '|' : *at;
}

/* Names the operands of the first form, or of the one that takes most. */
static kdl_status check_operands(const cli_command *command, const cli_args *args) {
  char best[256], other[256];
  size_t words = strip_form(command->usage, best, sizeof best);
  if (args->operand_count < command->min_operands) {
    name_actions(command, best, sizeof best);
    return kdl_fail(KDL_BAD_CALL, "missing operand: use %s", best);
  }
  if (args->operand_count <= command->max_operands)
    return KDL_OK;
  const char *surplus = args->operands[command->max_operands], *instead = command->instead;
  if (instead)
    return kdl_fail(KDL_BAD_CALL, "unexpected operand '%s': use %s%s", surplus, instead,
                    instead[strlen(instead) - 1] == '=' ? surplus : "");
  for (const char *form = next_form(command->usage); *form; form = next_form(form)) {
    size_t more = strip_form(form, other, sizeof other);
    if (more > words)
      memcpy(best, other, sizeof best);
    words = more > words ? more : words;
  }
  return kdl_fail(KDL_BAD_CALL, "unexpected operand '%s': use %s", surplus, best);
}

kdl_status cli_args_parse(const cli_command *command, int count, char **words, cli_args *out_args) {
  size_t room = 1; /* a word has at most as many options as letters */
  for (int i = 0; i < count; ++i)
    room += strlen(words[i]);
  *out_args = (cli_args){.settings = xcalloc(room, sizeof *out_args->settings),
                         .operands = xcalloc((size_t)count + 1, sizeof *out_args->operands)};
  bool only_operands = false;
  for (char **next = words; *next;) {
    const char *word = *next++;
    if (only_operands || word[0] != '-' || !word[1]) {
      out_args->operands[out_args->operand_count++] = word;
      out_args->plain_count += !only_operands;
    } else if (strcmp(word, "--") == 0) {
      only_operands = true;
    } else if (strncmp(word, "--color", 7) == 0 && (word[7] == '=' || !word[7])) {
      KDL_TRY(cli_colour_set(word[7] ? word + 8 : "always"));
    } else if (asks_for_help(word)) {
      out_args->help = true;
      return KDL_OK;
    } else {
      KDL_TRY(parse_option(command, word, &next, out_args));
    }
  }
  return check_operands(command, out_args);
}

void cli_args_free(cli_args *args) {
  free(args->settings);
  free(args->operands);
}

const char *cli_args_next(const cli_args *args, const char *name, size_t *cursor) {
  for (size_t i = *cursor; i < args->setting_count; ++i) {
    if (strcmp(args->settings[i].option->name, name) != 0)
      continue;
    *cursor = i + 1;
    return args->settings[i].value;
  }
  return NULL;
}

const char *cli_args_value(const cli_args *args, const char *name) {
  size_t cursor = 0;
  return cli_args_next(args, name, &cursor);
}

bool cli_args_has(const cli_args *args, const char *name) {
  for (size_t i = 0; i < args->setting_count; ++i) {
    if (strcmp(args->settings[i].option->name, name) == 0)
      return true;
  }
  return false;
}

char *cli_args_line(const cli_args *args) {
  char *line = NULL;
  size_t size = 0;
  FILE *out = xtext_stream(&line, &size);
  fputs(cli_report_name(), out);
  for (size_t i = 0; i < args->operand_count; ++i) {
    putc(' ', out);
    kdl_shell_quote(out, args->operands[i]);
  }
  for (size_t i = 0; i < args->setting_count; ++i) {
    fprintf(out, " --%s%s", args->settings[i].option->name, args->settings[i].value ? "=" : "");
    if (args->settings[i].value)
      kdl_shell_quote(out, args->settings[i].value);
  }
  xtext_close(out);
  return line;
}

/* ------------------------------------------------------------------------------------------ */
/* Help                                                                                         */

enum { help_indent = 24, usage_indent = sizeof "usage: " - 1 };

void cli_help_wrap(FILE *file, kdl_string words, size_t at, size_t indent) {
  size_t width = cli_terminal_width();
  cli_text_wrap(file, words, at, indent, width ? width : 80);
}

static kdl_string first_line(const char *text) {
  return (kdl_string){text, strcspn(text, "\n")};
}

const char *cli_option_dashes(const cli_option *option) {
  return option->name[0] >= 'A' && option->name[0] <= 'Z' ? "-" : "--";
}

static void print_option(const cli_option *option) {
  char left[64];
  int used = option->letter ? snprintf(left, sizeof left, "  -%c, ", option->letter)
                            : snprintf(left, sizeof left, "      ");
  snprintf(left + used, sizeof left - (size_t)used, "%s%s%s%s", cli_option_dashes(option),
           option->name, option->value ? "=" : "", option->value ? option->value : "");
  printf("%-*s", help_indent, left);
  if (strlen(left) >= help_indent)
    printf("\n%*s", help_indent, "");
  cli_help_wrap(stdout, kdl_text_of(option->help), help_indent, help_indent);
}

void cli_command_print_usage(const cli_command *command) {
  for (const char *form = command->usage; *form; form = next_form(form)) {
    printf("%-*s", usage_indent, form == command->usage ? "usage:" : "");
    cli_help_wrap(stdout, first_line(form), usage_indent, usage_indent + 4);
  }
}

void cli_command_print_options(const cli_command *command) {
  static const cli_option help = {"help", 'h', CLI_FLAG, NULL, "print this text"};
  static const cli_option color = {"color", 0, CLI_ONCE, "WHEN", "colours: auto, always or never"};
  printf("options:\n");
  for (const cli_option *option = command->options; option->name; ++option)
    print_option(option);
  print_option(&color);
  print_option(&help);
}

void cli_command_help(const cli_command *command) {
  cli_command_print_usage(command);
  putchar('\n');
  cli_help_wrap(stdout, kdl_text_of(command->summary), 0, 0);
  putchar('\n');
  cli_command_print_options(command);
  for (const char *part = command->details; part && *part; part = next_form(part)) {
    putchar('\n');
    cli_help_wrap(stdout, first_line(part), 0, 0);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Extents                                                                                      */

static kdl_status parse_extent(const char *option, const char *words, uint64_t largest,
                               uint64_t out[3]) {
  const char *at = words;
  for (int i = 0; i < 3; ++i) {
    char *end;
    errno = 0;
    out[i] = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
    if (out[i] == 0 || (*end && *end != 'x'))
      return kdl_fail(KDL_BAD_CALL, "--%s: bad value '%s': use X, XxY or XxYxZ, each at least 1",
                      option, words);
    if (errno || out[i] > largest)
      return kdl_fail(KDL_BAD_CALL, "--%s: '%s' is too large: use numbers of at most %" PRIu64,
                      option, words, largest);
    if (!*end) {
      for (int k = i + 1; k < 3; ++k)
        out[k] = 1;
      return KDL_OK;
    }
    at = end + 1;
  }
  return kdl_fail(KDL_BAD_CALL, "--%s: '%s' has too many numbers: use X, XxY or XxYxZ", option,
                  words);
}

kdl_status cli_extent_parse(const char *option, const char *words, uint64_t out[3]) {
  return parse_extent(option, words, UINT64_MAX, out);
}

kdl_status cli_extent_small(const char *option, const char *words, uint32_t out[3]) {
  uint64_t wide[3];
  KDL_TRY(parse_extent(option, words, UINT32_MAX, wide));
  for (int i = 0; i < 3; ++i)
    out[i] = (uint32_t)wide[i];
  return KDL_OK;
}
