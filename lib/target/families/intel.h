/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Intel's GPU IP versions: architecture.release.revision, as 12.60.7, and the acronyms ocloc takes.
 */
#ifndef KDL_TARGET_FAMILIES_INTEL_H
#define KDL_TARGET_FAMILIES_INTEL_H

#include "support/base/text.h"

typedef struct kdl_intel_ip {
  uint8_t architecture;
  uint8_t release;
  uint8_t revision; /* of at most 63 */
} kdl_intel_ip;

/* "12.60.7", "pvc", "intel_gpu_pvc", "0x030f0007". */
bool kdl_intel_parse(kdl_string text, kdl_intel_ip *out_ip, kdl_parse_error *out_error);

/* The number drivers report: architecture << 22 | release << 14 | revision. */
uint32_t kdl_intel_number(kdl_intel_ip ip);

/* An acronym for it, or NULL. */
const char *kdl_intel_acronym(kdl_intel_ip ip);

/* All acronyms, one for each IP version, NULL behind the last: for tests and listings. */
const char *kdl_intel_acronym_at(size_t index);

/* "12.60.7 (pvc)" */
void kdl_out_intel(kdl_out *out, kdl_intel_ip ip);

#endif
