/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The row of the subcommand (tools/common/command.h). */
#include "ext/adaptive/commands/commands.h"

const cli_command cli_command_tune = {
    .name = "tune",
    .group = CLI_RUN,
    .usage = "kdl tune FILE KERNEL --shapes=SHAPE,... --items=XxYxZ --arg=ARG... "
             "[--device=DEVICE] [--trials=N] [--timeout=SECONDS] [--variant-tag=TAG] [-o OUT]",
    .summary = "measure the variants of a kernel ahead of time",
    .details =
        "For each shape, launches the kernel under the policy adaptive until its class of "
        "problems is decided, and prints the times. They are stored next to the cache, where each "
        "later process of this user finds them; -o also puts them into a copy of the library, for "
        "other users and machines with the same devices. A shape is a number for each parameter "
        "that the kernel's field shape names, joined by 'x' (512x512x64), or NAME=NUMBER joined "
        "by '+'. In --items and --arg, a name stands for its number, and names and numbers may be "
        "multiplied: --arg='buf:f32[m*k]=1' --arg=u32:m --items=mxn. A variant that does not end "
        "within the time limit, or ends the process, is excluded, and the others are measured.",
    .options =
        (const cli_option[]){
            {"shapes", 0, CLI_MANY, "SHAPE,...", "the problems to measure; may be repeated"},
            {"items", 0, CLI_ONCE, "XxYxZ", "the size of a launch, as for kdl run, with names"},
            {"arg", 0, CLI_MANY, "ARG",
             "the next argument: TYPE:VALUE or buf:TYPE[COUNT]=INIT, with names"},
            {"device", 0, CLI_ONCE, "DEVICE", "default: the best one that has an image"},
            {"trials", 0, CLI_ONCE, "N", "at most so many for each class; default: 1000"},
            {"timeout", 0, CLI_ONCE, "SECONDS", "the longest time of one launch; default: 30"},
            {"variant-tag", 0, CLI_ONCE, "TAG", "images with this variant_tag rank first"},
            {"output", 'o', CLI_ONCE, "OUT", "a copy of FILE that carries the times"},
            {.name = NULL},
        },
    .min_operands = 2,
    .max_operands = 2,
    .run = cli_run_tune,
};
