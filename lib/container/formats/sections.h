/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sections of object files: the table of a host ELF file, read through a region, and what readers
 * of ELF and COFF files look for in sections. */
#ifndef KDL_LIB_CONTAINER_FORMATS_SECTIONS_H
#define KDL_LIB_CONTAINER_FORMATS_SECTIONS_H

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

/* A section of any name, to be scanned for device code. */
typedef struct kdl_scan {
  const kdl_region *region;
  uint64_t address; /* load address, or 0 */
  /* Gives the section's name; called only after a hit. */
  kdl_status (*name)(void *user, kdl_string *out_name);
  void *user;
} kdl_scan;

/* Lists the device code that it finds; skips chance hits. */
kdl_status kdl_scan_region(kdl_container *container, const kdl_parse_context *scope,
                           const kdl_scan *scan);

/* The device images that the section .tgtimg of a linked SYCL program describes. */
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
