/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The section table of a host ELF file, read through a region; shared by its readers. */
#ifndef KDL_LIB_CONTAINER_FORMATS_ELF_SECTIONS_H
#define KDL_LIB_CONTAINER_FORMATS_ELF_SECTIONS_H

#include "lib/container/container.h"
#include "support/base/elf_file.h"

typedef struct kdl_section_table {
  const kdl_region *file;
  kdl_elf header; /* section_count is 0 where there is no table */
  kdl_elf_section names;
} kdl_section_table;

kdl_status kdl_sections_open(const kdl_region *file, kdl_section_table *out_table);
kdl_status kdl_sections_read(const kdl_section_table *table, uint64_t index,
                             kdl_elf_section *out_section);

/* Refuses a section that ends beyond the file. */
kdl_status kdl_sections_check(const kdl_section_table *table, const kdl_elf_section *section,
                              const char *what);

/* The name of a section, in the container's arena; an unterminated name has length 0. */
kdl_status kdl_sections_name(kdl_container *container, const kdl_section_table *table,
                             const kdl_elf_section *section, kdl_string *out_name);

#endif
