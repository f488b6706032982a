/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The row of the subcommand (tools/common/command.h). */
#include "cc/command.h"

const cli_command cli_command_cc = {
    .name = "cc",
    .group = CLI_BUILD,
    .usage = "kdl cc FILE --targets=T,T -o OUT [--variant=KEYS:FILE]... [--field=FIELD=VALUE]... "
             "[-x LANG] [-OLEVEL] "
             "[-DNAME=V] [-IDIR] [-WNAME] [--flag=FLAG]... [-MD|-MMD] [-MF FILE] [-MT TARGET] "
             "[-MQ TARGET] [-MP] [--save-temps] [--emit=image|bitcode] [--format=VERSION] [-j N] "
             "[--keep-going] [--clang=PROGRAM] [--verbose]",
    .summary = "compile one file of kernels for many devices",
    .details =
        "The file, in C, C++, OpenCL C, CUDA or HIP, uses the names of Clang's gpuintrin.h, which "
        "kdl/kernel.h also provides for CPUs and OpenCL C. sm_NN is machine code by ptxas, or PTX "
        "without ptxas; compute_NN is PTX; gfxNNN is linked by lld; x86-64-vN, a CPU or armv8-a "
        "is a shared object that kdl loads. The metadata of each image lists its kernels with "
        "parameters, block and tile. If an image fails, nothing is written, unless --keep-going "
        "is given; the exit code is 1 in both cases. Messages are Clang's, each once, with the "
        "targets it applies to. A word @FILE is replaced by the words in FILE.",
    .options =
        (const cli_option[]){
            {"targets", 0, CLI_MANY, "T,T",
             "the targets: sm_90, compute_90, gfx942, gfx11-generic, spirv64 (or spirv64v1.0 to "
             "spirv64v1.6), opencl-c, x86-64-v3, portable, a CPU such as znver4 or native, or a "
             "device such "
             "as h200 or zen4"},
            {"output", 'o', CLI_ONCE, "OUT", "the output file"},
            {"variant", 0, CLI_MANY, "KEYS:FILE",
             "another file: with tag, priority, features or when its images are added, else they "
             "replace those of the first file; targets=PATTERN restricts the targets; "
             "when=CONDITION, as 'n<=16', restricts the launches; define=NAME=V+NAME=V sets "
             "macros"},
            {"field", 0, CLI_MANY, "FIELD=VALUE",
             "a field of each kernel's metadata, for the policy adaptive: shape=m,n,k, for kernels "
             "with parameters of those names, effects=idempotent, trial=safe, numerics=exact; or "
             "specialize=n,alpha,block: values that become constants when they repeat"},
            {"language", 'x', CLI_ONCE, "LANG",
             "c, c++, cl, cuda or hip; default: by the files' suffixes"},
            {"optimize", 'O', CLI_MANY, "LEVEL",
             "0 to 3, s, z, g or fast, as for Clang; default: 3; the last one counts"},
            {"define", 'D', CLI_MANY, "NAME=V", "a macro"},
            {"include", 'I', CLI_MANY, "DIR", "a folder with headers"},
            {"warning", 'W', CLI_MANY, "NAME", "one of Clang's warnings, as in -Wall"},
            {"flag", 0, CLI_MANY, "FLAG",
             "any other word for Clang; -f..., -g..., -m..., -std=..., -pedantic, -U, -isystem, "
             "-iquote, -idirafter, -include, -imacros, -w, -Xclang and -mllvm need no --flag"},
            {"MD", 0, CLI_FLAG, NULL,
             "write a depfile with the included files, OUT with the suffix .d"},
            {"MMD", 0, CLI_FLAG, NULL, "the same, without system headers, including libkdl's"},
            {"MF", 0, CLI_ONCE, "FILE", "the name of the depfile"},
            {"MT", 0, CLI_ONCE, "TARGET", "the target of its rule, unchanged; default: OUT"},
            {"MQ", 0, CLI_ONCE, "TARGET", "the target of its rule, escaped for make"},
            {"MP", 0, CLI_FLAG, NULL, "an empty rule for each header"},
            {"save-temps", 0, CLI_FLAG, NULL, "keep intermediate files, in the folder OUT.temps"},
            {"emit", 0, CLI_ONCE, "image|bitcode",
             "image (default), or bitcode, in which functions may be left undefined for a later "
             "link"},
            {"format", 0, CLI_ONCE, "VERSION", "the OffloadBinary version: see kdl pack"},
            {"jobs", 'j', CLI_ONCE, "N",
             "the number of parallel compilations; default: one per CPU"},
            {"keep-going", 'k', CLI_FLAG, NULL, "write the other images if some fail"},
            {"clang", 0, CLI_ONCE, "PROGRAM", "Clang 22 or later; default: KDL_CLANG, or clang-22"},
            {"verbose", 'v', CLI_FLAG, NULL, "print every command and every image"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = 1,
    .instead = "one kdl cc for each file and kdl merge to join them, or --variant=KEYS:FILE",
    .run = cli_run_cc,
    .rewrite = cli_rewrite_cc,
};
