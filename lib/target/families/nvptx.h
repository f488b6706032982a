/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* NVIDIA's architectures and PTX versions. */
#ifndef KDL_TARGET_FAMILIES_NVPTX_H
#define KDL_TARGET_FAMILIES_NVPTX_H

#include "support/base/text.h"

typedef struct kdl_nvptx_arch {
  uint16_t number; /* as spelled: 90 for sm_90a */
  uint8_t major;   /* the compute capability: sm_101 is 11.0, see the table of renamed parts */
  uint8_t minor;
  char suffix;     /* 'a', 'f' or 0 */
  bool is_virtual; /* compute_90 */
  bool is_tegra;
} kdl_nvptx_arch;

bool kdl_nvptx_parse(kdl_string text, kdl_nvptx_arch *out_arch, kdl_parse_error *out_error);

/* 90 is 9.0, 121 is 12.1; false over 2559. Renamed parts get their present number. */
bool kdl_nvptx_capability(uint32_t number, uint8_t *out_major, uint8_t *out_minor);

/* Whether a cubin for that arch is for the device's major version, or does not say. */
bool kdl_nvptx_may_run(kdl_string arch, uint32_t device_arch);

/* Whether binary compatibility stops at this part: it runs cubins built for it and no others. */
bool kdl_nvptx_is_tegra(unsigned major, unsigned minor);

/* The CUDA version from which a Tegra part's driver takes cubins of desktop parts too, or 0. The
 * capability as 0x0807. */
uint32_t kdl_nvptx_desktop_driver(uint32_t capability);

/* The first PTX ISA version that knows the target; 0 where none is known. Versions as
 * KDL_VERSION_OF. */
uint32_t kdl_nvptx_first_ptx(const kdl_nvptx_arch *arch);

/* The numbers of all parts with a suffix of 'a', 'f' or none (0), 0 behind the last: for tests and
 * listings. Renamed parts are there under their present number alone. */
uint16_t kdl_nvptx_number_at(char suffix, size_t index);

/* The newest PTX ISA version a driver of that CUDA version knows. A CUDA version later than the
 * table's last row knows at least what that row says. */
uint32_t kdl_nvptx_ptx_of_cuda(uint32_t cuda);

/* The first CUDA version that knows the PTX ISA version; 0 where none is known. */
uint32_t kdl_nvptx_cuda_of_ptx(uint32_t ptx);

#endif
