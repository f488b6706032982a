/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The device images that the section .tgtimg of a linked SYCL program describes. */
#ifndef KDL_LIB_CONTAINER_FORMATS_SYCL_H
#define KDL_LIB_CONTAINER_FORMATS_SYCL_H

#include "lib/container/formats/elf_sections.h"

typedef struct kdl_sycl {
  const kdl_region *file;
  const kdl_elf_section *table; /* .tgtimg */
  /* Sections that may have images. The reader sorts the pointers by address and marks sections that
   * have some as described. */
  kdl_elf_section **sections;
  size_t section_count;
  const kdl_section_table *relocated; /* whose relocations give the addresses; NULL: none do */
  kdl_status (*name)(void *user, const kdl_elf_section *section, kdl_string *out_name);
  void *user;
} kdl_sycl;

kdl_status kdl_parse_sycl(kdl_container *container, const kdl_parse_context *scope,
                          const kdl_sycl *sycl);

#endif
