/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Subcommands that read and write fat binaries. */
#include "tools/kdl/commands.h"

const cli_command cli_command_ls = {
    .name = "ls",
    .group = CLI_READ,
    .usage = "kdl ls [--json] [--kernels] [--demangle] [--resources] [--device=DEVICE] [--block=N] "
             "[--archs] [--long] FILE...",
    .summary = "list the images of a file: index, kind, triple, arch, size, keys",
    .details =
        "Images nested in another are indented below it. KEYS are the metadata pairs other than "
        "triple and arch; kdl.digest is shown only with --long. Kernel names come from "
        "kdl.kernel.NAME keys where the image has them, else from the image itself. On a terminal "
        "the table fits its width. --resources shows what each kernel declares: registers, spills, "
        "stack, group memory, block, parameters and bytes of code, and with --device how many "
        "subgroups of it a compute unit runs at a time. With several files, --json prints an "
        "array.",
    .options =
        (const cli_option[]){
            {"json", 0, CLI_FLAG, NULL, "print JSON instead of a table"},
            {"kernels", 'k', CLI_FLAG, NULL, "also list the kernels of each image"},
            {"demangle", 'C', CLI_FLAG, NULL,
             "with --kernels: demangle C++ names, by libstdc++.so.6"},
            {"resources", 'r', CLI_FLAG, NULL, "with --kernels: also show what each kernel uses"},
            {"device", 0, CLI_ONCE, "DEVICE", "with --resources: also show its occupancy there"},
            {"block", 0, CLI_ONCE, "N",
             "with --device: work-items of a group; default: the kernel's own or its bound, or "
             "256"},
            {"archs", 0, CLI_FLAG, NULL, "print only the architectures, each once, one per line"},
            {"long", 'l', CLI_FLAG, NULL, "also show stored size, offset, container and digest"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = CLI_ANY,
    .run = cli_run_ls,
};

const cli_command cli_command_pack = {
    .name = "pack",
    .group = CLI_BUILD,
    .usage = "kdl pack -o OUT [--format=VERSION] [--index] [--digest] [--verbose] "
             "--image=file=F,key=value...",
    .summary = "pack images into an OffloadBinary",
    .details =
        "--image has the syntax of llvm-offload-binary. 'kind' is the offload kind: none, openmp, "
        "cuda, hip or sycl. The image kind follows from the file's extension (o, bc, cubin, "
        "fatbin, s, ptx, spv, and cl for OpenCL C, which gets the key kdl.kind=cl), or is bitcode "
        "by the first bytes; 'image_kind' overrides it. Every other key is stored, in the order "
        "given. A comma ends a value. The values of a repeated key are joined with commas; a "
        "repeated 'file' packs each file with the same keys.\n"
        "A missing triple or arch is read from the image, and without a triple also the offload "
        "kind. Code for a CPU without an arch gets a warning: no device admits it. Images with "
        "the same kernel must agree on its sig and rev. The output has the bytes that LLVM's own "
        "writer makes of the same keys in the same order.",
    .options =
        (const cli_option[]){
            {"output", 'o', CLI_ONCE, "OUT", "the output file"},
            {"image", 0, CLI_MANY, "K=V,...",
             "an image: file=F,triple=T,arch=A,kind=K,key=value,...; once per image"},
            {"format", 0, CLI_ONCE, "VERSION",
             "the OffloadBinary version: v1 (default; every LLVM from 15 on reads it), v2 (LLVM 23 "
             "and later), v3, or compressed v3-zstd, v3-zlib (LLVM 24)"},
            {"index", 0, CLI_FLAG, NULL,
             "add a key kdl.kernel.NAME for each kernel, so that readers need not look into the "
             "image"},
            {"digest", 0, CLI_FLAG, NULL,
             "add the key kdl.digest, so that a damaged image is refused when it is loaded"},
            {"verbose", 'v', CLI_FLAG, NULL, "print what was read from the images"},
            {.name = NULL},
        },
    .min_operands = 0,
    .max_operands = 0,
    .instead = "--image=file=",
    .run = cli_run_pack,
};

const cli_command cli_command_extract = {
    .name = "extract",
    .group = CLI_READ,
    .usage = "kdl extract FILE [--image=SELECT]... -o DIR|FILE\n"
             "kdl extract FILE [KERNEL] --for=DEVICE -o DIR|FILE",
    .summary = "write images to separate files, decompressed",
    .details =
        "In a directory (an existing one, or any name that ends in '/'), each image is written to "
        "INDEX-ARCH.EXT, or INDEX-KIND.EXT if it has no arch. Nested images are included: there "
        "is one file for each line of 'kdl ls'.",
    .options =
        (const cli_option[]){
            {"image", 0, CLI_MANY, "SELECT", "the images; default: all; may be repeated"},
            {"for", 0, CLI_ONCE, "DEVICE",
             "the image that this device would select, for KERNEL if one is given"},
            {"output", 'o', CLI_ONCE, "OUT", "a directory, a file for one image, or '-'"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = 2,
    .run = cli_run_extract,
};

const cli_command cli_command_annotate = {
    .name = "annotate",
    .group = CLI_BUILD,
    .usage = "kdl annotate FILE --image=SELECT... [--remove=KEY]... [--digest] [--force] "
             "[key=value]... [-o OUT]",
    .summary = "set or remove metadata of images in an OffloadBinary",
    .details =
        "The file is replaced in one step and keeps its mode; a link to it stays a link. An "
        "existing key keeps its position, a new one goes to the end. 'kind' and 'image_kind' set "
        "the offload kind and the image kind. The values of min_sm, min_gfx, requires_features, "
        "variant_priority, variant_tag and kdl.kernel.NAME must follow their grammar.",
    .options =
        (const cli_option[]){
            {"image", 0, CLI_MANY, "SELECT", "the images to change; may be repeated"},
            {"remove", 0, CLI_MANY, "KEY", "remove a key; may be repeated"},
            {"digest", 0, CLI_FLAG, NULL, "write the digest of the image as kdl.digest"},
            {"force", 0, CLI_FLAG, NULL, "write values that the vocabulary's grammar refuses"},
            {"output", 'o', CLI_ONCE, "OUT",
             "the output file; default: the file itself, '-' for '-'"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = CLI_ANY,
    .run = cli_run_annotate,
};

const cli_command cli_command_verify = {
    .name = "verify",
    .group = CLI_READ,
    .usage = "kdl verify [--key=PUBKEY [--signature=SIG]] [--verbose] [--json] FILE...",
    .summary = "check every image of a file against its metadata",
    .details =
        "Errors: a damaged image or stream, a wrong kdl.digest, a stripped AMD code object, "
        "triple or arch that contradict the image, an index with kernels that the image lacks. "
        "Warnings: bytes that this build cannot decompress, a wrong image kind, repeated keys, no "
        "triple, an incomplete index, images that only their order distinguishes, values and "
        "tokens outside the metadata vocabulary, images that no device admits or that are never "
        "selected, IR with a priority before machine code, conditions without an image for other "
        "launches, kernels whose sig or rev differ between images or contradict the image. "
        "Warnings leave the exit code at 0.",
    .options =
        (const cli_option[]){
            {"key", 0, CLI_ONCE, "PUBKEY",
             "every image must be signed by this minisign public key"},
            {"signature", 0, CLI_ONCE, "SIG",
             "a detached signature of all images of a file, instead of their own"},
            {"verbose", 'v', CLI_FLAG, NULL, "also print notes"},
            {"json", 0, CLI_FLAG, NULL, "print JSON"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = CLI_ANY,
    .run = cli_run_verify,
};

const cli_command cli_command_sign = {
    .name = "sign",
    .group = CLI_SHIP,
    .usage = "kdl sign FILE --key=SECRET [--image=N] [--comment=TEXT] [--detached] [-o OUT]\n"
             "kdl sign FILE --message [--image=N]\n"
             "kdl sign FILE --attach=SIG --image=N [-o OUT]",
    .summary = "sign images, their metadata and their digests, as minisign does",
    .details =
        "Each image gets the keys kdl.digest and kdl.signature. --detached writes one signature "
        "of all images to FILE.minisig; the images must have digests. --message prints the text "
        "to sign, which minisign can sign instead of kdl. KDL_TRUST determines whether libkdl "
        "requires signatures, and /etc/kdl/keys.d has the keys that it accepts.",
    .options =
        (const cli_option[]){
            {"key", 0, CLI_ONCE, "SECRET", "a secret key, made by minisign -G -W"},
            {"image", 0, CLI_ONCE, "N", "sign only image N"},
            {"detached", 0, CLI_FLAG, NULL, "write the signature to FILE.minisig"},
            {"comment", 0, CLI_ONCE, "TEXT", "the trusted comment; default: kdl"},
            {"message", 0, CLI_FLAG, NULL, "print the text to sign: of image N, or of all"},
            {"attach", 0, CLI_ONCE, "SIG", "add minisign's signature of that text to image N"},
            {"output", 'o', CLI_ONCE, "OUT", "the output file; default: the file itself"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = 1,
    .run = cli_run_sign,
};

const cli_command cli_command_embed = {
    .name = "embed",
    .group = CLI_BUILD,
    .usage = "kdl embed IN.o -o OUT.o [--verbose]",
    .summary = "make the images in an object survive the final link",
    .details =
        "For objects made with clang -fembed-offload-object, whose section linkers drop. In the "
        "output the section is named .kdl.offloading, allocated and retained, also under "
        "--gc-sections and strip, and clang-linker-wrapper ignores it.",
    .options =
        (const cli_option[]){
            {"output", 'o', CLI_ONCE, "OUT.o", "the output file; may be the input"},
            {"verbose", 'v', CLI_FLAG, NULL, "print how many sections were changed"},
            {.name = NULL},
        },
    .min_operands = 1,
    .max_operands = 1,
    .run = cli_run_embed,
};
