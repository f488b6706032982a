/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Subcommands for devices, and for compiling and running kernels. */
#include "tools/kdl/commands.h"

const cli_command cli_command_devices = {
    .name = "devices",
    .usage = "kdl devices [--json] [--all] [--runs [--device=DEVICE]...]",
    .summary = "list the devices of this machine, and why a driver is not usable",
    .details =
        "Loads the drivers of CUDA, HIP, Level Zero and OpenCL where they are installed, and "
        "creates no context. A device that several drivers show is listed once, with the others "
        "as 'also'. Devices come in the order in which they are preferred: discrete GPUs, "
        "integrated ones, CPUs. --runs prints instead what each of them runs of all architectures "
        "that are known: machine code, what its driver compiles, levels of a CPU, the best first.",
    .options =
        (const cli_option[]){
            {"json", 0, CLI_FLAG, NULL, "print JSON, which --device=@FILE reads on any machine"},
            {"all", 'a', CLI_FLAG, NULL,
             "also print every spec in full, and every driver; with --runs, also what does not "
             "run, and why"},
            {"runs", 0, CLI_FLAG, NULL, "the architectures that each device runs"},
            {"device", 0, CLI_MANY, "DEVICE",
             "with --runs: a device with a name, a spec or @FILE instead of those of this "
             "machine; may be repeated"},
            {.name = NULL},
        },
    .min_operands = 0,
    .max_operands = 0,
    .run = cli_run_devices,
};

const cli_command cli_command_doctor = {
    .name = "doctor",
    .usage = "kdl doctor",
    .summary = "report what works on this machine: codecs, drivers, kdl-ld, cache, folders",
    .details =
        "Loads the drivers, as 'kdl devices' does, and starts kdl-ld, which tries what its "
        "confinement should refuse. Also prints the folders that libraries are looked up in and "
        "the variables that are set. Nothing is written.",
    .options = (const cli_option[]){{.name = NULL}},
    .min_operands = 0,
    .max_operands = 0,
    .run = cli_run_doctor,
};

const cli_command cli_command_explain = {
    .name = "explain",
    .usage = "kdl explain FILE [KERNEL] [--device=DEVICE]... [--all] [--policy=POLICY] "
             "[--variant-tag=TAG] [--matrix] [--long] [--json] [--dot]",
    .summary = "show which image a device would take, and why not the others",
    .details =
        "Lists every image in rank order: '*' is chosen, '+' would do, '.' is refused, with its "
        "reasons; where they are many, by architecture. With KERNEL, only images that hold it "
        "take part; without, the last lines count the file's modules and kernels that run. Where "
        "nothing fits, the nearest image goes first, and the end names what would help. Where "
        "bitcode is chosen, the microkernels it would be linked with follow. The exit code is 3 "
        "where something asked for does not run: on one of the devices given, or with --all and "
        "--matrix on every one. Of a recorded sequence, slots, kernels and steps come first, where "
        "no KERNEL is given. KDL_DEVICE, KDL_POLICY and KDL_VARIANT_TAG stand for options not "
        "given.",
    .options =
        (const cli_option[]){
            {"device", 0, CLI_MANY, "DEVICE",
             "a device of this machine (host, cuda:0), a name (h200), a spec (cuda:sm_90 "
             "driver=12.4), or @FILE of 'kdl devices --json'; may be repeated; default: the one "
             "that would be picked on this machine"},
            {"all", 0, CLI_FLAG, NULL, "every device of this machine"},
            {"policy", 0, CLI_ONCE, "POLICY",
             "best (default): variant_priority, then how well an image fits; capability: the other "
             "way round; first: the order of the file, as in LLVM"},
            {"variant-tag", 0, CLI_ONCE, "TAG", "images with this variant_tag go first"},
            {"matrix", 0, CLI_FLAG, NULL,
             "one table of images by devices, by default all with a name"},
            {"long", 'l', CLI_FLAG, NULL, "every image, also where there are more than 32"},
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
    .usage = "kdl which FILE KERNEL [--device=DEVICE] [--policy=POLICY] [--variant-tag=TAG] "
             "[--json]",
    .summary = "print the image that a device would take",
    .details = "One line: the image's index, architecture and kind. Where nothing fits, the exit "
               "code is 3 and the message names the reason; 'kdl explain' prints more.",
    .options =
        (const cli_option[]){
            {"device", 0, CLI_ONCE, "DEVICE", "as for 'kdl explain'"},
            {"policy", 0, CLI_ONCE, "POLICY", "best (default), first or capability"},
            {"variant-tag", 0, CLI_ONCE, "TAG", "images with this variant_tag go first"},
            {"json", 0, CLI_FLAG, NULL, "print JSON"},
            {.name = NULL},
        },
    .min_operands = 2,
    .max_operands = 2,
    .run = cli_run_which,
};

const cli_command cli_command_run = {
    .name = "run",
    .usage = "kdl run FILE KERNEL --items=N|--grid=N [--block=N] [--shared=BYTES] [--arg=ARG]... "
             "[--const=NAME=VALUE]... [--device=DEVICE] [--image=SELECT]... [--dump=argN]... "
             "[--check=argN:@FILE]... [--tolerance=REL[,ABS]] [--sanitize] [--repeat=N] [--time] "
             "[--policy=POLICY] [--variant-tag=TAG]\n"
             "kdl run --sequence=FILE [NAME] [--slot=NAME=ARG]... [--library=FILE]... "
             "[--device=DEVICE] [--dump=NAME]... [--check=NAME:@FILE]... [--tolerance=REL[,ABS]] "
             "[--repeat=N] [--time] [--policy=POLICY] [--variant-tag=TAG]",
    .summary = "launch a kernel, or replay a recorded sequence",
    .details =
        "TYPE is i8 to i64, u8 to u64, f16, bf16, f32 or f64. INIT is zero, iota, a value for all, "
        "or @FILE with the bytes. Arguments count from arg0. The first line of the output names "
        "the image that ran; where the best one does not load, the next one is taken, and that "
        "line names the reason. A host image is native code: run files that you trust.\n"
        "With --sequence, NAME is one of the file's sequences; 'kdl explain' shows its slots. A "
        "slot is memory (buf:TYPE[COUNT]=INIT, or zero for as many zeros as it needs), a number "
        "(TYPE:VALUE) or a count of items (XxYxZ); #3 is the third, where it has no name. --dump "
        "and --check take slots then.",
    .options =
        (const cli_option[]){
            {"sequence", 0, CLI_ONCE, "FILE", "replay what was recorded in FILE"},
            {"slot", 0, CLI_MANY, "NAME=ARG", "with --sequence: what a slot is bound to"},
            {"library", 0, CLI_MANY, "FILE",
             "with --sequence: where kernels are that it does not carry"},
            {"items", 0, CLI_ONCE, "XxYxZ",
             "the size of the problem; groups are counted from the block and tile of the image"},
            {"grid", 0, CLI_ONCE, "XxYxZ", "the number of groups"},
            {"block", 0, CLI_ONCE, "XxYxZ", "work-items in a group; default: those of the image"},
            {"shared", 0, CLI_ONCE, "BYTES",
             "dynamic group memory of a group; default: as the image asks"},
            {"arg", 0, CLI_MANY, "ARG",
             "the next argument: TYPE:VALUE, buf:TYPE[COUNT]=INIT or bytes:@FILE"},
            {"const", 0, CLI_MANY, "NAME=VALUE", "a constant, where the image is bitcode"},
            {"device", 0, CLI_ONCE, "DEVICE", "default: the best one that has an image"},
            {"image", 0, CLI_MANY, "SELECT",
             "run one of these images; default: the one that fits best; may be repeated"},
            {"dump", 0, CLI_MANY, "argN", "print a buffer afterwards"},
            {"check", 0, CLI_MANY, "argN:@FILE",
             "compare a buffer with a file afterwards; the exit code is 1 where they differ"},
            {"tolerance", 0, CLI_ONCE, "REL[,ABS]",
             "how far --check lets numbers with a fraction be off: by ABS (0 where it is not "
             "given) and REL of the expected number; default: 1.3e-6,1e-5 for f32, 1e-7,1e-7 for "
             "f64, 1e-3,1e-5 for f16 and 1.6e-2,1e-5 for bf16"},
            {"sanitize", 0, CLI_FLAG, NULL,
             "let Oclgrind interpret the kernel's OpenCL C: races, barriers in divergent flow and "
             "accesses beyond buffers are errors, with their line; KDL_OCLGRIND names its library"},
            {"repeat", 0, CLI_ONCE, "N", "launch N times, on the same buffers"},
            {"time", 0, CLI_FLAG, NULL,
             "print how long the launches took, by the device's own events"},
            {"policy", 0, CLI_ONCE, "POLICY", "best (default), first or capability"},
            {"variant-tag", 0, CLI_ONCE, "TAG", "images with this variant_tag go first"},
            {.name = NULL},
        },
    .min_operands = 0,
    .max_operands = 2,
    .run = cli_run_run,
};

const cli_command cli_command_trace = {
    .name = "trace",
    .usage = "kdl trace [-o FILE] [--gpu-time] [--size=BYTES] -- PROGRAM [ARG...]\n"
             "kdl trace report TRACE [--folded=FILE] [--json=FILE]\n"
             "kdl trace fold TRACE [-o FILE]",
    .summary = "trace every dispatch of a program, and sum a trace up",
    .details =
        "Runs PROGRAM, any that uses libkdl, with KDL_TRACE set and returns what it returns. The "
        "trace is written when the program ends; it opens in Perfetto and chrome://tracing. "
        "report prints what each layer, kernel and device took; fold prints stacks for flame "
        "graphs. With '-' for one of the files of report, standard output has nothing else.",
    .actions = "report fold",
    .options =
        (const cli_option[]){
            {"output", 'o', CLI_ONCE, "FILE",
             "the trace to write, default kdl-trace.json; of fold, the stacks, default standard "
             "output"},
            {"gpu-time", 0, CLI_FLAG, NULL, "also measure each kernel by the device's clock"},
            {"size", 0, CLI_ONCE, "BYTES",
             "memory for events, as 64M; default 16M, about 260,000 events; what does not fit is "
             "dropped and counted"},
            {"folded", 0, CLI_ONCE, "FILE",
             "report: write folded stacks, for FlameGraph and speedscope"},
            {"json", 0, CLI_ONCE, "FILE", "report: write the tables as JSON"},
            {.name = NULL},
        },
    .min_operands = 0,
    .max_operands = CLI_ANY,
    .run = cli_run_trace,
};
