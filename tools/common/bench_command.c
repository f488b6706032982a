/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The row of kdl bench, for kdl and for kdl-bench, the program that kdl starts. */
#include "tools/common/command.h"

const cli_command cli_command_bench = {
    .name = "bench",
    .group = CLI_RUN,
    .usage =
        "kdl bench layers|cold|launch [FILE KERNEL] [--device=DEVICE] [--peers=PEER,...] "
        "[--cold=N] [--warm=N] [--grid=N] [--block=N] [--arg=ARG]... [--pin=CPU|none]\n"
        "kdl bench open|select|scale|sequence [--blocks=N] [--pin=CPU|none]\n"
        "kdl bench matmul [FILE] [--types=TYPE,...] [--shapes=MxNxK,...] [--threads=N|all,...] "
        "[--weights=packed|plain,...] [--peers=PEER,...] [--blocks=N] [--pin=CPU|none]\n"
        "kdl bench kernels [FOLDER] [--device=host|cuda:N] [--kernels=NAME,...] "
        "[--sizes=tiny|small|large,...] [--threads=N|all,...] [--peers=PEER,...] [--blocks=N] "
        "[--pin=CPU|none]\n"
        "kdl bench scale [FOLDER] --threads=N|all|powers,... [--kernels=NAME,...] "
        "[--sizes=tiny|small|large,...] [--peers=PEER,...] [--blocks=N]\n"
        "kdl bench compare OLD.json NEW.json [--strict]\n"
        "kdl bench page RESULTS.json... --html=FILE",
    .summary = "measure the cost of each layer of a dispatch",
    .details =
        "layers, cold and launch use FILE KERNEL, or launch an empty kernel. layers measures each "
        "layer of a dispatch, in cold processes and in a warm one; cold and launch are parts of "
        "it. open, select and scale need no device. sequence measures recorded sequences on the "
        "host, and on a CUDA device if there is one, compared with the driver's graphs. matmul "
        "measures matrix multiplication, of FILE or of the library that comes with libkdl, "
        "compared with oneDNN, OpenBLAS and the peak of the CPU. kernels measures the example "
        "kernels and those with barriers, of FOLDER or of the build tree, compared with other "
        "compilers and runtimes. scale with --threads measures kernels and products over the "
        "number "
        "of threads, compared with others and with the limits of the machine. compare compares two "
        "JSON files; page makes the page of --html "
        "from one or several. All but compare write --json, --html, --folded, --trace and --lnt; "
        "one of them may be '-', standard output, which then has nothing else. Ctrl-C prints the "
        "results so far, and returns 130.",
    .actions = "layers cold launch open select scale sequence matmul kernels compare page",
    .options =
        (const cli_option[]){
            {"device", 0, CLI_ONCE, "DEVICE",
             "layers, cold, launch: the device, as 'kdl devices' names it; default: the best with "
             "an image; kernels: host, the default, or cuda:N"},
            {"peers", 0, CLI_ONCE, "PEER,...",
             "what to compare with: driver, driver-library, liboffload, cudart, mlir on CUDA; "
             "opencl on OpenCL; plain, omp on the host; for matmul onednn, openblas; for kernels "
             "pocl, intel, openmp on the host, nvcc on CUDA; for scale also onednn, torch; "
             "default: "
             "all that are installed, without mlir; a named peer that is missing is an error"},
            {"cold", 0, CLI_ONCE, "N", "processes of each peer; default 100"},
            {"warm", 0, CLI_ONCE, "N", "launches of each peer; default 10000"},
            {"blocks", 0, CLI_ONCE, "N",
             "open, select, scale, sequence, matmul, kernels: interleaved blocks; default 60, for "
             "the last two 31"},
            {"grid", 0, CLI_ONCE, "X[xYxZ]", "groups to launch; default 1"},
            {"block", 0, CLI_ONCE, "X[xYxZ]", "work-items per group; default: from the metadata"},
            {"arg", 0, CLI_MANY, "ARG", "an argument, as 'kdl run' takes it"},
            {"types", 0, CLI_ONCE, "bf16|s8|f32|f16,...", "matmul: some of these; default: all"},
            {"shapes", 0, CLI_ONCE, "MxNxK,...",
             "matmul: the sizes, M by K times K by N; default: squares from 64 to 2048, narrow and "
             "odd ones"},
            {"threads", 0, CLI_ONCE, "N|all|powers,...",
             "matmul, kernels: how many; default 1,all; scale: curves over them; powers: 1, 2, 4 "
             "... all"},
            {"weights", 0, CLI_ONCE, "packed|plain,...",
             "matmul: packed (beforehand), plain (packed in each run); default: both"},
            {"kernels", 0, CLI_ONCE, "NAME,...", "kernels: some of them; default: all"},
            {"sizes", 0, CLI_ONCE, "tiny|small|large,...",
             "kernels: some of these; default small,large"},
            {"pin", 0, CLI_ONCE, "CPU|none",
             "the CPU for warm measurements; default: the last CPU"},
            {"json", 0, CLI_ONCE, "FILE", "write everything as JSON: docs/bench.md"},
            {"html", 0, CLI_ONCE, "FILE",
             "write one page with bars of the layers, tables and plots"},
            {"folded", 0, CLI_ONCE, "FILE", "write folded stacks, for flame graphs"},
            {"trace", 0, CLI_ONCE, "FILE", "write a trace, for Perfetto and chrome://tracing"},
            {"lnt", 0, CLI_ONCE, "FILE", "write a report for LNT"},
            {"strict", 0, CLI_FLAG, NULL, "compare: return 1 if something became worse"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = 9,
};
