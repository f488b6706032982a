/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * libkdl: the kernel dynamic linker.
 *
 * libkdl does for compute kernels what ld.so does for functions. A *library* is any fat binary: an
 * OffloadBinary, a Clang offload bundle, a CUDA fatbin, an ELF or COFF file or archive that carries
 * one of them, or a single device image. Opening it gives a flat list of *images*, one per compiled
 * variant, without reading the images themselves.
 *
 *     kdl_library *lib;
 *     if (kdl_open("./saxpy.offload", NULL, &lib) != KDL_OK) {
 *       fprintf(stderr, "%s\n", kdl_error_message());
 *       return 1;
 *     }
 *     for (size_t i = 0; i < kdl_image_count(lib); ++i) {
 *       kdl_image_info info = {.size = sizeof info};
 *       kdl_image_get(lib, i, &info);
 *       printf("%zu %s %s\n", i, info.triple.data, info.arch.data);
 *     }
 *     kdl_close(lib);
 *
 * Errors. A function that can fail returns kdl_status. kdl_error_message() then gives the calling
 * thread one line: the file, the offset or key, what was found and what was expected. A function
 * without a status returns 0, NULL or "" when it fails, and sets the message. NULL for a required
 * pointer is KDL_BAD_CALL. Destroy, release and close functions accept NULL.
 *
 * Structs. Option and result structs begin with `size`, which the caller sets to sizeof, so that
 * they can grow. Out-parameters come last and are written only on success.
 *
 * Threads. Functions may be called from any thread. Several threads may use one library at once; it
 * must not be closed while one of them uses it. No function is a cancellation point
 * (pthread_cancel), except that launches, kdl_sequence_run and kdl_sync leave cancellation as the
 * thread has set it while they call a GPU's driver. No function may be called from a signal
 * handler; none fails because of a signal. docs/launching.md has more, and describes fork.
 */
#ifndef KDL_KDL_H
#define KDL_KDL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KDL_VERSION_MAJOR 0
#define KDL_VERSION_MINOR 1
#define KDL_VERSION_PATCH 0

#if defined(__GNUC__)
#define KDL_API __attribute__((visibility("default")))
#else
#define KDL_API
#endif

/* The version of libkdl that was loaded, as "0.1.0"; compare with the KDL_VERSION_* macros. */
KDL_API const char *kdl_version(void);

/* ------------------------------------------------------------------------------------------ */
/* Errors                                                                                       */

typedef enum kdl_status {
  KDL_OK = 0,
  KDL_BAD_FILE = 1,    /* the bytes are not what their format promises                          */
  KDL_BAD_CALL = 2,    /* an argument is wrong                                                  */
  KDL_NO_MATCH = 3,    /* nothing fits the request                                              */
  KDL_DEVICE = 4,      /* a device or its driver failed                                         */
  KDL_IO = 5,          /* the operating system refused: no such file, full disk, no permission  */
  KDL_NO_MEMORY = 6,   /* an allocation failed, or a documented limit of memory was reached     */
  KDL_UNSUPPORTED = 7, /* valid, but this build or this machine lacks what it takes to read it  */
} kdl_status;

/* "bad file", "bad call", ...: a few words for a status; never NULL. */
KDL_API const char *kdl_status_name(kdl_status status);

/* The message of the last failure on the calling thread; "" if there was none. Valid until the next
 * libkdl call on this thread that fails. */
KDL_API const char *kdl_error_message(void);

/* The number that the driver or the operating system gave for that failure (a CUresult, an errno,
 * ...), which the message names; 0 where neither gave one. With KDL_BAD_FILE, ENODATA means a valid
 * PE/COFF file without device code. */
KDL_API int64_t kdl_error_code(void);

/* Records a failure for the calling thread and returns `status`: for libraries built on libkdl. */
KDL_API kdl_status kdl_error_set(kdl_status status, const char *message);

/* Sends what KDL_DEBUG would print to `log`. Each call of `log` has one line, without its newline,
 * and may come from any thread. `topics` is as in KDL_DEBUG ("load,select", "all"). With a NULL
 * `log`, KDL_DEBUG applies again. No other thread may be in a libkdl function during kdl_set_log.
 */
KDL_API void kdl_set_log(const char *topics,
                         void (*log)(void *user, const char *topic, const char *line), void *user);

/* ------------------------------------------------------------------------------------------ */
/* Libraries and their images                                                                   */

typedef struct kdl_library kdl_library;

/* Bytes with a length. `data` is followed by a NUL that `length` does not count, so that text can
 * be printed with %s; a value may contain NULs. `data` is never NULL. */
typedef struct kdl_string {
  const char *data;
  size_t length;
} kdl_string;

typedef struct kdl_pair {
  kdl_string key;
  kdl_string value;
} kdl_pair;

/* What the bytes of an image are. The image's first bytes decide; the kind that a container
 * declares is a hint, because some producers write 0 for SPIR-V. OpenCL C has no magic number: the
 * key kdl.kind names it. */
typedef enum kdl_image_kind {
  KDL_IMAGE_UNKNOWN = 0,
  KDL_IMAGE_OBJECT,  /* an ELF file for a CPU: relocatable or shared           */
  KDL_IMAGE_BITCODE, /* LLVM bitcode                                           */
  KDL_IMAGE_CUBIN,   /* NVIDIA machine code                                    */
  KDL_IMAGE_PTX,     /* NVIDIA assembly, compiled by the driver                */
  KDL_IMAGE_LTOIR,   /* NVIDIA link-time IR                                    */
  KDL_IMAGE_HSACO,   /* AMD code object                                        */
  KDL_IMAGE_SPIRV,   /* SPIR-V module                                          */
  KDL_IMAGE_ZEBIN,   /* Intel GPU machine code                                 */
  KDL_IMAGE_FATBIN,  /* a CUDA fatbin, itself a container                      */
  KDL_IMAGE_BUNDLE,  /* a Clang offload bundle, itself a container             */
  KDL_IMAGE_OFFLOAD, /* an OffloadBinary, itself a container                   */
  KDL_IMAGE_CL,      /* OpenCL C source, compiled by the driver                */
  /* A recorded sequence, which holds no code: kdl_sequence_open. */
  KDL_IMAGE_SEQUENCE,
  KDL_IMAGE_TILEIR, /* CUDA Tile IR, compiled by the driver */
} kdl_image_kind;

/* "cubin", "spirv", ...: the names `kdl ls` prints; "unknown" for values outside the enum. */
KDL_API const char *kdl_image_kind_name(kdl_image_kind kind);

/* The programming model that the image was compiled for: LLVM's OffloadKind bits, as in the file.
 */
enum {
  KDL_OFFLOAD_NONE = 0,
  KDL_OFFLOAD_OPENMP = 1,
  KDL_OFFLOAD_CUDA = 2,
  KDL_OFFLOAD_HIP = 4,
  KDL_OFFLOAD_SYCL = 8,
};

#define KDL_NO_PARENT ((size_t)-1)

/* One image. Strings and pairs belong to the library and live until it is closed. */
typedef struct kdl_image_info {
  size_t size; /* set to sizeof(kdl_image_info) before the call */
  size_t index;
  size_t parent; /* the image this one is nested in, or KDL_NO_PARENT */
  kdl_image_kind kind;
  uint16_t offload_kind;
  uint16_t declared_kind; /* LLVM's ImageKind number in the header; 0 where the format has none */
  uint32_t flags;
  kdl_string triple;    /* "" where unknown */
  kdl_string arch;      /* "" where unknown */
  kdl_string container; /* format and location, as "offload-binary v1 in .llvm.offloading" */
  uint64_t
      header_offset;   /* of the image's header, from the start of the file or its inflated part */
  uint64_t byte_count; /* of the image, after decompression */
  uint64_t stored_count; /* of the image as stored in the container, perhaps compressed */
  const kdl_pair *pairs; /* every metadata pair, triple and arch included, in file order */
  size_t pair_count;
  size_t module; /* images of one module are variants of the same code: those of one fatbin, one
                    bundle, one section of OffloadBinaries; numbered from 0 */
  kdl_string problem; /* why its nested images or its bytes cannot be read; "" where they can.
                         Other images are not affected */
} kdl_image_info;

typedef struct kdl_open_opts {
  size_t size;      /* sizeof(kdl_open_opts) */
  const char *name; /* what to call the bytes in messages; default: the path, or "<memory>" */
  uint32_t flags;   /* KDL_OPEN_ */
} kdl_open_opts;

enum {
  KDL_OPEN_FILE = 1,    /* `path` is a file, used as it is: no folder is searched            */
  KDL_OPEN_GLOBAL = 2,  /* kdl_sym without a library searches this one too                  */
  KDL_OPEN_NO_HOST = 4, /* no code of this library runs in this process: it is loaded neither on the
                           host nor on OpenCL devices that are not GPUs, because their drivers run
                           code in this process. GPU drivers still read the images in this
                           process */
};

/* Opens a library. `path` is one of:
 *
 *   "./saxpy.offload"  a path with a '/': that file. If it is a folder, all its *.offload files are
 *                      one library, in the order of their names.
 *   "saxpy"            a name without a '/': the first of saxpy, saxpy.offload and saxpy.d in the
 *                      folders of KDL_LIBRARY_PATH (separated by ':'), then in the folder of the
 *                      calling program or shared object, then in LIBDIR/kdl, which has libkdl's
 *                      own libraries ("kdl-matmul"). The current folder is not searched.
 *   NULL               the libraries embedded in the calling program or shared object: KDL_EMBED.
 *
 * A program that runs with more rights than its user (AT_SECURE) can open only absolute paths,
 * names in LIBDIR/kdl, and NULL.
 *
 * Opening reads headers and metadata only. Image bytes are mapped when they are needed; they are
 * copied first where a digest or a signature is checked before they run. The file may be replaced
 * by rename while it is open. If it is truncated, later calls fail with KDL_IO; a call that is
 * reading image bytes at that moment raises SIGBUS, as with dlopen. A program that must survive
 * that reads the file itself and calls kdl_open_memory. `opts` may be NULL.
 *
 * In a statically linked program (-static), kernels run on the host alone: drivers cannot be
 * opened, GPUs are not found, and kdl_device_find gives the reason.
 */
KDL_API kdl_status kdl_open(const char *path, const kdl_open_opts *opts, kdl_library **out_lib);

/* Opens the library in memory that the caller keeps, unchanged, until kdl_close. */
KDL_API kdl_status kdl_open_memory(const void *data, size_t size, const kdl_open_opts *opts,
                                   kdl_library **out_lib);

/* Releases a reference. Releasing the last one unloads the library's images from their devices and
 * frees its kernels and image bytes. A retained kernel holds a reference. */
KDL_API void kdl_close(kdl_library *lib);

/* Nested images are listed after the image that holds them. */
KDL_API size_t kdl_image_count(const kdl_library *lib);

KDL_API kdl_status kdl_image_get(const kdl_library *lib, size_t index, kdl_image_info *out_info);

/* The value of one metadata key, or NULL where the image does not have it. Of duplicate keys the
 * last one counts, as in LLVM. */
KDL_API const kdl_string *kdl_image_value(const kdl_library *lib, size_t index, const char *key);

/* The bytes of one image: a view into the mapped file or the caller's memory, or, for a compressed
 * image, memory that the library inflates once and keeps. Fails with KDL_UNSUPPORTED where the
 * codec is not available. The view has the alignment the container gives it, which may be 1. */
KDL_API kdl_status kdl_image_bytes(kdl_library *lib, size_t index, const void **out_data,
                                   size_t *out_size);

/* Calls `visit` with the name of each kernel in the image, in the image's own order. A non-zero
 * return stops the walk and is not an error. Names come from the `kdl.kernel.NAME` keys where there
 * are any, else from the image. KDL_UNSUPPORTED where libkdl cannot read names from this kind. */
KDL_API kdl_status kdl_image_kernels(kdl_library *lib, size_t index,
                                     int (*visit)(void *user, const kdl_string *name), void *user);

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

/* A device of this machine, or one described by a *spec*, one line of text: "cuda:sm_90
 * driver=13.0" (docs/devices.md). A *backend* is libkdl's code over one driver: cuda, hip,
 * level_zero, opencl; the CPU's is host. Devices belong to libkdl and live as long as the process;
 * the same description gives the same device. A process can describe 16,384.
 *
 * Drivers are queried for their devices on first need, each once unless kdl_devices_refresh is
 * called. A missing or broken driver is not an error. No context is created. */
typedef struct kdl_device kdl_device;

/* How many devices this machine has. The default order is that of kdl_device_class: discrete GPUs,
 * integrated GPUs, other accelerators, the CPU. The first call queries every driver. A GPU that two
 * drivers list is one device with two routes, its vendor's first; its first use decides which route
 * it is used through. */
KDL_API size_t kdl_device_count(void);

/* NULL where `index` is not less than kdl_device_count(). */
KDL_API kdl_device *kdl_device_at(size_t index);

/* Finds a device by text. Devices of this machine:
 *
 *   "cuda", "cuda:1", "host"        by backend and number; no other driver is queried
 *   "1"                             kdl_device_at(1)
 *
 * Devices that need not be on this machine; no driver is queried:
 *
 *   "sm_90", "cuda:sm_90 driver=13.0"   a spec
 *   "cuda:sm_90 | opencl:sm_90"         specs of several routes to one device
 *   "mi300x"                            a known name, with the routes of its vendor's drivers
 *   "@FILE"                             what `kdl devices --json` wrote
 *
 * KDL_BAD_CALL, with the grammar, where the text is none of these; KDL_NO_MATCH where this machine
 * has no such device; KDL_UNSUPPORTED where 16,384 were described already.
 *
 * "opencl:0" is a separate kdl_device with its own memory and queues, even where kdl_device_at
 * gives the same GPU through CUDA. */
KDL_API kdl_status kdl_device_find(const char *text, kdl_device **out_device);

/* Queries drivers again, for a driver that was installed or a device that was added or lost.
 * `backend` is "cuda", "hip", "level_zero", "opencl", or NULL for all. *out_new, which may be NULL,
 * is the number of new devices.
 *
 * A device that is still listed stays the same kdl_device. A device that its driver no longer lists
 * leaves the list. If it was not used before, its first use fails with KDL_DEVICE; otherwise what
 * uses it continues as far as the driver permits. If it returns after it was used, it is a new
 * kdl_device, because the kernels, memory and queues of the first are lost. Where a driver fails or
 * does not answer, its devices stay.
 *
 * No driver is restarted: one that counts its devices only at start reports what it found then. In
 * the child of a fork, drivers that the parent queried are not called.
 */
KDL_API kdl_status kdl_devices_refresh(const char *backend, size_t *out_new);

/* One line that kdl_device_find accepts: of a described device, the specs of all its routes; of a
 * device of this machine, the spec of its preferred route. `kdl devices --json` has all routes.
 * Programs should read kdl_device_get. */
KDL_API const char *kdl_device_spec_text(const kdl_device *device);

/* In the default order of preference. */
typedef enum kdl_device_class {
  KDL_DEVICE_CLASS_UNKNOWN = 0, /* not set; kdl_device_get never returns it            */
  KDL_DEVICE_DISCRETE = 1,      /* a GPU with its own memory */
  KDL_DEVICE_INTEGRATED = 2,    /* a GPU that shares the CPU's memory                  */
  KDL_DEVICE_ACCELERATOR = 3,   /* neither GPU nor CPU: FPGAs and others behind OpenCL */
  KDL_DEVICE_CPU = 4,
} kdl_device_class;

/* What libkdl knows of a device. A number that is 0 and a text that is "" are unknown. Texts belong
 * to libkdl and live as long as the process. */
typedef struct kdl_device_info {
  size_t size;          /* set to sizeof(kdl_device_info) before the call */
  const char *backend;  /* "host", "cuda", "hip", "level_zero", "opencl" */
  const char *arch;     /* "sm_90", "gfx90a:sramecc+:xnack-", "x86-64-v4+avx512_bf16" */
  const char *features; /* tokens that it has beyond what its arch implies, joined by '+' */
  const char *label; /* backend and arch in short, for messages: "cuda:sm_90", "host:x86-64-v4" */
  const char *name;  /* "NVIDIA H200" */
  const char *platform;          /* OpenCL: the platform it belongs to */
  const char *driver;            /* version, "13.0", or the text that the driver reports */
  kdl_device_class device_class; /* the backend's default where its driver reports none */
  int is_here;        /* 1: a device of this machine; 0: one that was described, or was lost */
  int is_host;        /* 1: kernels are called in this process, and its memory is the process's */
  int ordinal;        /* its number in its backend; -1 where it has none */
  uint32_t units;     /* multiprocessors, compute units, cores that this process may run on */
  uint32_t subgroups; /* its subgroup sizes, each a power of two, as bits: 48 is 16 and 32 */
  uint32_t max_block; /* the most work-items in a group */
  uint64_t memory;    /* bytes */
  uint64_t shared;    /* bytes of group memory that a group may use by default ... */
  uint64_t shared_optin; /* ... and for kernels that opt in to more */
  int has_pci;           /* 1: the four members that follow are known */
  uint32_t pci_domain;
  uint8_t pci_bus;
  uint8_t pci_device;
  uint8_t pci_function;
  uint8_t has_uuid; /* 1: the 16 bytes that follow are known */
  uint8_t uuid[16];
  size_t route_count; /* drivers that it can be used through, the preferred one among them */
} kdl_device_info;

/* Describes the device through its preferred route. Queries no driver and opens nothing. */
KDL_API kdl_status kdl_device_get(const kdl_device *device, kdl_device_info *out_info);

/* The same through route number `route`; 0 is the preferred one. kdl_kernel_info and kdl_verdict
 * contain route numbers. KDL_BAD_CALL where the device has no such route. */
KDL_API kdl_status kdl_device_route_get(const kdl_device *device, size_t route,
                                        kdl_device_info *out_info);

/* The NUMA node nearest to the device's PCI slot, from a query of the operating system at each
 * call; -1 where it reports none, as on machines with one node. */
KDL_API int kdl_device_numa_node(const kdl_device *device);

/* ------------------------------------------------------------------------------------------ */
/* Selection                                                                                    */

typedef enum kdl_policy {
  KDL_POLICY_BEST = 0,   /* variant_priority, then how well the image fits, then file order */
  KDL_POLICY_FIRST,      /* file order: what LLVM does                                      */
  KDL_POLICY_CAPABILITY, /* how well the image fits, then variant_priority, then file order */
  KDL_POLICY_ADAPTIVE,   /* as best, and among the images that fit the fastest one for the size of
                            the problem, as measured in launches: docs/adaptive.md */
} kdl_policy;

/* A specialization constant (KDL_CONSTANT in <kdl/ukernel.h>) and its value, a number as text. */
typedef struct kdl_constant {
  const char *name;
  const char *value; /* "8", "-1", "0.5" */
} kdl_constant;

typedef struct kdl_select_opts {
  size_t size; /* sizeof(kdl_select_opts) */
  kdl_policy policy;
  const char *variant_tag; /* images with this tag rank before all others; NULL: no tag */
  /* For kdl_sym. They apply to bitcode, which is linked when it is loaded. An image of machine code
   * has the values that it was compiled with. */
  const kdl_constant *constants;
  size_t constant_count;
} kdl_select_opts;

/* Where the options are NULL, KDL_POLICY and KDL_VARIANT_TAG apply. Programs that run with more
 * rights than their user ignore every KDL_ variable but KDL_TRUST, and that too unless it makes
 * them stricter. */

typedef struct kdl_selection {
  size_t size; /* set to sizeof(kdl_selection) before the call */
  size_t image;
  kdl_image_kind kind;
  const char *device; /* spec of the route that the image runs through */
  const char *fit;    /* "exact", "family", "PTX", ...: how it fits */
  const void *data;   /* the image, as kdl_image_bytes gives it */
  size_t data_size;
} kdl_selection;

/* Selects an image for a kernel on a device, for programs that load and launch images themselves.
 * Bitcode is returned unlinked. With a NULL `kernel`, selects among the variants of one module,
 * regardless of the kernels they hold; KDL_BAD_CALL where images of several modules fit.
 * KDL_NO_MATCH where no image fits: the message names the nearest one that holds the kernel and
 * what would help. KDL_BAD_FILE where the image does not have the digest that its metadata declares
 * (kdl.digest). */
KDL_API kdl_status kdl_select(kdl_library *lib, kdl_device *device, const char *kernel,
                              const kdl_select_opts *opts, kdl_selection *out_selection);

typedef struct kdl_reason {
  const char *code;  /* "xnack_mismatch": stable, for programs */
  const char *words; /* "built for gfx90a:xnack+; the device has xnack off" */
  const char *fix;   /* "rebuild without xnack or run with HSA_XNACK=1"; "" where none is known */
} kdl_reason;

typedef struct kdl_verdict {
  size_t size; /* sizeof(kdl_verdict) in the libkdl that was loaded */
  size_t image;
  size_t position;    /* 0 is the first in rank order */
  int chosen;         /* 1 for the image that kdl_select gives; without a kernel, one per module */
  int eligible;       /* 1 where it may run and holds the kernel */
  uint64_t rank;      /* larger fits better; 0 where it may not run */
  uint32_t priority;  /* variant_priority */
  const char *device; /* spec of the route it was matched with */
  const char *fit;
  const kdl_reason *reasons;
  size_t reason_count;
  size_t route; /* the number of that route, for kdl_device_route_get */
} kdl_verdict;

/* Calls `visit` with a verdict on every image, in rank order and the refused ones last. A non-zero
 * return stops the walk. The verdict is valid during the call. KDL_OK also where nothing fits. */
KDL_API kdl_status kdl_explain(kdl_library *lib, kdl_device *device, const char *kernel,
                               const kdl_select_opts *opts,
                               int (*visit)(void *user, const kdl_verdict *verdict), void *user);

/* The best device of this machine for the kernel: the device that KDL_DEVICE names, else the first
 * in the default order that has a backend and an image that fits. Only drivers that images of the
 * library are for are queried: for cubins and host images, CUDA's alone. KDL_BAD_CALL where the
 * result is this CPU and KDL_CPU names features that it lacks. */
KDL_API kdl_status kdl_device_for(kdl_library *lib, const char *kernel, const kdl_select_opts *opts,
                                  kdl_device **out_device);

/* The same for process `rank` of `count` on this machine, so that processes share its devices. The
 * ranks are distributed over the devices that an image fits and that have the backend and the class
 * of the device that kdl_device_for gives; neighbouring ranks share a device where there are more
 * ranks than devices. With rank -1, rank and count come from the launcher's environment (Open MPI,
 * MPICH, Slurm, PALS, Flux), or are 0 of 1. Where the launcher exposes one device to each process,
 * that one is returned. */
KDL_API kdl_status kdl_device_for_rank(kdl_library *lib, const char *kernel,
                                       const kdl_select_opts *opts, int rank, int count,
                                       kdl_device **out_device);

/* Calls `visit` with the index of every image that holds the kernel, for whatever device, so that
 * a caller can build its own dispatch table. A non-zero return stops the walk. */
KDL_API kdl_status kdl_variants(kdl_library *lib, const char *kernel,
                                int (*visit)(void *user, size_t image), void *user);

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

/* Builds an OffloadBinary. The bytes equal those of LLVM's own writer for the same pairs in the
 * same order. */
typedef struct kdl_writer kdl_writer;

enum {
  KDL_FORMAT_V1 = 1,
  KDL_FORMAT_V2 = 2,
  KDL_FORMAT_V3 = 3,
  KDL_FORMAT_ZSTD = 0x100, /* with KDL_FORMAT_V3: all but the header is one zstd frame ... */
  KDL_FORMAT_ZLIB = 0x200, /* ... or one zlib stream                                      */
};

/* Version 1 writes one binary per image, back to back, which every LLVM reads. Version 2 writes one
 * binary with an entry table, which LLVM 23 and later read. LLVM 24 and later read version 3, which
 * may be compressed: KDL_FORMAT_V3 | KDL_FORMAT_ZSTD. kdl_writer_finish then fails with
 * KDL_UNSUPPORTED where the codec's library is not installed. */
KDL_API kdl_status kdl_writer_create(int format, kdl_writer **out_writer);
KDL_API void kdl_writer_destroy(kdl_writer *writer);

typedef struct kdl_writer_image {
  size_t size;            /* sizeof(kdl_writer_image) */
  uint16_t declared_kind; /* LLVM's ImageKind number; see kdl_llvm_image_kind */
  uint16_t offload_kind;
  uint32_t flags;
  const kdl_pair *pairs; /* copied */
  size_t pair_count;
  const void *data; /* not copied: must live until the writer is destroyed */
  size_t data_size;
} kdl_writer_image;

KDL_API kdl_status kdl_writer_add(kdl_writer *writer, const kdl_writer_image *image);

/* The same, and adds the digest of the image's bytes as the last pair, kdl.digest, which replaces
 * an earlier one. libkdl refuses to load an image whose bytes do not match its digest. An image
 * without bytes gets no digest. */
KDL_API kdl_status kdl_writer_add_with_digest(kdl_writer *writer, const kdl_writer_image *image);

/* Writes the file to memory that the caller frees with free(). */
KDL_API kdl_status kdl_writer_finish(kdl_writer *writer, void **out_data, size_t *out_size);

/* Writes a temporary file in the folder of `path` and renames it to `path`. After a failure the old
 * file is unchanged. */
KDL_API kdl_status kdl_writer_save(kdl_writer *writer, const char *path);

/* LLVM's ImageKind number for a kind; AMD code objects, zebins and host ELF files are "object". */
KDL_API uint16_t kdl_llvm_image_kind(kdl_image_kind kind);

#ifdef __cplusplus
}
#endif

#include <kdl/embed.h>
#include <kdl/launch.h>

#endif
