/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libkdl's verdict on an OffloadBinary, behind an interface that C++ can include. */
#ifndef KDL_TESTS_RFC_KDL_REFERENCE_H
#define KDL_TESTS_RFC_KDL_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reference_verdict {
  bool runs;                 /* nothing rules it out */
  bool metadata_compatible;  /* nothing in the metadata does */
  uint32_t variant_priority; /* 0 where absent */
  char reasons[256];         /* codes, separated by spaces */
} reference_verdict;

/* Judges the first image of an OffloadBinary in memory for a device given as a spec line. False
 * where either cannot be read; `reasons` then says why. */
bool reference_judge(const void *data, size_t size, const char *device,
                     reference_verdict *out_verdict);

/* The feature tokens of a device, joined by '+' in the order of the token tables; "" where the spec
 * cannot be read. Valid until the next call. */
const char *reference_features(const char *device);

/* The family tag of the AMD processor of that index, "" for none; NULL behind the last. */
const char *reference_amd_family(size_t index, const char **out_processor);

/* What libkdl takes LLVM's areTargetsCompatible for. */
bool reference_targets_compatible(const char *left_triple, const char *left_arch,
                                  const char *right_triple, const char *right_arch);

#ifdef __cplusplus
}
#endif

#endif
