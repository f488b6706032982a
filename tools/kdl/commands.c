/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/kdl/commands.h"

#include "tools/common/report.h"

#include <string.h>

#define ADDRESS(name) &cli_command_##name,
const cli_command *const cli_commands[] = {CLI_COMMANDS(ADDRESS) & cli_command_bench, NULL};

static const char *const group_titles[CLI_GROUPS] = {
    [CLI_ASK] = "Ask what runs",    [CLI_READ] = "Read and compare files",
    [CLI_BUILD] = "Build and link", [CLI_SHIP] = "Ship",
    [CLI_MACHINE] = "This machine", [CLI_RUN] = "Run and measure",
};

const char *cli_command_heading(const cli_command *const *command) {
  bool is_first = command == cli_commands || command[-1]->group != (*command)->group;
  return is_first ? group_titles[(*command)->group] : NULL;
}

const cli_command *cli_command_find(const char *name) {
  const cli_command *const *command = cli_commands;
  while (*command && strcmp((*command)->name, name) != 0)
    ++command;
  return *command;
}

const cli_exit_code cli_exit_codes[CLI_EXIT_CODES] = {
    [CLI_EXIT_SUCCESS] = {"success", "what was asked for is done"},
    [CLI_EXIT_BAD_INPUT] = {"bad input", "a file is damaged or of no known format, the operating "
                                         "system refused, or this build cannot read it"},
    [CLI_EXIT_USAGE_ERROR] = {"usage error", "the command line is wrong"},
    [CLI_EXIT_NO_MATCH] = {"no match", "a SELECT names no image, or a device takes none"},
    [CLI_EXIT_DEVICE_ERROR] = {"device error", "a device or its driver failed"},
};
