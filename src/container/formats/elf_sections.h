/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The section table of a host ELF file, read through a region: what its readers share. */
#ifndef KDL_CONTAINER_FORMATS_ELF_SECTIONS_H
#define KDL_CONTAINER_FORMATS_ELF_SECTIONS_H

#include "container/container.h"

enum {
  KDL_SECTION_PROGBITS = 1,
  KDL_SECTION_RELA = 4,
  KDL_SECTION_LLVM_OFFLOADING = 0x6fff4c0b,
  KDL_SECTION_ALLOC = 0x2,
  KDL_SECTION_EXEC = 0x4,
};
#define KDL_SECTION_EXCLUDE ((uint64_t)0x80000000)

typedef struct kdl_section {
  uint32_t name;
  uint32_t type;
  uint64_t flags;
  uint64_t address;
  uint64_t offset;
  uint64_t size;
  uint32_t link;
  uint64_t header;   /* offset of the section header, for messages */
  bool is_described; /* a table of its own tells what is in it */
} kdl_section;

typedef struct kdl_section_table {
  const kdl_region *file;
  bool is_64;
  bool is_linked; /* not an object: sections have addresses */
  uint64_t table;
  uint64_t stride;
  uint64_t count;
  kdl_section names;
} kdl_section_table;

/* Leaves count at 0 where there is no section table. */
kdl_status kdl_sections_open(const kdl_region *file, kdl_section_table *out_elf);
kdl_status kdl_sections_read(const kdl_section_table *elf, uint64_t index,
                             kdl_section *out_section);

/* Refuses a section that ends beyond the file. */
kdl_status kdl_sections_check(const kdl_section_table *elf, const kdl_section *header,
                              const char *what);

/* The name of a section in the container's arena; one that does not end within the table of names
 * has length 0. */
kdl_status kdl_sections_name(kdl_container *container, const kdl_section_table *elf,
                             const kdl_section *header, kdl_string *out_name);

#endif
