/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The rows of the subcommands (tools/common/command.h). */
#include "ext/jit/commands/commands.h"

const cli_command cli_command_link = {
    .name = "link",
    .group = CLI_BUILD,
    .usage = "kdl link FILE --for=DEVICE,... -o OUT [--const=NAME=VALUE]... [--ukernels=PATH]... "
             "[--no-builtin] [--image=SELECT]... [--emit=ir|bitcode|asm] [--keep-bitcode] "
             "[--format=VERSION] [--verbose]",
    .summary = "link bitcode with microkernels into native images, ahead of time",
    .details =
        "For each device and each kernel, the bitcode image that the device would select is "
        "linked with the microkernels it calls, from FILE itself, --ukernels, KDL_UKERNEL_PATH "
        "and the built-in set, and compiled for that device: OUT can be used without a linker. "
        "Native images of FILE are copied. Runs kdl-ld, which needs LLVM; KDL_LD names it. "
        "KDL_DEBUG=link logs each step.",
    .options =
        (const cli_option[]){
            {"for", 0, CLI_MANY, "DEVICE,...", "the devices to link for; may be repeated"},
            {"output", 'o', CLI_ONCE, "OUT", "the output file"},
            {"const", 0, CLI_MANY, "NAME=VALUE", "the value of a constant; may be repeated"},
            {"ukernels", 0, CLI_MANY, "PATH",
             "a fat binary, bitcode file or folder with microkernels, searched after FILE itself "
             "and before KDL_UKERNEL_PATH; may be repeated"},
            {"no-builtin", 0, CLI_FLAG, NULL, "do not use the built-in microkernels"},
            {"image", 0, CLI_MANY, "SELECT", "link only these bitcode images; may be repeated"},
            {"emit", 0, CLI_ONCE, "ir|bitcode|asm",
             "write this stage of one image for one device instead of a library"},
            {"keep-bitcode", 0, CLI_FLAG, NULL, "also keep the bitcode, for other devices"},
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
    .group = CLI_MACHINE,
    .usage = "kdl cache [ls|stat|clear|verify] [--json] [--long]\n"
             "kdl cache warm FILE --for=DEVICE,... [--into=FOLDER]\n"
             "kdl cache export|import FOLDER",
    .summary = "show, check, fill, copy or empty the cache of linked images",
    .details =
        "Entries are images that were linked from bitcode. ls lists them, the least recently used "
        "first. stat, the default, prints where the cache is, whether it is used, and how much it "
        "and each cache tier contain. clear removes every entry. verify reads and checks every "
        "entry; the exit code is 1 if one is damaged, and such an entry is linked again when it "
        "is needed. warm links FILE's bitcode in advance, for devices of any machine: named as "
        "everywhere, or by their line of kdl devices; native is every device of this machine. "
        "export writes the entries into a folder for other machines, as --into does; import reads "
        "such a folder. KDL_CACHE_DIR, KDL_CACHE and KDL_CACHE_SIZE set the folder, whether it is "
        "used (on, ro, off), the cache tiers, and the size limit. ls, clear, export and import "
        "also "
        "take the tables of measured times of the policy adaptive.",
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
