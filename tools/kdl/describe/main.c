/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * kdl-describe TEMPLATE OUT: copies a text and fills in parts that are generated from the table of
 * commands, of variables, of image kinds or of architectures. A line `@PART@` or `@PART COMMAND@`
 * is replaced by that part. In Markdown the part is between the lines `<!-- @PART COMMAND@ -->` and
 * `<!-- @end@
 * -->`, which stay, so that OUT can be the page itself.
 */
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/device_options.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/kdl/describe/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_command_names(void) {
  for (const cli_command *const *command = cli_commands; *command; ++command)
    printf("  %s\n", (*command)->name);
}

/* The devices that represent their architecture, as in `kdl explain --matrix`. */
static void print_named_devices(void) {
  cli_devices devices;
  kdl_status status = cli_devices_named(&devices);
  if (status != KDL_OK)
    exit(cli_report_status(status));
  for (size_t i = 0; i < devices.count; ++i)
    printf("  %s\n", devices.items[i].name);
  cli_devices_free(&devices);
}

static void print_command_table(void) {
  puts("| group | command | does |\n|---|---|---|");
  for (const cli_command *const *command = cli_commands; *command; ++command) {
    const char *heading = cli_command_heading(command);
    printf("| %s | [`kdl %s`](#kdl-%s) | %s |\n", heading ? heading : "", (*command)->name,
           (*command)->name, (*command)->summary);
  }
}

static void print_exit_table(void) {
  puts("| code | called | when |\n|---|---|---|");
  for (int code = 0; code < CLI_EXIT_CODES; ++code)
    printf("| %d | %s | %s |\n", code, cli_exit_codes[code].name, cli_exit_codes[code].when);
}

static const struct {
  const char *name;
  void (*print)(void);
} parts[] = {
    {"command names", print_command_names},
    {"device names", print_named_devices},
    {"command table", print_command_table},
    {"exit codes", print_exit_table},
    {"man synopsis", describe_man_synopsis},
    {"man commands", describe_man_commands},
    {"man exit codes", describe_man_exit_codes},
    {"bash options", describe_bash_options},
    {"bash actions", describe_bash_actions},
    {"bash values", describe_bash_values},
    {"zsh commands", describe_zsh_commands},
    {"zsh options", describe_zsh_options},
    {"nvidia", describe_nvidia},
    {"image kinds", describe_image_kinds},
    {"man image kinds", describe_man_image_kinds},
    {"image kind term", describe_image_kind_term},
    {"man variables", describe_man_variables},
    {"variables", describe_variable_tables},
};

static kdl_status print_part(const char *name) {
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (strcmp(parts[i].name, name) == 0) {
      parts[i].print();
      return KDL_OK;
    }
  }
  const cli_command *command = strncmp(name, "help ", 5) == 0 ? cli_command_find(name + 5) : NULL;
  if (!command)
    return kdl_fail(KDL_BAD_CALL, "@%s@: there is no such part", name);
  puts("```");
  cli_command_print_usage(command);
  if (command->options->name) {
    putchar('\n');
    cli_command_print_options(command);
  }
  puts("```");
  return KDL_OK;
}

/* The name of the part in a template line, or NULL. */
static char *template_part(const char *line, size_t length) {
  static const char before[] = "<!-- @", after[] = "@ -->";
  kdl_string text = {line, length};
  if (kdl_text_starts(text, before) && kdl_text_has_suffix(text, kdl_text_of(after)))
    return xstrndup(line + sizeof before - 1, length - (sizeof before - 1) - (sizeof after - 1));
  if (length > 2 && line[0] == '@' && line[length - 1] == '@')
    return xstrndup(line + 1, length - 2);
  return NULL;
}

static kdl_status expand_template(void *user) {
  const cli_bytes *template = user;
  const char *end = (const char *)template->data + template->size;
  bool is_old = false; /* in the part that was generated before */
  kdl_status status = KDL_OK;
  for (const char *line = template->data; line < end && status == KDL_OK;) {
    const char *line_end = memchr(line, '\n', (size_t)(end - line));
    size_t length = (size_t)((line_end ? line_end : end) - line);
    char *part = template_part(line, length);
    bool is_end = part && strcmp(part, "end") == 0;
    is_old = is_old && !is_end;
    if (!is_old && (!part || line[0] == '<'))
      printf("%.*s\n", (int)length, line);
    if (part && !is_end) {
      status = print_part(part);
      is_old = line[0] == '<';
    }
    free(part);
    line += length + 1;
  }
  return status;
}

int main(int argc, char **argv) {
  cli_bytes template = {.size = 0};
  cli_program_begin();
  cli_report_set_name("kdl-describe", NULL);
  if (argc != 3)
    return cli_report_status(
        kdl_fail(KDL_BAD_CALL, "missing operand; usage: kdl-describe TEMPLATE OUT"));
  kdl_status status = cli_bytes_read(argv[1], &template);
  if (status == KDL_OK)
    status = cli_output_capture(argv[2], expand_template, &template);
  cli_bytes_free(&template);
  return cli_report_status(status);
}
