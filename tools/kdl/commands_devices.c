/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Subcommands for devices, and for compiling and running kernels. */
#include "tools/kdl/commands.h"

const cli_command cli_command_devices = {
    .name = "devices",
    .group = CLI_MACHINE,
    .usage = "kdl devices [--json] [--all] [--runs [--device=DEVICE]...]\n"
             "kdl devices --known [--json]",
    .summary = "list the devices of this machine, and why a driver is not usable",
    .details =
        "Loads the installed drivers of CUDA, HIP, Level Zero and OpenCL, without creating a "
        "context. A device that several drivers show is listed once, with the others as 'also'. "
        "Devices are listed in the order of preference: discrete GPUs, integrated ones, CPUs. "
        "--runs prints instead which of all known architectures run on each device, the best "
        "first: machine code, code that its driver compiles, levels of a CPU.",
    .options =
        (const cli_option[]){
            {"json", 0, CLI_FLAG, NULL, "print JSON, which --device=@FILE reads on any machine"},
            {"all", 'a', CLI_FLAG, NULL,
             "also print complete specs and every driver; with --runs, also what does not run, "
             "and why"},
            {"runs", 0, CLI_FLAG, NULL, "print the architectures that run on each device"},
            {"known", 0, CLI_FLAG, NULL,
             "print the names that --device takes, of devices that need not be here"},
            {"device", 0, CLI_MANY, "DEVICE",
             "with --runs: a named device, a spec or @FILE instead of the devices of this "
             "machine; may be repeated"},
            {.name = NULL},
        },
    .min_operands = 0,
    .max_operands = 0,
    .run = cli_run_devices,
};

const cli_command cli_command_doctor = {
    .name = "doctor",
    .group = CLI_MACHINE,
    .usage = "kdl doctor",
    .summary = "report what works on this machine: codecs, drivers, kdl-ld, tools, cache, folders",
    .details = "Loads the drivers, as 'kdl devices' does, and starts kdl-ld, which tries what its "
               "confinement should refuse. Also prints the compilers and linkers that are found, "
               "the search folders of libraries and the variables that are set. Writes nothing.",
    .options = (const cli_option[]){{.name = NULL}},
    .min_operands = 0,
    .max_operands = 0,
    .run = cli_run_doctor,
};

const cli_command cli_command_explain = {
    .name = "explain",
    .group = CLI_ASK,
    .usage = "kdl explain FILE [KERNEL] [--device=DEVICE]... [--all] [--policy=POLICY] "
             "[--variant-tag=TAG] [--args=NAME=N,NAME=N] [--matrix] [--long] [--json] [--dot]",
    .summary = "show which image a device would select, and why not the others",
    .details =
        "Lists every image in rank order: '*' is chosen, '+' would also run, '.' is refused, with "
        "its reasons. Many images are grouped by architecture. With KERNEL, only images with that "
        "kernel are ranked; without, the last lines count the modules and kernels that run. If "
        "nothing fits, the nearest image comes first, and the last line names what would help. "
        "For chosen bitcode, the microkernels follow that it would be linked with. For recorded "
        "sequences, slots, kernels and steps come first, unless KERNEL is given. The exit code is "
        "3 if something does not run: on any of the given devices, or with --all and --matrix on "
        "all of them. KDL_DEVICE, KDL_POLICY and KDL_VARIANT_TAG replace missing options.",
    .options =
        (const cli_option[]){
            {"device", 0, CLI_MANY, "DEVICE",
             "a device of this machine (host, cuda:0), a name (h200), a spec (cuda:sm_90 "
             "driver=12.4), or @FILE from 'kdl devices --json'; may be repeated; default: the "
             "device that libkdl would pick on this machine"},
            {"all", 0, CLI_FLAG, NULL, "every device of this machine"},
            {"policy", 0, CLI_ONCE, "POLICY",
             "best (default): variant_priority, then how well an image fits; capability: the "
             "reverse; first: file order, as in LLVM; adaptive: as best, and KERNEL's measured "
             "times "
             "follow"},
            {"variant-tag", 0, CLI_ONCE, "TAG", "images with this variant_tag rank first"},
            {"args", 0, CLI_ONCE, "NAME=N,NAME=N",
             "choose for a launch with these arguments and items (items.x), where images have "
             "conditions (when)"},
            {"matrix", 0, CLI_FLAG, NULL,
             "print one table of images by devices; default: all named devices"},
            {"long", 'l', CLI_FLAG, NULL, "list every image, even if there are more than 32"},
            {"json", 0, CLI_FLAG, NULL, "print JSON"},
            {"dot", 0, CLI_FLAG, NULL, "print recorded sequences as graphs, for Graphviz"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = 2,
    .run = cli_run_explain,
};

const cli_command cli_command_which = {
    .name = "which",
    .group = CLI_ASK,
    .usage = "kdl which FILE KERNEL [--device=DEVICE] [--policy=POLICY] [--variant-tag=TAG] "
             "[--json]",
    .summary = "print the image that a device would select",
    .details =
        "Prints one line: the image's index, architecture and kind. If nothing fits, the exit "
        "code is 3 and the message names the reason; 'kdl explain' prints more.",
    .options =
        (const cli_option[]){
            {"device", 0, CLI_ONCE, "DEVICE", "as for 'kdl explain'"},
            {"policy", 0, CLI_ONCE, "POLICY", "best (default), first, capability or adaptive"},
            {"variant-tag", 0, CLI_ONCE, "TAG", "images with this variant_tag rank first"},
            {"json", 0, CLI_FLAG, NULL, "print JSON"},
            {.name = NULL},
        },
    .min_operands = 2,
    .max_operands = 2,
    .run = cli_run_which,
};

const cli_command cli_command_run = {
    .name = "run",
    .group = CLI_RUN,
    .usage = "kdl run FILE KERNEL --items=N|--grid=N [--block=N] [--shared=BYTES] [--arg=ARG]... "
             "[--const=NAME=VALUE]... [--device=DEVICE] [--image=SELECT]... [--dump=argN]... "
             "[--check=argN:@FILE]... [--tolerance=REL[,ABS]] [--sanitize] [--threads=N] "
             "[--repeat=N] [--time] [--policy=POLICY] [--variant-tag=TAG]\n"
             "kdl run --sequence=FILE [NAME] [--slot=NAME=ARG]... [--library=FILE]... "
             "[--device=DEVICE] [--dump=NAME]... [--check=NAME:@FILE]... [--tolerance=REL[,ABS]] "
             "[--threads=N] [--repeat=N] [--time] [--policy=POLICY] [--variant-tag=TAG]",
    .summary = "launch a kernel, or replay a recorded sequence",
    .details =
        "TYPE is i8 to i64, u8 to u64, f16, bf16, f32 or f64. INIT is zero, iota, a value for all "
        "elements, or @FILE with the bytes. Arguments are named arg0, arg1, ... The first line of "
        "the output names the image that ran. If the best image does not load, the next one is "
        "used, and the output names the reason. A host image is native code: run files that you "
        "trust.\n"
        "With --sequence, NAME is one of the file's sequences; 'kdl explain' shows its slots. A "
        "slot is memory (buf:TYPE[COUNT]=INIT, or zero for zeros of the required size), a number "
        "(TYPE:VALUE) or a count of items (XxYxZ); #3 is the third slot, if it has no name. "
        "--dump and --check then take slots.",
    .options =
        (const cli_option[]){
            {"sequence", 0, CLI_ONCE, "FILE", "replay a sequence that was recorded in FILE"},
            {"slot", 0, CLI_MANY, "NAME=ARG", "with --sequence: the value of a slot"},
            {"library", 0, CLI_MANY, "FILE",
             "with --sequence: a file with kernels that the sequence's file lacks"},
            {"items", 0, CLI_ONCE, "XxYxZ",
             "the size of the problem; the number of groups follows from the block and tile of "
             "the image"},
            {"grid", 0, CLI_ONCE, "XxYxZ", "the number of groups"},
            {"block", 0, CLI_ONCE, "XxYxZ", "work-items per group; default: the image's block"},
            {"shared", 0, CLI_ONCE, "BYTES",
             "dynamic group memory per group; default: what the image needs"},
            {"arg", 0, CLI_MANY, "ARG",
             "the next argument: TYPE:VALUE, buf:TYPE[COUNT]=INIT or bytes:@FILE"},
            {"const", 0, CLI_MANY, "NAME=VALUE", "a constant, for bitcode images"},
            {"device", 0, CLI_ONCE, "DEVICE", "default: the best one that has an image"},
            {"image", 0, CLI_MANY, "SELECT",
             "run one of these images; default: the best one; may be repeated"},
            {"dump", 0, CLI_MANY, "argN", "print a buffer after the launch"},
            {"check", 0, CLI_MANY, "argN:@FILE",
             "compare a buffer with a file after the launch; the exit code is 1 if they differ"},
            {"tolerance", 0, CLI_ONCE, "REL[,ABS]",
             "the largest difference of floating-point numbers in --check: ABS (default 0) plus "
             "REL times the expected number; default: 1.3e-6,1e-5 for f32, 1e-7,1e-7 for f64, "
             "1e-3,1e-5 for f16 and 1.6e-2,1e-5 for bf16"},
            {"sanitize", 0, CLI_FLAG, NULL,
             "interpret the kernel's OpenCL C with Oclgrind: races, barriers in divergent flow "
             "and accesses beyond buffers are errors, with their line; KDL_OCLGRIND names its "
             "library"},
            {"threads", 0, CLI_ONCE, "N",
             "on the CPU: run on N threads at most; default: as many as the process may have"},
            {"repeat", 0, CLI_ONCE, "N", "launch N times, on the same buffers"},
            {"time", 0, CLI_FLAG, NULL, "print the time of the launches, by the device's events"},
            {"policy", 0, CLI_ONCE, "POLICY", "best (default), first, capability or adaptive"},
            {"variant-tag", 0, CLI_ONCE, "TAG", "images with this variant_tag rank first"},
            {.name = NULL},
        },
    .min_operands = 0,
    .max_operands = 2,
    .run = cli_run_run,
};

const cli_command cli_command_trace = {
    .name = "trace",
    .group = CLI_RUN,
    .usage = "kdl trace [-o FILE] [--gpu-time] [--size=BYTES] [--launched=FILE] [--no-launches] "
             "[--no-demangle] [--json=FILE] -- PROGRAM [ARG...]\n"
             "kdl trace report TRACE [--no-demangle] [--folded=FILE] [--json=FILE] [--html=FILE]\n"
             "kdl trace fold TRACE [-o FILE]",
    .summary = "trace what a program loads and launches, and summarize a trace",
    .details =
        "Runs PROGRAM, any program that uses libkdl, with KDL_TRACE set, and returns its exit "
        "code. The trace is written when the program ends; it opens in Perfetto and "
        "chrome://tracing. report prints the time of each phase, kernel and device; fold prints "
        "stacks for flame graphs. With '-' as one of report's files, standard output has nothing "
        "else.\n"
        "Of a program of CUDA or HIP, which need not use libkdl, each module is printed as it is "
        "loaded: its file and image, whether the driver compiled it, bytes and time; at the end, "
        "the kernels that were launched. Where no image fits, 'kdl explain' follows. CUDA needs "
        "libcupti.so, which is found next to the program's CUDA libraries or by KDL_CUPTI.",
    .actions = "report fold",
    .options =
        (const cli_option[]){
            {"output", 'o', CLI_ONCE, "FILE",
             "the trace to write, default kdl-trace.json; for fold, the stacks, default standard "
             "output"},
            {"gpu-time", 0, CLI_FLAG, NULL, "also time each kernel by the device's clock"},
            {"size", 0, CLI_ONCE, "BYTES",
             "memory for events, such as 64M; default 16M, about 260,000 events; further events "
             "are dropped and counted"},
            {"folded", 0, CLI_ONCE, "FILE",
             "report: write folded stacks, for FlameGraph and speedscope"},
            {"launched", 0, CLI_ONCE, "FILE",
             "write the names of the kernels of CUDA or HIP that were launched, for --only of 'kdl "
             "thin' and 'kdl check'"},
            {"no-launches", 0, CLI_FLAG, NULL,
             "of CUDA, follow only what is loaded: launches take no longer"},
            {"no-demangle", 0, CLI_FLAG, NULL, "print C++ names as they are in the file"},
            {"json", 0, CLI_ONCE, "FILE",
             "write modules, failures and launches of CUDA and HIP as JSON; report: the tables"},
            {"html", 0, CLI_ONCE, "FILE",
             "report: write a page with the stacks drawn, that needs nothing else"},
            {.name = NULL},
        },
    .min_operands = 0,
    .max_operands = CLI_ANY,
    .run = cli_run_trace,
};
