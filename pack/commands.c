/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The rows of the subcommands (tools/common/command.h). */
#include "pack/commands.h"

const cli_command cli_command_merge = {
    .name = "merge",
    .usage = "kdl merge -o OUT [--format=VERSION] FILE...\n"
             "kdl merge -o OUT [--partial] DIR|MANIFEST [PART...]",
    .summary = "put the images of several files into one OffloadBinary, or a split file together",
    .details =
        "Images keep their order and their metadata; compressed ones are inflated, and what is "
        "nested in an image stays in it. Images that hold one kernel must agree on the sig and "
        "rev of its kdl.kernel.NAME keys.\n"
        "Given what 'kdl split' wrote (a folder, or a manifest and some of its parts), it makes "
        "the file that was split again, byte for byte, or with some parts what 'kdl thin' would "
        "leave of it. A part that is missing, was altered, or is of another file is an error.",
    .options =
        (const cli_option[]){
            {"output", 'o', CLI_ONCE, "OUT", "where to write"},
            {"format", 0, CLI_ONCE, "VERSION", "the OffloadBinary version; default: v1"},
            {"partial", 0, CLI_FLAG, NULL,
             "of a split file: do without the parts that are not in the folder"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = CLI_ANY,
    .run = cli_run_merge,
};

const cli_command cli_command_thin = {
    .name = "thin",
    .usage = "kdl thin FILE [--for=DEVICE,...]... [--keep=SELECT]... [--strip-to=SELECT]... "
             "[--keep-ptx] [--compress] [--sparse] (-o OUT | --in-place | --dry-run) "
             "[--format=VERSION] [--verbose] [--json]",
    .summary = "keep some of a file's images",
    .details =
        "A file stays what it is: a shared object or executable, an object, a static archive, a "
        "fatbin, a Clang offload bundle, or a zip archive (a wheel, whose RECORD is written anew) "
        "with such members. Of every fatbin and bundle in it remains what the devices' own "
        "runtimes would choose there, and the rest leaves the file. A shared object is loaded as "
        "before.\n"
        "Other files, OffloadBinaries among them, become an OffloadBinary, as any file does with "
        "--format: --for then keeps, for each device and each kernel, the image that 'kdl "
        "explain' would mark as chosen and behind it the best one of each other form: machine "
        "code behind code for one architecture, PTX behind machine code, and for a CPU with AMX "
        "code that does without. Each image gets the key kdl.digest; one whose digest differs "
        "from that key is an error. With --keep as well, images stay that either asks for. An "
        "image that holds others is kept whole where one of them fits.",
    .options =
        (const cli_option[]){
            {"for", 0, CLI_MANY, "DEVICE,...",
             "keep what these devices would choose; may be repeated"},
            {"keep", 0, CLI_MANY, "SELECT", "also keep these images; may be repeated"},
            {"strip-to", 0, CLI_MANY, "SELECT",
             "of what stays, only what this SELECT fits; may be repeated"},
            {"keep-ptx", 0, CLI_FLAG, NULL,
             "also keep PTX where there is machine code, and the newest for devices to come"},
            {"output", 'o', CLI_ONCE, "OUT",
             "where to write; in a folder, where it ends in '/', by the name that the file had"},
            {"in-place", 'i', CLI_FLAG, NULL, "write to FILE itself, whole or not at all"},
            {"dry-run", 'n', CLI_FLAG, NULL, "print what would go and stay, write nothing"},
            {"compress", 0, CLI_FLAG, NULL,
             "store what stays compressed: NVIDIA's machine code by LZ4, or by zstd where each "
             "device has driver=12.4 or later; AMD's bundles where each device has driver=6.4 or "
             "later"},
            {"sparse", 0, CLI_FLAG, NULL,
             "keep the file's length: what goes becomes zeros, and holes where the file system "
             "has them"},
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
    .usage = "kdl split FILE (-o DIR | --dry-run) [--json]",
    .summary = "split a file into a host part and one bundle for each architecture",
    .details =
        "DIR gets the file with zeros (holes) where its images lay, an OffloadBinary with the "
        "images of each architecture, and a manifest with the digests of all. 'kdl merge DIR' "
        "makes the same file of them again. DIR must not exist, or be empty; it appears whole or "
        "not at all.",
    .options =
        (const cli_option[]){
            {"output", 'o', CLI_ONCE, "DIR", "the folder to make"},
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
    .usage = "kdl push FILE REF [--plain-http]",
    .summary = "put a bundle into a registry or an OCI folder, a layer for each image",
    .details =
        "REF is HOST[:PORT]/NAME[:TAG], or oci:DIR[:TAG] for a folder in OCI's image layout; the "
        "tag is 'latest' where there is none. What is pushed is printed, by its digest. "
        "Credentials come from the file of 'docker login': config.json in DOCKER_CONFIG or "
        "~/.docker.",
    .options =
        (const cli_option[]){
            {"plain-http", 0, CLI_FLAG, NULL,
             "without TLS, which else is done on this machine alone"},
            {.name = NULL},
        },
    .min_operands = 2,
    .max_operands = 2,
    .run = cli_run_push,
};

const cli_command cli_command_pull = {
    .name = "pull",
    .usage = "kdl pull REF [-o OUT] [--for=DEVICE,...] [--dry-run] [--plain-http] [--verbose]",
    .summary = "fetch a bundle, or only the images that devices choose",
    .details =
        "REF is as for 'kdl push', or ends with @sha256:... for what has that digest and no "
        "other. Devices choose by the manifest, as the library does with the file before it: no "
        "image is fetched to be looked at. OUT is an OffloadBinary; without --for it is the file "
        "that was pushed. A pull that was interrupted goes on where it ended.",
    .options =
        (const cli_option[]){
            {"output", 'o', CLI_ONCE, "OUT",
             "where to write; default: the last part of the name, and .offload"},
            {"for", 0, CLI_MANY, "DEVICE,...",
             "the images that these devices choose, and may fall back on; 'native' is every "
             "device of this machine"},
            {"dry-run", 'n', CLI_FLAG, NULL, "print how much would be fetched"},
            {"plain-http", 0, CLI_FLAG, NULL,
             "without TLS, which else is done on this machine alone"},
            {"verbose", 'v', CLI_FLAG, NULL, "print of each image why it is fetched, or not"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = 1,
    .run = cli_run_pull,
};

const cli_command cli_command_check = {
    .name = "check",
    .usage = "kdl check PATH... [--device=DEVICE]... [--strict] [--verbose] [--kernels] "
             "[--demangle] [--json] [-o FILE]\n"
             "kdl check --process=PID [OPTION...]\n"
             "kdl check [OPTION...] -- PROGRAM [ARG...]",
    .summary = "report what of the libraries below some paths runs on a device, and why not",
    .details =
        "PATH is a file, a folder or an archive (a wheel, zip, tar). Each package "
        "with device code gets a line for each device: whether it runs, why not, and what to do. "
        "With -v every library of it is listed, judged by its kernels: '*' all run as machine "
        "code, '+' all run, some compiled by the driver, '~' it is built for the device and has "
        "kernels for others, '.' it does not run or lacks kernels, with the reasons. A runtime "
        "that a library is linked against (libcudart.so.N) is held against the driver, where its "
        "version is known; of one that is linked into it the version is not. Links are not "
        "followed; what cannot be read is named at the end. The exit code is 3 where something "
        "does not run. KDL_DEVICE stands for --device.\n"
        "With --process, or a program to run, the files that it maps are checked; the program's "
        "exit code comes first, and what is found goes to standard error.",
    .options =
        (const cli_option[]){
            {"device", 0, CLI_MANY, "DEVICE",
             "as for 'kdl explain'; may be repeated; default: every device of this machine"},
            {"process", 'p', CLI_MANY, "PID",
             "check the files that a process maps; may be repeated"},
            {"strict", 0, CLI_FLAG, NULL,
             "count kernels that do not run also where a library is built for the device"},
            {"verbose", 'v', CLI_FLAG, NULL, "list the libraries, and why they do not run"},
            {"kernels", 'k', CLI_FLAG, NULL, "the same, with every kernel that does not run"},
            {"demangle", 'C', CLI_FLAG, NULL, "demangle C++ names"},
            {"json", 0, CLI_FLAG, NULL, "print JSON"},
            {"output", 'o', CLI_ONCE, "FILE", "write what is found there"},
            {.name = NULL},
        },
    .min_operands = 0,
    .max_operands = CLI_ANY,
    .run = cli_run_check,
};
