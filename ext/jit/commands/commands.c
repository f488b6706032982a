/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The rows of the subcommands (tools/common/command.h). */
#include "ext/jit/commands/commands.h"

const cli_command cli_command_link = {
    .name = "link",
    .usage = "kdl link FILE --for=DEVICE,... -o OUT [--const=NAME=VALUE]... [--ukernels=PATH]... "
             "[--no-builtin] [--image=SELECT]... [--emit=ir|bitcode|asm] [--keep-bitcode] "
             "[--format=VERSION] [--verbose]",
    .summary = "link bitcode with microkernels into native images, ahead of time",
    .details =
        "For each device and each kernel, the bitcode image that the device would take is linked "
        "with the microkernels it calls, from FILE itself, --ukernels, KDL_UKERNEL_PATH and the "
        "built-in set, and compiled for that device: OUT needs no linker where it is used. Native "
        "images of FILE are kept as they are. Runs kdl-ld, which needs LLVM; KDL_LD names it. "
        "KDL_DEBUG=link logs each step.",
    .options =
        (const cli_option[]){
            {"for", 0, CLI_MANY, "DEVICE,...", "the devices to link for; may be repeated"},
            {"output", 'o', CLI_ONCE, "OUT", "where to write"},
            {"const", 0, CLI_MANY, "NAME=VALUE", "the value of a constant; may be repeated"},
            {"ukernels", 0, CLI_MANY, "PATH",
             "a fat binary, bitcode file or folder with microkernels, asked after FILE itself and "
             "before KDL_UKERNEL_PATH; may be repeated"},
            {"no-builtin", 0, CLI_FLAG, NULL, "do without the built-in microkernels"},
            {"image", 0, CLI_MANY, "SELECT", "link these bitcode images only; may be repeated"},
            {"emit", 0, CLI_ONCE, "ir|bitcode|asm",
             "write this stage of one image for one device instead of a library"},
            {"keep-bitcode", 0, CLI_FLAG, NULL,
             "keep the bitcode too, for devices that were not linked for"},
            {"format", 0, CLI_ONCE, "VERSION",
             "the OffloadBinary version; default: that of the input, v1 for other containers"},
            {"verbose", 'v', CLI_FLAG, NULL,
             "print which microkernels were linked, and why no others"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = 1,
    .run = cli_run_link,
};

const cli_command cli_command_cache = {
    .name = "cache",
    .usage = "kdl cache [ls|stat|clear|verify] [--json] [--long]\n"
             "kdl cache warm FILE --for=DEVICE,... [--into=FOLDER]\n"
             "kdl cache export|import FOLDER",
    .summary = "show, check, fill, copy or empty the cache of linked images",
    .details =
        "Entries are images that were linked from bitcode. ls lists them, the least recently used "
        "first; stat, which is also the default, prints where the cache lies, whether it is used, "
        "and how much it and each folder behind it holds; clear removes every entry; verify reads "
        "every entry and checks it, and the exit code is 1 where one is damaged: it is made anew "
        "when it is needed. warm links FILE's bitcode in advance, for devices of any machine: a "
        "device is named as everywhere, or by its line of kdl devices on its machine; native is "
        "every device of this one. export writes the entries into a folder in which they mean the "
        "same on every machine, as --into does; import takes them from there. KDL_CACHE_DIR, "
        "KDL_CACHE and KDL_CACHE_SIZE set where the cache lies, whether it is used (on, ro, off), "
        "which folders are behind it, and how large it may become.",
    .actions = "ls stat clear verify warm export import",
    .options =
        (const cli_option[]){
            {"json", 0, CLI_FLAG, NULL, "ls and stat: print JSON"},
            {"long", 'l', CLI_FLAG, NULL, "ls: also show everything that an image depends on"},
            {"for", 0, CLI_MANY, "DEVICE,...", "warm: the devices to link for"},
            {"into", 0, CLI_ONCE, "FOLDER", "warm: a folder for other machines"},
            {.name = NULL},
        },
    .min_operands = 0,
    .max_operands = 2,
    .run = cli_run_cache,
};
