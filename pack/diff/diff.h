/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The data of `kdl diff`: the kernels of two files, archives or folders, and what changed.
 *
 * The walk is that of `kdl check` (pack/check). It hands over each library with device code; of
 * every kernel in it one compact record stays, and the library is closed. After the walk, libraries
 * are matched, then kernels, then each pair of kernels is compared.
 */
#ifndef KDL_PACK_DIFF_DIFF_H
#define KDL_PACK_DIFF_DIFF_H

#include "lib/inspect/images.h"
#include "pack/check/check.h"
#include "tools/common/memory.h"

#include <kdl/kdl.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  DIFF_LIMIT_DEVICES = 32,
  DIFF_LIMIT_NAMES = 1 << 28,
  DIFF_LIMIT_SCOPES = 1 << 20,
  DIFF_LIMIT_TARGETS = 1 << 16,
  DIFF_EXAMPLES = 2, /* kernels that the summary names per change */
};

/* A kernel is larger where its code grew by a tenth and by so many bytes. */
enum { DIFF_LARGER_PART = 10, DIFF_LARGER_BYTES = 1024 };

/* What changed of a kernel for one target: the order is that of the reports. */
typedef enum diff_change {
  DIFF_REMOVED,   /* the kernel is gone for every target */
  DIFF_LOST,      /* it is gone for this target */
  DIFF_HOLLOW,    /* its code does nothing now */
  DIFF_SPILLS,    /* it moves more registers to memory */
  DIFF_STACK,     /* it has more private memory */
  DIFF_REGISTERS, /* more registers, so that fewer groups run at a time */
  DIFF_SHARED,    /* more group memory */
  DIFF_SIGNATURE, /* other parameters */
  DIFF_SIZE,      /* its code is larger: DIFF_LARGER_PART */
  DIFF_CODE,      /* other code */
  DIFF_RENAMED,   /* another name */
  DIFF_MOVED,     /* another library */
  DIFF_GAINED,    /* new for this target */
  DIFF_ADDED,     /* new for every target */
  DIFF_CHANGES,
} diff_change;

#define DIFF_BIT(change) (1u << (change))

/* Its name in options, reports and JSON. */
const char *diff_change_name(diff_change change);
bool diff_change_parse(kdl_string name, diff_change *out_change);

/* A name, or text by which things are matched; the index is its number. */
typedef struct diff_name {
  kdl_string text;
  uint32_t key; /* number of the text without what builds put into names: pack/diff/diff_names.c */
} diff_name;

typedef struct diff_names {
  diff_name *items;
  size_t count, capacity;
  uint32_t *slots; /* hash table of numbers + 1 */
  size_t slot_count;
  kdl_arena arena;
} diff_names;

/* The number of a text, which is copied where it is new. */
uint32_t diff_names_add(diff_names *names, kdl_string text);

/* The same, with its key. */
uint32_t diff_names_add_kernel(diff_names *names, kdl_string text);

void diff_names_free(diff_names *names);

/* Writes the text without the hashes and process numbers that compilers put into the names of
 * functions of one file; returns its length, at most that of the text. */
size_t diff_name_normalise(kdl_string text, char *out);

/* What images are for: "cubin sm_90". */
typedef struct diff_target {
  kdl_image_kind kind;
  const char *arch;
  const char *label;
} diff_target;

#define DIFF_NO_MATCH UINT32_MAX

typedef struct diff_kernel {
  uint32_t name;
  uint32_t library; /* of its side */
  uint32_t image;
  uint32_t partner; /* number of the matched kernel of the other side, or DIFF_NO_MATCH */
  uint32_t devices; /* bits of the devices that run its image */
  uint32_t changes; /* DIFF_BITs; of a pair those are with the new kernel */
  uint16_t target;
  uint8_t effect; /* kdl_kernel_effect */
  bool is_copy;   /* a further copy of a kernel that is matched */
  bool is_hollow;
  kdl_kernel_digest digest;
  kdl_kernel_resources uses;
} diff_kernel;

typedef struct diff_library {
  const char *path;  /* for reports: "file" or "archive!member" */
  const char *place; /* in the operand; "" for the operand itself */
  uint32_t scope;    /* equal for libraries that are matched; 0: not yet known */
  bool is_matched;
  diff_kernel *kernels;
  size_t kernel_count;
  size_t images, unreadable;
} diff_library;

/* The old or the new operand. */
typedef struct diff_side {
  const char *path;
  diff_library *libraries;
  size_t library_count, library_capacity;
  diff_kernel *kernels; /* of all libraries, once they are read */
  size_t kernel_count;
  size_t images, unreadable; /* images whose kernels cannot be read */
  uint64_t code_bytes;
} diff_side;

enum { DIFF_OLD, DIFF_NEW, DIFF_SIDES };

/* How many kernels run on a device. */
typedef struct diff_device {
  size_t kernels[DIFF_SIDES]; /* that run */
  size_t native[DIFF_SIDES];  /* of these: as machine code */
  size_t lost;                /* that ran and do not run, removed ones included */
  size_t gained;              /* that run and did not, added ones included */
  size_t jit;                 /* that ran as machine code and are compiled by the driver now */
} diff_device;

/* A limit of a budget that a kernel exceeds. */
typedef struct diff_excess {
  size_t limit; /* of the budget */
  uint64_t found;
  const diff_kernel *kernel; /* NULL: of the whole */
} diff_excess;

typedef struct diff_budget diff_budget;

/* Where two files differ: of two builds that should be equal. */
typedef struct diff_bytes {
  bool is_compared; /* both operands are libraries, or equal files */
  bool is_equal;
  uint64_t offset;    /* of the first difference */
  const char **lines; /* "image 0 (cubin sm_90): .text.saxpy differs" */
  size_t line_count, line_capacity;
} diff_bytes;

typedef struct diff {
  check walk;
  bool is_long;
  cli_demangler *demangler; /* or NULL */
  uint32_t fail_on;         /* DIFF_BITs */
  diff_budget *budget;      /* or NULL */

  pthread_mutex_t lock; /* protects the next four while files are read */
  bool assumes_tools;   /* what described devices are taken to have decides something */
  diff_names names;
  diff_target *targets;
  size_t target_count, target_capacity;
  diff_side sides[DIFF_SIDES];
  uint32_t *renames; /* by the key of an old name: 1 + the key of the new one, or 0 */

  size_t (*counts)[DIFF_CHANGES]; /* by target */
  size_t (*kernels)[DIFF_SIDES];  /* by target */
  size_t *equal;                  /* by target: kernels without a change */
  bool *is_compared;              /* by target: no devices are given, or one runs code of it */
  size_t totals[DIFF_CHANGES];
  diff_device devices[DIFF_LIMIT_DEVICES];
  diff_bytes bytes;
  diff_excess *excesses;
  size_t excess_count, excess_capacity;
} diff;

static inline kdl_string diff_kernel_name(const diff *d, const diff_kernel *kernel) {
  return d->names.items[kernel->name].text;
}

static inline const diff_target *diff_kernel_target(const diff *d, const diff_kernel *kernel) {
  return &d->targets[kernel->target];
}

static inline const diff_kernel *diff_partner(const diff *d, int side, const diff_kernel *kernel) {
  return kernel->partner == DIFF_NO_MATCH ? NULL : &d->sides[!side].kernels[kernel->partner];
}

/* ------------------------------------------------------------------------------------------ */

/* Reads an open library: the visitor of the walk. */
kdl_status diff_read_library(void *user, kdl_library *lib, const check_file *file,
                             const char *member);

/* Matches libraries, then kernels. */
void diff_match_libraries(diff *d);
void diff_match_by_overlap(diff *d, uint32_t *scopes);
void diff_match_kernels(diff *d);

/* Compares the matched kernels and counts. */
void diff_compare(diff *d);

/* Compares the bytes of two files, and says where they differ. */
void diff_compare_bytes(diff *d);

/* Whether machine code of the kind runs as it is. */
bool diff_is_native(kdl_image_kind kind);

/* Registers, spills and stack: KDL_NO_RESOURCE where the format does not declare them. */
uint32_t diff_spills(const kdl_kernel_resources *uses);

/* Subgroups of a compute unit that are in use; false where they are not known. */
bool diff_occupancy(const diff *d, const diff_kernel *kernel, kdl_occupancy *out_occupancy);

/* ------------------------------------------------------------------------------------------ */
/* Budgets                                                                                      */

kdl_status diff_budget_parse(const char *path, kdl_string text, diff_budget **out_budget);
kdl_status diff_budget_read(const char *path, diff_budget **out_budget);
void diff_budget_free(diff_budget *budget);

/* Finds what exceeds the budget. */
void diff_budget_apply(diff *d);

/* "line 3: registers 128". */
const char *diff_budget_limit(const diff_budget *budget, size_t number);
size_t diff_budget_line(const diff_budget *budget, size_t number);

/* ------------------------------------------------------------------------------------------ */
/* Reports                                                                                      */

/* The kernels of a report, in its order. Those that are gone are of the old side. */
typedef struct diff_item {
  const diff_kernel *kernel;
  uint8_t side;
} diff_item;

/* All kernels with one of the changes, sorted by library, name and target. The caller frees them.
 */
diff_item *diff_list(const diff *d, uint32_t changes, size_t *out_count);

/* At most `room` of them, the worst first. */
size_t diff_worst(const diff *d, diff_change change, diff_item *items, size_t room);

/* "stack 0 -> 48, vector_registers 40 -> 64", malloc'ed; "" where no number changed. */
char *diff_item_text(const diff *d, const diff_item *item);

/* The numbers of a kernel that a comparison shows, by their key. */
typedef struct diff_field {
  const char *key;
  size_t offset; /* in kdl_kernel_resources */
} diff_field;

enum { DIFF_FIELDS = 14 };
extern const diff_field diff_fields[DIFF_FIELDS];
uint32_t diff_field_value(const kdl_kernel_resources *uses, size_t field);

/* The changes for which the result is a failure. */
uint32_t diff_failures(const diff *d);

kdl_status diff_print_text(diff *d);
kdl_status diff_print_markdown(diff *d);
kdl_status diff_print_json(diff *d);

#endif
