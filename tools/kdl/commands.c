/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The subcommands as data, in the order of `kdl --help`: what each is called, what it takes, and
 * what its help says. What it does is in its own file. */
#include "commands.h"

#include <string.h>

const cli_command cli_commands[] = {
    {
        .name = "ls",
        .usage = "kdl ls [--json] [--kernels] [--demangle] [--archs] [--long] FILE...",
        .summary = "list the images of a file: index, kind, triple, arch, size, keys",
        .details =
            "Images nested in another are indented below it. KEYS are the metadata pairs other "
            "than triple and arch, and kdl.digest only with --long. Kernel names come from "
            "kdl.kernel.NAME keys where the image "
            "has them, else from the image itself. With several files, --json prints an array.",
        .options =
            (const cli_option[]){
                {"json", 0, CLI_FLAG, NULL, "print JSON instead of a table"},
                {"kernels", 'k', CLI_FLAG, NULL, "also list the kernels of each image"},
                {"demangle", 'C', CLI_FLAG, NULL, "with --kernels: demangle C++ names"},
                {"archs", 0, CLI_FLAG, NULL, "print just the architectures, each once, one a line"},
                {"long", 'l', CLI_FLAG, NULL,
                 "also show stored size, offset, container and digest"},
                {.name = NULL},
            },
        .min_operands = 1,
        .max_operands = CLI_ANY,
        .run = cli_run_ls,
    },
    {
        .name = "pack",
        .usage =
            "kdl pack -o OUT [--format=VERSION] [--index] [--digest] --image=file=F,key=value...",
        .summary = "put images into an OffloadBinary",
        .details =
            "--image takes what llvm-offload-binary takes. 'kind' is the offload kind: none, "
            "openmp, cuda, hip or sycl. The image kind follows from the file's extension (o, "
            "bc, cubin, fatbin, s, spv, and cl for OpenCL C, which gets the key kdl.kind=cl), or "
            "bitcode "
            "from its first bytes; 'image_kind' overrides it. Every other key is stored, in the "
            "order "
            "given. A comma ends a value; "
            "a repeated key collects its values with commas, and a repeated 'file' packs each "
            "file with the same keys. Where triple or arch is not given, the image is asked; "
            "where triple is not given, it is asked for the offload kind too. Images that hold one "
            "kernel must agree on its sig and rev.",
        .options =
            (const cli_option[]){
                {"output", 'o', CLI_ONCE, "OUT", "where to write"},
                {"image", 0, CLI_MANY, "K=V,...",
                 "an image: file=F,triple=T,arch=A,kind=K,key=value,...; once per image"},
                {"format", 0, CLI_ONCE, "VERSION",
                 "the OffloadBinary version: v1 (default; every LLVM reads it), v2 (LLVM 23 and "
                 "later), v3, "
                 "or compressed v3-zstd, v3-zlib (LLVM 24)"},
                {"index", 0, CLI_FLAG, NULL,
                 "add a key kdl.kernel.NAME for each kernel, so that readers need not look into "
                 "the image"},
                {"digest", 0, CLI_FLAG, NULL,
                 "add the key kdl.digest, by which a damaged image is told"},
                {"verbose", 'v', CLI_FLAG, NULL, "say what was read from the images"},
                {.name = NULL},
            },
        .min_operands = 0,
        .max_operands = 0,
        .run = cli_run_pack,
    },
    {
        .name = "extract",
        .usage = "kdl extract FILE [--image=SELECT] [--for=DEVICE [KERNEL]] -o DIR|FILE",
        .summary = "write images to files of their own, decompressed",
        .details =
            "Into a directory (an existing one, or any name that ends in '/'), each image goes "
            "to INDEX-ARCH.EXT, with its kind where it has no arch. Nested images count: there "
            "is one file for each line of 'kdl ls'.",
        .options =
            (const cli_option[]){
                {"image", 0, CLI_MANY, "SELECT", "which images; default: all; may be repeated"},
                {"for", 0, CLI_ONCE, "DEVICE",
                 "the image that this device would choose, for KERNEL where one is given"},
                {"output", 'o', CLI_ONCE, "OUT", "a directory, a file for one image, or '-'"},
                {.name = NULL},
            },
        .min_operands = 1,
        .max_operands = 2,
        .run = cli_run_extract,
    },
    {
        .name = "annotate",
        .usage =
            "kdl annotate FILE --image=SELECT [--remove=KEY] [--digest] [key=value...] [-o OUT]",
        .summary = "set or remove metadata of images in an OffloadBinary",
        .details =
            "The file is replaced in one step and keeps its mode; a link to it stays a link. A "
            "key that is there keeps its place, a new one goes to the end. 'kind' and "
            "'image_kind' set the offload kind and the image kind. The values of min_sm, min_gfx, "
            "requires_features, variant_priority, variant_tag and kdl.kernel.NAME must be what "
            "their grammar says.",
        .options =
            (const cli_option[]){
                {"image", 0, CLI_MANY, "SELECT", "which images to change; may be repeated"},
                {"remove", 0, CLI_MANY, "KEY", "remove a key; may be repeated"},
                {"digest", 0, CLI_FLAG, NULL, "write the digest of the image as kdl.digest"},
                {"force", 0, CLI_FLAG, NULL, "write values that the vocabulary's grammar refuses"},
                {"output", 'o', CLI_ONCE, "OUT",
                 "where to write; default: the file itself, '-' for '-'"},
                {.name = NULL},
            },
        .min_operands = 1,
        .max_operands = CLI_ANY,
        .run = cli_run_annotate,
    },
    {
        .name = "merge",
        .usage = "kdl merge -o OUT [--format=VERSION] FILE... | kdl merge -o OUT DIR [PART...]",
        .summary =
            "put the images of several files into one OffloadBinary, or a split file together",
        .details =
            "Given what 'kdl split' wrote (a folder, or a manifest and some of its parts), it "
            "makes "
            "the file that was split again, byte for byte, or with some parts that file thinned to "
            "them. Given other files: "
            "Images keep their order and their metadata; compressed ones are inflated. What is "
            "nested in an image stays inside it. Images that hold one kernel must agree on the sig "
            "and rev of its kdl.kernel.NAME keys.",
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
    },
    {
        .name = "thin",
        .usage = "kdl thin FILE --for=DEVICE,... (-o OUT | --in-place | --dry-run) [OPTION...]",
        .summary = "keep some of a file's images",
        .details =
            "A file stays what it is: a shared object or executable, an object, a static archive, "
            "a fatbin, a Clang offload bundle, or a zip archive (a wheel, whose RECORD is written "
            "anew) with such members. Of every fatbin and bundle in it remains "
            "what the devices' own runtimes would choose there, and the rest leaves the file. A "
            "shared object is loaded as before. Other files, OffloadBinaries among them, become an "
            "OffloadBinary, as any file does with "
            "--format: --for then keeps, for each device and each kernel, the image that 'kdl "
            "explain' would mark as chosen and behind it the best one of each other form: machine "
            "code behind code for one architecture, PTX behind machine code, and for a CPU with "
            "AMX code that does without. Each image gets the key kdl.digest. With --keep as well, "
            "images stay that either asks for. An image that holds others is kept whole where one "
            "of them fits.",
        .options =
            (const cli_option[]){
                {"for", 0, CLI_MANY, "DEVICE,...",
                 "keep what these devices would choose; may be repeated"},
                {"keep", 0, CLI_MANY, "SELECT", "also keep these images; may be repeated"},
                {"strip-to", 0, CLI_MANY, "TERMS",
                 "of what stays, only what this SELECT fits; may be repeated"},
                {"keep-ptx", 0, CLI_FLAG, NULL,
                 "also keep PTX beside machine code, and the newest for devices to come"},
                {"output", 'o', CLI_ONCE, "OUT", "where to write; DIR/: there, by the same name"},
                {"in-place", 'i', CLI_FLAG, NULL, "write to FILE itself, whole or not at all"},
                {"dry-run", 'n', CLI_FLAG, NULL, "say what would go and stay, write nothing"},
                {"compress", 0, CLI_FLAG, NULL,
                 "store what stays compressed, as the devices' drivers read it"},
                {"sparse", 0, CLI_FLAG, NULL,
                 "keep the file's length: what goes becomes zeros, in holes"},
                {"format", 0, CLI_ONCE, "VERSION",
                 "write an OffloadBinary of this version; default: that of the input, v1 for other "
                 "containers"},
                {"verbose", 'v', CLI_FLAG, NULL, "say why each image is kept or dropped"},
                {"json", 0, CLI_FLAG, NULL, "print what is kept and dropped as JSON"},
                {.name = NULL},
            },
        .min_operands = 1,
        .max_operands = 1,
        .run = cli_run_thin,
    },
    {
        .name = "split",
        .usage = "kdl split FILE -o DIR [--dry-run] [--json]",
        .summary = "split a file into a host part and one bundle for each architecture",
        .details =
            "DIR gets the file with zeros (holes) where its images lay, an OffloadBinary with the "
            "images of each architecture, and a manifest with the digests of all. 'kdl merge DIR' "
            "makes the same file of them again. DIR must not exist, or be empty.",
        .options =
            (const cli_option[]){
                {"output", 'o', CLI_ONCE, "DIR", "the folder to make"},
                {"dry-run", 'n', CLI_FLAG, NULL, "say what would be written, and write nothing"},
                {"json", 0, CLI_FLAG, NULL, "print JSON"},
                {.name = NULL},
            },
        .min_operands = 1,
        .max_operands = 1,
        .run = cli_run_split,
    },
    {
        .name = "link",
        .usage = "kdl link FILE --for=DEVICE,... -o OUT [--const=NAME=VALUE] [--emit=STAGE]",
        .summary = "link bitcode with microkernels into native images, ahead of time",
        .details =
            "For each device and each kernel, the bitcode image that the device would take is "
            "linked with the microkernels it calls, from FILE itself, --ukernels, "
            "KDL_UKERNEL_PATH and the built-in set, and compiled for that device: OUT needs no "
            "linker where it is used. Native images of FILE are kept as they are. Runs kdl-ld, "
            "which needs LLVM; KDL_LD names it. KDL_DEBUG=link tells the message.",
        .options =
            (const cli_option[]){
                {"for", 0, CLI_MANY, "DEVICE,...", "the devices to link for; may be repeated"},
                {"output", 'o', CLI_ONCE, "OUT", "where to write"},
                {"const", 0, CLI_MANY, "NAME=V", "the value of a constant; may be repeated"},
                {"ukernels", 0, CLI_MANY, "PATH",
                 "a fat binary, bitcode file or folder with microkernels, asked after FILE itself "
                 "and before "
                 "KDL_UKERNEL_PATH; may be repeated"},
                {"no-builtin", 0, CLI_FLAG, NULL, "do without the built-in microkernels"},
                {"image", 0, CLI_MANY, "SELECT", "link these bitcode images only; may be repeated"},
                {"emit", 0, CLI_ONCE, "STAGE",
                 "write ir, bitcode or asm of one image for one device instead of a library"},
                {"keep-bitcode", 0, CLI_FLAG, NULL,
                 "keep the bitcode too, for devices that were not linked for"},
                {"format", 0, CLI_ONCE, "VERSION",
                 "the OffloadBinary version; default: that of the input, v1 for other containers"},
                {"verbose", 'v', CLI_FLAG, NULL,
                 "say which microkernels were linked, and why no others"},
                {.name = NULL},
            },
        .min_operands = 1,
        .max_operands = 1,
        .run = cli_run_link,
    },
    {
        .name = "verify",
        .usage = "kdl verify [--key=KEY [--signature=SIG]] [--verbose] [--json] FILE...",
        .summary = "check every image of a file against its metadata",
        .details =
            "Errors: a damaged image or stream, a kdl.digest that the image does not have, a "
            "stripped AMD code object, triple or arch that "
            "contradict the image, an "
            "index that names kernels it lacks. Warnings: bytes that this build cannot unpack, "
            "a wrong image kind, repeated keys, no triple, an index with gaps, images that only "
            "their order tells apart; values and tokens that the metadata vocabulary does not "
            "know, images that no device takes or that are always passed over, IR that a "
            "priority puts before machine code, kernels whose sig or rev differ between images "
            "or contradict the image. Warnings leave the exit code at 0.",
        .options =
            (const cli_option[]){
                {"key", 0, CLI_ONCE, "KEY",
                 "every image must be signed by this public key of minisign's"},
                {"signature", 0, CLI_ONCE, "SIG",
                 "the signature of all images of a file, in place of their own"},
                {"verbose", 'v', CLI_FLAG, NULL, "also print notes"},
                {"json", 0, CLI_FLAG, NULL, "print JSON"},
                {.name = NULL},
            },
        .min_operands = 1,
        .max_operands = CLI_ANY,
        .run = cli_run_verify,
    },
    {
        .name = "sign",
        .usage = "kdl sign FILE --key=SECRET [--image=N] [--detached] [-o OUT]",
        .summary = "sign images, their metadata and their digests, as minisign does",
        .details =
            "Each image gets the keys kdl.digest and kdl.signature. --detached writes one "
            "signature of all images to FILE.minisig; their digests must be there. KDL_TRUST says "
            "whether libkdl asks for signatures, and /etc/kdl/keys.d has the keys it takes. "
            "With --message what is signed is printed, which minisign can sign in kdl's place.",
        .options =
            (const cli_option[]){
                {"key", 0, CLI_ONCE, "SECRET", "a secret key of minisign -G -W"},
                {"image", 0, CLI_ONCE, "N", "sign image N alone"},
                {"detached", 0, CLI_FLAG, NULL, "write the signature beside the file"},
                {"comment", 0, CLI_ONCE, "TEXT", "the trusted comment; default: kdl"},
                {"message", 0, CLI_FLAG, NULL, "print what is signed: of image N, or of all"},
                {"attach", 0, CLI_ONCE, "SIG", "put minisign's signature of it into image N"},
                {"output", 'o', CLI_ONCE, "OUT", "where to write; default: the file itself"},
                {.name = NULL},
            },
        .min_operands = 1,
        .max_operands = 1,
        .run = cli_run_sign,
    },
    {
        .name = "push",
        .usage = "kdl push FILE REF [--plain-http]",
        .summary = "put a bundle into a registry or an OCI folder, a layer for each image",
        .details =
            "REF is HOST[:PORT]/NAME[:TAG], or oci:DIR[:TAG] for a folder in OCI's image layout; "
            "the tag is 'latest' where there is none. What is pushed is printed, by its digest. "
            "Credentials come from the file of 'docker login'.",
        .options =
            (const cli_option[]){
                {"plain-http", 0, CLI_FLAG, NULL,
                 "without TLS, which else is done on this machine alone"},
                {.name = NULL},
            },
        .min_operands = 2,
        .max_operands = 2,
        .run = cli_run_push,
    },
    {
        .name = "pull",
        .usage = "kdl pull REF [-o OUT] [--for=DEVICE,...] [--dry-run] [--verbose]",
        .summary = "fetch a bundle, or only the images that devices choose",
        .details =
            "REF is as for 'kdl push', or ends with @sha256:... for what has that digest and no "
            "other. Devices choose by the manifest, as the library does with the file before it: "
            "no image is fetched to be looked at. OUT is an OffloadBinary; without --for it is "
            "the file that was pushed. A pull that was interrupted goes on where it ended.",
        .options =
            (const cli_option[]){
                {"output", 'o', CLI_ONCE, "OUT",
                 "where to write; default: the last part of the name, and .offload"},
                {"for", 0, CLI_MANY, "DEVICE,...",
                 "the images that these devices choose, and may fall back on; 'native' is every "
                 "device of this machine"},
                {"dry-run", 'n', CLI_FLAG, NULL, "say how much would be fetched"},
                {"plain-http", 0, CLI_FLAG, NULL,
                 "without TLS, which else is done on this machine alone"},
                {"verbose", 'v', CLI_FLAG, NULL, "say of each image why it is fetched, or not"},
                {.name = NULL},
            },
        .min_operands = 1,
        .max_operands = 1,
        .run = cli_run_pull,
    },
    {
        .name = "embed",
        .usage = "kdl embed IN.o -o OUT.o",
        .summary = "make the images in an object survive the final link",
        .details =
            "For objects made with clang -fembed-offload-object, whose section linkers drop. In "
            "the output it is called .kdl.offloading, allocated and retained, also under "
            "--gc-sections and strip, and clang-linker-wrapper leaves it alone.",
        .options =
            (const cli_option[]){
                {"output", 'o', CLI_ONCE, "OUT.o", "where to write; may be the input"},
                {"verbose", 'v', CLI_FLAG, NULL, "say how many sections were changed"},
                {.name = NULL},
            },
        .min_operands = 1,
        .max_operands = 1,
        .run = cli_run_embed,
    },
    {
        .name = "devices",
        .usage = "kdl devices [--json] [--all] [--runs [--device=DEVICE]...]",
        .summary = "list the devices of this machine, and why a driver is not usable",
        .details =
            "Loads the drivers of CUDA, HIP, Level Zero and OpenCL where they are installed, and\n"
            "creates no context. A device that several drivers show is listed once, with the\n"
            "others as 'also'. Devices come in the order in which they are preferred. --runs says\n"
            "instead what each of them runs of all architectures that are known: machine code,\n"
            "what its driver compiles, levels of a CPU, the best first.\n",
        .options =
            (const cli_option[]){
                {"json", 0, CLI_FLAG, NULL,
                 "print JSON, which --device=@FILE reads on any machine"},
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
    },
    {
        .name = "doctor",
        .usage = "kdl doctor",
        .summary = "say what works here: codecs, drivers, kdl-ld and its rights, cache, folders",
        .details =
            "Loads the drivers, as 'kdl devices' does, and starts kdl-ld, which tries what it\n"
            "may not do. Nothing is written.\n",
        .options = (const cli_option[]){{.name = NULL}},
        .min_operands = 0,
        .max_operands = 0,
        .run = cli_run_doctor,
    },
    {
        .name = "explain",
        .usage = "kdl explain FILE [KERNEL] [--device=DEVICE] [--matrix] [--long] [--json] [--dot]",
        .summary = "say which image a device would take, and why not the others",
        .details =
            "Lists every image in rank order: '*' is chosen, '+' would do, '.' is refused, with "
            "its reasons; where they are many, by architecture. With KERNEL, only images that "
            "hold it take part; without, the last lines say how many of the file's modules and "
            "kernels run. The exit code is 3 where something asked for does not run: on one of "
            "the devices given, or with --all and --matrix on every one. Of a recorded sequence, "
            "slots, kernels and steps come first, where no KERNEL is given. KDL_DEVICE, KDL_POLICY "
            "and KDL_VARIANT_TAG stand for options not given.",
        .options =
            (const cli_option[]){
                {"device", 0, CLI_MANY, "DEVICE",
                 "a device of this machine (host, cuda:0), a name (h200), a spec (cuda:sm_90 "
                 "driver=12.4), or "
                 "@FILE of 'kdl devices --json'; may be repeated; default: the one that would be "
                 "picked here"},
                {"all", 0, CLI_FLAG, NULL, "every device of this machine"},
                {"policy", 0, CLI_ONCE, "POLICY", "best (default), first or capability"},
                {"variant-tag", 0, CLI_ONCE, "T", "images with this variant_tag go first"},
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
    },
    {
        .name = "which",
        .usage = "kdl which FILE KERNEL [--device=DEVICE] [--policy=POLICY] [--json]",
        .summary = "print the image that a device would take",
        .details =
            "One line: the image's index, architecture and kind. Where nothing fits, the exit "
            "code is 3 and the message says why; 'kdl explain' says more.",
        .options =
            (const cli_option[]){
                {"device", 0, CLI_ONCE, "DEVICE", "as for 'kdl explain'"},
                {"policy", 0, CLI_ONCE, "POLICY", "best (default), first or capability"},
                {"variant-tag", 0, CLI_ONCE, "T", "images with this variant_tag go first"},
                {"json", 0, CLI_FLAG, NULL, "print JSON"},
                {.name = NULL},
            },
        .min_operands = 2,
        .max_operands = 2,
        .run = cli_run_which,
    },
    {
        .name = "check",
        .usage = "kdl check PATH... | --process=PID | -- PROGRAM [ARG...]",
        .summary = "say what of the libraries below some paths runs on a device, and why not",
        .details =
            "PATH is a file, a folder, an archive (a wheel, tar) or a package (deb, rpm). Each "
            "package with device code gets a line for each device: whether it runs, why not, and "
            "what to do. With -v every library of it is listed, judged by its kernels: '*' all run "
            "as machine code, '+' all run, some compiled by the driver, '~' it is built for the "
            "device and has kernels for others, '.' it does not run or lacks kernels, with the "
            "reasons. A runtime that a library is linked against (libcudart.so.N) is held against "
            "the driver, where its version is known; of one that is linked into it the version is "
            "not. Links are not followed. The "
            "exit code is 3 where something does not run. KDL_DEVICE stands for --device. With "
            "--process, or a program to run, the files that it maps are checked; the program's "
            "exit code comes first, and what is found goes to standard error.",
        .options =
            (const cli_option[]){
                {"device", 0, CLI_MANY, "DEVICE",
                 "as for 'kdl explain'; may be repeated; default: every device of this machine"},
                {"process", 'p', CLI_MANY, "PID", "check the files that a process maps"},
                {"strict", 0, CLI_FLAG, NULL,
                 "count kernels that do not run also where a library is built for the device"},
                {"verbose", 'v', CLI_FLAG, NULL, "list the libraries, and why they do not run"},
                {"kernels", 'k', CLI_FLAG, NULL, "the same, with every kernel that does not run"},
                {"demangle", 'C', CLI_FLAG, NULL, "demangle C++ names"},
                {"json", 0, CLI_FLAG, NULL, "print JSON"},
                {"output", 'o', CLI_ONCE, "F", "write what is found there"},
                {.name = NULL},
            },
        .min_operands = 0,
        .max_operands = CLI_ANY,
        .run = cli_run_check,
    },
    {
        .name = "run",
        .usage = "kdl run FILE KERNEL --items=N|--grid=N [...] | kdl run --sequence=FILE [...]",
        .summary = "launch a kernel, or replay a recorded sequence",
        .details =
            "TYPE is i8 to i64, u8 to u64, f16, bf16, f32 or f64. INIT is zero, iota, a value for "
            "all, or "
            "@FILE with the bytes. Arguments count from arg0. The first line of the output tells "
            "which image ran. A host image is native code: run files that you trust. With "
            "--sequence, NAME says which of the file's sequences is meant; 'kdl explain' shows its "
            "slots. A slot is memory (buf:TYPE[COUNT]=INIT, or zero for as many zeros as it "
            "needs), "
            "a number (TYPE:VALUE) or a count of items (XxYxZ); #3 is the third, where it has no "
            "name. --dump and --check take slots then.",
        .options =
            (const cli_option[]){
                {"sequence", 0, CLI_ONCE, "FILE", "replay what was recorded in FILE"},
                {"slot", 0, CLI_MANY, "NAME=ARG", "with --sequence: what a slot is bound to"},
                {"library", 0, CLI_MANY, "FILE",
                 "with --sequence: where kernels are that it does not carry"},
                {"items", 0, CLI_ONCE, "XxYxZ",
                 "the size of the problem; groups follow from the image"},
                {"grid", 0, CLI_ONCE, "XxYxZ", "the number of groups"},
                {"block", 0, CLI_ONCE, "XxYxZ",
                 "work-items in a group; default: as the image says"},
                {"shared", 0, CLI_ONCE, "BYTES",
                 "dynamic group memory of a group; default: as the image asks"},
                {"arg", 0, CLI_MANY, "ARG",
                 "the next argument: TYPE:VALUE, buf:TYPE[COUNT]=INIT or bytes:@FILE"},
                {"const", 0, CLI_MANY, "K=V", "a constant, where the image is bitcode"},
                {"device", 0, CLI_ONCE, "DEVICE", "default: the best one that has an image"},
                {"image", 0, CLI_MANY, "SELECT",
                 "run one of these images; default: the one that fits best; may be repeated"},
                {"dump", 0, CLI_MANY, "argN", "print a buffer afterwards"},
                {"check", 0, CLI_MANY, "argN:@F", "compare a buffer with a file afterwards"},
                {"tolerance", 0, CLI_ONCE, "R,A",
                 "how far --check lets numbers with a fraction be off, relative and absolute "
                 "(default: 0); default: that of their type"},
                {"sanitize", 0, CLI_FLAG, NULL,
                 "let Oclgrind interpret the kernel's OpenCL C: races, barriers in divergent flow "
                 "and accesses beyond buffers are errors, with their line"},
                {"repeat", 0, CLI_ONCE, "N", "launch so often"},
                {"time", 0, CLI_FLAG, NULL, "print how long the launches took"},
                {"policy", 0, CLI_ONCE, "POLICY", "best (default), first or capability"},
                {"variant-tag", 0, CLI_ONCE, "TAG", "images with this variant_tag go first"},
                {.name = NULL},
            },
        .min_operands = 0,
        .max_operands = 2,
        .run = cli_run_run,
    },
    {
        .name = "cc",
        .usage = "kdl cc FILE --targets=T,T -o OUT [--variant=KEYS:FILE]... [OPTION...]",
        .summary = "compile one file of kernels for many devices",
        .details =
            "The file uses the names of Clang's gpuintrin.h, which kdl/kernel.h also gives to CPUs "
            "and OpenCL C. sm_NN is machine code by ptxas, or PTX where there is none; compute_NN "
            "is PTX; gfxNNN is linked by lld; x86-64-vN, a CPU or armv8-a is a shared object that "
            "kdl loads. Each image's kernels, their parameters, block and tile are written into "
            "its "
            "metadata. Where an image fails nothing is written, unless --keep-going.",
        .options =
            (const cli_option[]){
                {"targets", 0, CLI_MANY, "T,T",
                 "what to compile for: sm_90, compute_90, gfx942, gfx11-generic, spirv64, "
                 "opencl-c, x86-64-v3, "
                 "native, or a device as h200 or zen4"},
                {"output", 'o', CLI_ONCE, "OUT", "where to write"},
                {"variant", 0, CLI_MANY, "KEYS:F",
                 "another file: with tag, priority or features its images are added, else they "
                 "take the "
                 "place of the first file's; targets=PATTERN says for which targets"},
                {"language", 'x', CLI_ONCE, "LANG",
                 "c, c++, cl, cuda or hip; default: as the files' suffixes say"},
                {"optimize", 'O', CLI_MANY, "LEVEL",
                 "0 to 3, s, z, g or fast, as for Clang; default: 3"},
                {"define", 'D', CLI_MANY, "NAME=V", "a macro"},
                {"include", 'I', CLI_MANY, "DIR", "where to look for headers"},
                {"warning", 'W', CLI_MANY, "NAME", "one of Clang's warnings, as in -Wall"},
                {"flag", 0, CLI_MANY, "FLAG",
                 "any other word for Clang; -f..., -g..., -m..., -std=..., -U, -isystem, -include, "
                 "-w and -Xclang need no --flag"},
                {"MD", 0, CLI_FLAG, NULL,
                 "write what the source includes into a depfile, OUT with the suffix .d"},
                {"MMD", 0, CLI_FLAG, NULL,
                 "the same, without headers of the system, libkdl's among them"},
                {"MF", 0, CLI_ONCE, "FILE", "where to write the depfile"},
                {"MT", 0, CLI_ONCE, "TARGET", "the target of its rule, as it is; default: OUT"},
                {"MQ", 0, CLI_ONCE, "TARGET", "the target of its rule, escaped for make"},
                {"MP", 0, CLI_FLAG, NULL, "an empty rule for each header"},
                {"save-temps", 0, CLI_FLAG, NULL,
                 "keep what is made on the way, in the folder OUT.temps"},
                {"emit", 0, CLI_ONCE, "KIND",
                 "image (default), or bitcode, in which functions may be left undefined for a "
                 "later link"},
                {"format", 0, CLI_ONCE, "VERSION", "the OffloadBinary version: see kdl pack"},
                {"jobs", 'j', CLI_ONCE, "N", "compile so many at once; default: one per CPU"},
                {"keep-going", 'k', CLI_FLAG, NULL, "write the other images where some fail"},
                {"clang", 0, CLI_ONCE, "PROGRAM", "default: KDL_CLANG, or clang-22"},
                {"verbose", 'v', CLI_FLAG, NULL, "print every command, and what was made"},
                {.name = NULL},
            },
        .min_operands = 1,
        .max_operands = 1,
        .run = cli_run_cc,
        .rewrite = cli_rewrite_cc,
    },
    {
        .name = "cache",
        .usage = "kdl cache [ls|stat|clear|verify|warm FILE|export DIR|import DIR] [OPTION]",
        .summary = "show, check, fill, copy or empty the cache of linked images",
        .details =
            "ls lists the entries, the least recently used first; stat, which is also what is "
            "done without a word, says where the cache lies and how much it holds; clear "
            "removes every entry; verify reads every entry and checks it. Entries are images "
            "that were linked from bitcode. warm links FILE's bitcode in advance, for devices "
            "that need not be here: a device is named as everywhere, or by its line of kdl devices "
            "on its machine. export writes the entries into a folder in which they mean "
            "the same on every machine, as --into does; import takes them from there. "
            "KDL_CACHE_DIR, KDL_CACHE and KDL_CACHE_SIZE say "
            "where the cache lies, whether it is used (on, ro, off), which folders are behind it, "
            "and how large it may become.\n",
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
    },
    {
        .name = "trace",
        .usage = "kdl trace [OPTION...] -- PROGRAM [ARG...] | kdl trace report|fold TRACE",
        .summary = "trace every dispatch of a program, and sum a trace up",
        .details =
            "Runs PROGRAM with KDL_TRACE set and returns what it returns. The trace is written "
            "when the program ends; it opens in Perfetto and chrome://tracing. report prints "
            "what each layer, kernel and device took; fold prints stacks for flame graphs.",
        .options =
            (const cli_option[]){
                {"output", 'o', CLI_ONCE, "F",
                 "the trace to write, default kdl-trace.json; of fold, the stacks, default "
                 "standard output"},
                {"gpu-time", 0, CLI_FLAG, NULL, "also measure each kernel by the device's clock"},
                {"size", 0, CLI_ONCE, "BYTES",
                 "memory for events, as 64M; default 16M, about 260,000 events"},
                {"folded", 0, CLI_ONCE, "F",
                 "report: write folded stacks, for FlameGraph and speedscope"},
                {"json", 0, CLI_ONCE, "F", "report: write the tables as JSON"},
                {NULL, 0, CLI_FLAG, NULL, NULL},
            },
        .min_operands = 0,
        .max_operands = CLI_ANY,
        .run = cli_run_trace,
    },
};
const size_t cli_command_count = sizeof cli_commands / sizeof *cli_commands;

const cli_command *cli_command_find(const char *name) {
  for (size_t i = 0; i < cli_command_count; ++i) {
    if (strcmp(cli_commands[i].name, name) == 0)
      return &cli_commands[i];
  }
  return NULL;
}
