/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The rows of the subcommands (tools/common/command.h). */
#include "pack/commands.h"

const cli_command cli_command_merge = {
    .name = "merge",
    .group = CLI_BUILD,
    .usage = "kdl merge -o OUT [--format=VERSION] FILE...\n"
             "kdl merge -o OUT [--partial] DIR|MANIFEST [PART...]",
    .summary = "merge files into one OffloadBinary, or the parts of a split file",
    .details =
        "Images keep their order and their metadata; compressed ones are inflated, and nested "
        "images stay in their container. Images with the same kernel must agree on the sig and "
        "rev of its kdl.kernel.NAME keys.\n"
        "Given the output of 'kdl split' (a folder, or a manifest and some of its parts), "
        "restores the original file byte for byte, or with some of the parts what 'kdl thin' "
        "would leave of it. A part that is missing, was changed, or belongs to another file is an "
        "error.",
    .options =
        (const cli_option[]){
            {"output", 'o', CLI_ONCE, "OUT", "the output file"},
            {"format", 0, CLI_ONCE, "VERSION", "the OffloadBinary version; default: v1"},
            {"partial", 0, CLI_FLAG, NULL,
             "for a split file: ignore parts that are missing in the folder"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = CLI_ANY,
    .run = cli_run_merge,
};

const cli_command cli_command_thin = {
    .name = "thin",
    .group = CLI_SHIP,
    .usage = "kdl thin FILE [--for=DEVICE,...]... [--keep=SELECT]... [--strip-to=SELECT]... "
             "[--only=LIST] [--keep-ptx] [--compress] [--sparse] (-o OUT | --in-place | --dry-run) "
             "[--format=VERSION] [--verbose] [--json]",
    .summary = "remove images from a file that devices do not need",
    .details =
        "A file keeps its kind: a shared object or executable, an object, a static archive, a "
        "fatbin, a Clang offload bundle, or a zip archive with such members (a wheel, whose "
        "RECORD is updated). In each fatbin and bundle, the images stay that the devices' own "
        "runtimes would select; the others are removed. A shared object can be loaded as "
        "before.\n"
        "Other files, such as OffloadBinaries, become an OffloadBinary, as does any file with "
        "--format. --for then keeps, for each device and each kernel, the image that 'kdl "
        "explain' would mark as chosen, and the best one of each other form as a fallback: "
        "machine code after code for one architecture, PTX after machine code, and for a CPU with "
        "AMX code without AMX. Each image gets the key kdl.digest; an image with a wrong digest "
        "is an error. With --keep as well, images stay that either option selects. A container "
        "stays complete if one of its images is selected.",
    .options =
        (const cli_option[]){
            {"for", 0, CLI_MANY, "DEVICE,...",
             "keep what these devices would select; may be repeated"},
            {"keep", 0, CLI_MANY, "SELECT", "also keep these images; may be repeated"},
            {"strip-to", 0, CLI_MANY, "SELECT",
             "of the images that would stay, keep only those that this SELECT matches; may be "
             "repeated"},
            {"only", 0, CLI_ONCE, "LIST",
             "of the images that would stay, remove those without a kernel that is named in this "
             "file, one name per line, as 'kdl trace --launched' writes it; '-' is standard input"},
            {"keep-ptx", 0, CLI_FLAG, NULL,
             "also keep PTX in addition to machine code, and the newest for future devices"},
            {"output", 'o', CLI_ONCE, "OUT",
             "the output file; a folder, if it ends in '/', where the file keeps its name"},
            {"in-place", 'i', CLI_FLAG, NULL, "replace FILE itself, completely or not at all"},
            {"dry-run", 'n', CLI_FLAG, NULL, "print what would be removed, write nothing"},
            {"compress", 0, CLI_FLAG, NULL,
             "store the remaining code compressed: NVIDIA's machine code by LZ4, or by zstd if "
             "each device has driver=12.4 or later; AMD's bundles if each device has driver=6.4 "
             "or later"},
            {"sparse", 0, CLI_FLAG, NULL,
             "keep the file's length: removed images become zeros, and holes where the file "
             "system supports them"},
            {"format", 0, CLI_ONCE, "VERSION",
             "write an OffloadBinary of this version; default: that of the input, v1 for other "
             "containers"},
            {"verbose", 'v', CLI_FLAG, NULL, "print why each image is kept or dropped"},
            {"json", 0, CLI_FLAG, NULL, "print what is kept and dropped as JSON"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = 1,
    .run = cli_run_thin,
};

const cli_command cli_command_split = {
    .name = "split",
    .group = CLI_SHIP,
    .usage = "kdl split FILE (-o DIR | --dry-run) [--json]",
    .summary = "split a file into a host part and one bundle per architecture",
    .details =
        "DIR gets the file with zeros (holes) in place of its images, an OffloadBinary with the "
        "images of each architecture, and a manifest with the digests of all. 'kdl merge DIR' "
        "restores the original file. DIR must not exist, or be empty; it appears completely or "
        "not at all.",
    .options =
        (const cli_option[]){
            {"output", 'o', CLI_ONCE, "DIR", "the folder to create"},
            {"dry-run", 'n', CLI_FLAG, NULL, "print what would be written, and write nothing"},
            {"json", 0, CLI_FLAG, NULL, "print JSON"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = 1,
    .run = cli_run_split,
};

const cli_command cli_command_push = {
    .name = "push",
    .group = CLI_SHIP,
    .usage = "kdl push FILE REF [--plain-http]",
    .summary = "store a bundle in a registry or an OCI folder, one layer per image",
    .details =
        "REF is HOST[:PORT]/NAME[:TAG], or oci:DIR[:TAG] for a folder in OCI's image layout; the "
        "default tag is 'latest'. Prints the reference with the digest. Credentials come from "
        "'docker login': config.json in DOCKER_CONFIG or ~/.docker.",
    .options =
        (const cli_option[]){
            {"plain-http", 0, CLI_FLAG, NULL, "do not use TLS; the default only for this machine"},
            {.name = NULL},
        },
    .min_operands = 2,
    .max_operands = 2,
    .run = cli_run_push,
};

const cli_command cli_command_pull = {
    .name = "pull",
    .group = CLI_SHIP,
    .usage = "kdl pull REF [-o OUT] [--for=DEVICE,...] [--dry-run] [--plain-http] [--verbose]",
    .summary = "fetch a bundle, or only the images that devices select",
    .details =
        "REF is as for 'kdl push', or ends with @sha256:... for an exact digest. Images are "
        "selected by the manifest, with the same result as for the complete file: no image is "
        "fetched to be inspected. OUT is an OffloadBinary; without --for it is the file that was "
        "pushed. An interrupted pull resumes.",
    .options =
        (const cli_option[]){
            {"output", 'o', CLI_ONCE, "OUT",
             "the output file; default: the last part of the name, with .offload"},
            {"for", 0, CLI_MANY, "DEVICE,...",
             "the images that these devices select, and their fallbacks; 'native' is every device "
             "of this machine"},
            {"dry-run", 'n', CLI_FLAG, NULL, "print how much would be fetched"},
            {"plain-http", 0, CLI_FLAG, NULL, "do not use TLS; the default only for this machine"},
            {"verbose", 'v', CLI_FLAG, NULL, "print for each image why it is fetched, or not"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = 1,
    .run = cli_run_pull,
};

const cli_command cli_command_check = {
    .name = "check",
    .group = CLI_ASK,
    .usage = "kdl check PATH... [--device=DEVICE]... [--only=LIST] [--allow-partly] [--verbose] "
             "[--kernels] "
             "[--demangle] [--json] [-o FILE]\n"
             "kdl check --process=PID [OPTION...]\n"
             "kdl check [OPTION...] -- PROGRAM [ARG...]",
    .summary = "report which libraries below some paths run on a device, and why not",
    .details =
        "PATH is a file, a folder or an archive (a wheel, zip, tar). Each package with device "
        "code gets a line per device: whether it runs, why not, and what to do. With -v every "
        "library is listed by its kernels: '*' all run as machine code, '+' all run, some "
        "compiled by the driver, '~' enough of them run for yes, '.' it is answered with partly or "
        "no, with the reasons. A runtime that a library is linked against (libcudart.so.N) is "
        "compared with the driver, if the driver's version is known; the version of a statically "
        "linked one is unknown. Links are not followed; files that cannot be read are listed at "
        "the end. The exit code is 3 if an answer is partly or no. KDL_DEVICE replaces a missing "
        "--device.\n"
        "With --process, or a program to run, the files that it maps are checked. The report goes "
        "to standard error; the exit code is the program's unless that is 0.",
    .options =
        (const cli_option[]){
            {"device", 0, CLI_MANY, "DEVICE",
             "as for 'kdl explain'; may be repeated; default: every device of this machine"},
            {"process", 'p', CLI_MANY, "PID",
             "check the files that a process has mapped; may be repeated"},
            {"only", 0, CLI_ONCE, "LIST",
             "check only the kernels that are named in this file, one name per line, as 'kdl trace "
             "--launched' writes it"},
            {"allow-partly", 0, CLI_FLAG, NULL, "exit with 0 also where the answer is 'partly'"},
            {"verbose", 'v', CLI_FLAG, NULL, "list the libraries, and why they do not run"},
            {"kernels", 'k', CLI_FLAG, NULL, "the same, with every kernel that does not run"},
            {"demangle", 'C', CLI_FLAG, NULL, "demangle C++ names"},
            {"json", 0, CLI_FLAG, NULL, "print JSON"},
            {"output", 'o', CLI_ONCE, "FILE", "write the report to this file"},
            {.name = NULL},
        },
    .min_operands = 0,
    .max_operands = CLI_ANY,
    .run = cli_run_check,
};

const cli_command cli_command_diff = {
    .name = "diff",
    .group = CLI_READ,
    .usage = "kdl diff OLD NEW [--device=DEVICE]... [--fail-on=CHANGE,...] [--budget=FILE] "
             "[--long] [--demangle] [--json | --markdown] [-o FILE]",
    .summary = "compare the kernels of two files, packages or folders",
    .details =
        "OLD and NEW are files, folders or archives (a wheel, zip, tar), as for 'kdl check'. "
        "Kernels are matched by name and target, whatever hashes compilers put into names; a "
        "kernel with a new name and the same code was renamed. CHANGE is one of: removed, lost "
        "(the kernel is there, but not for this target any more), hollow (its code does nothing "
        "now), spills, stack, registers (so many more that fewer groups run at a time), shared, "
        "signature, size (a tenth and 1 KiB larger), code, renamed, moved (to another library), "
        "gained, added; or any. Code is compared without addresses, names and notes.\n"
        "With --device, only kernels count that one of the devices runs, and lost means that one "
        "of them does not run the kernel any more, in any form. The exit code is 3 if there is a "
        "change of --fail-on, or a limit of the budget is exceeded. A line of a budget is 'LIMIT "
        "MOST [TARGET [KERNELS]]': LIMIT is registers, spills, stack, shared or code_bytes of each "
        "new kernel, or a CHANGE, whose number is limited; TARGET and KERNELS are patterns.",
    .options =
        (const cli_option[]){
            {"device", 0, CLI_MANY, "DEVICE", "as for 'kdl explain'; may be repeated"},
            {"fail-on", 0, CLI_MANY, "CHANGE,...",
             "exit with 3 if there is such a change; may be repeated"},
            {"budget", 0, CLI_ONCE, "FILE", "exit with 3 if a limit in this file is exceeded"},
            {"long", 'l', CLI_FLAG, NULL, "list every kernel with a change"},
            {"demangle", 'C', CLI_FLAG, NULL, "demangle C++ names"},
            {"json", 0, CLI_FLAG, NULL, "print JSON"},
            {"markdown", 0, CLI_FLAG, NULL, "print Markdown, for a comment on a pull request"},
            {"output", 'o', CLI_ONCE, "FILE", "write the report to this file"},
            {.name = NULL},
        },
    .min_operands = 2,
    .max_operands = 2,
    .run = cli_run_diff,
};
