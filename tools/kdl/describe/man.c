/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/kdl/describe/describe.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_word_character(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static size_t word_length(const char *text, const char *end) {
  size_t length = 0;
  while (text + length < end && is_word_character(text[length]))
    ++length;
  return length;
}

/* Whether a word in capitals is a variable of the command: it occurs in the usage. */
static bool is_variable(const cli_command *command, const char *word, size_t length) {
  if (!isupper((unsigned char)word[0]))
    return false;
  for (const char *at = command->usage; *at;) {
    size_t found = word_length(at, at + strlen(at));
    if (found == length && memcmp(at, word, length) == 0)
      return true;
    at += found ? found : 1;
  }
  return false;
}

void describe_put_mdoc(const char *text, size_t length) {
  for (const char *at = text; at < text + length; ++at) {
    if (*at == '-')
      fputs("\\-", stdout);
    else if (*at == '\'')
      fputs("\\(aq", stdout);
    else if (*at == '\\')
      fputs("\\e", stdout);
    else
      putchar(*at);
  }
}

static void put_font(char font, const char *text, size_t length) {
  printf("\\f%c", font);
  describe_put_mdoc(text, length);
  fputs("\\fR", stdout);
}

/* Options are bold and variables italic. */
static void put_mdoc_text(const cli_command *command, const char *text, size_t length) {
  const char *end = text + length;
  bool is_start = true;
  if (length && (*text == '.' || *text == '\''))
    fputs("\\&", stdout);
  while (text < end) {
    size_t word = word_length(text, end);
    if (is_start && *text == '-' && text + 1 < end &&
        (isalpha((unsigned char)text[1]) || text[1] == '-')) {
      while (text + word < end && (is_word_character(text[word]) || text[word] == '-'))
        ++word;
      put_font('B', text, word);
    } else if (word && is_start && is_variable(command, text, word)) {
      put_font('I', text, word);
    } else {
      word = word ? word : 1;
      describe_put_mdoc(text, word);
    }
    text += word;
    is_start = !is_word_character(text[-1]) && text[-1] != '-' && text[-1] != '.';
  }
}

void describe_man_synopsis(void) {
  puts(".nh");
  for (const cli_command *const *command = cli_commands; *command; ++command) {
    for (const char *form = (*command)->usage; *form;) {
      size_t length = strcspn(form, "\n"), name = strlen("kdl ") + strlen((*command)->name);
      printf(".Nm %.*s\n", (int)name, form);
      if (length > name) {
        put_mdoc_text(*command, form + name + 1, length - name - 1);
        putchar('\n');
      }
      form += length + (form[length] == '\n');
    }
  }
  puts(".hy");
}

static void put_options(const cli_command *command) {
  puts(".Bl -tag -width Ds");
  for (const cli_option *option = command->options; option->name; ++option) {
    fputs(".It ", stdout);
    if (option->letter)
      printf("\\fB\\-%c\\fR, ", option->letter);
    put_font('B', cli_option_dashes(option), strlen(cli_option_dashes(option)));
    put_font('B', option->name, strlen(option->name));
    if (option->value) {
      putchar('=');
      put_font('I', option->value, strlen(option->value));
    }
    putchar('\n');
    put_mdoc_text(command, option->help, strlen(option->help));
    putchar('\n');
  }
  puts(".El");
}

void describe_man_commands(void) {
  for (const cli_command *const *command = cli_commands; *command; ++command) {
    const char *summary = (*command)->summary;
    printf(".Ss kdl %s\n%c", (*command)->name, toupper((unsigned char)summary[0]));
    put_mdoc_text(*command, summary + 1, strlen(summary) - 1);
    puts(".");
    if ((*command)->options->name)
      put_options(*command);
    for (const char *part = (*command)->details; part && *part;) {
      size_t length = strcspn(part, "\n");
      puts(".Pp");
      put_mdoc_text(*command, part, length);
      putchar('\n');
      part += length + (part[length] == '\n');
    }
  }
}

void describe_man_exit_codes(void) {
  for (int code = 0; code < CLI_EXIT_CODES; ++code)
    printf(".It %d\n%s: %s\n", code, cli_exit_codes[code].name, cli_exit_codes[code].when);
}
