/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The first bytes of the formats that are read and written: text as a string, others as the word
 * that kdl_load_u32 loads. kdl_file_sniff (lib/inspect/images.h) recognises files by them. */
#ifndef KDL_SUPPORT_BASE_MAGIC_H
#define KDL_SUPPORT_BASE_MAGIC_H

#include <stdint.h>

#define KDL_MAGIC_ELF UINT32_C(0x464c457f)
#define KDL_MAGIC_OFFLOAD UINT32_C(0xad10ff10)

/* CUDA fatbins. The 64-bit word adds the version and the header size, which are always the same. */
#define KDL_MAGIC_FATBIN UINT32_C(0xba55ed50)
#define KDL_MAGIC_FATBIN_HEADER UINT64_C(0x00100001ba55ed50)

/* Bundles of clang-offload-bundler, plain and compressed ("CCOB"). */
#define KDL_MAGIC_BUNDLE "__CLANG_OFFLOAD_BUNDLE__"
#define KDL_MAGIC_PACKED_BUNDLE UINT32_C(0x424f4343)

/* LLVM bitcode, plain and in the wrapper of Apple's tools. */
#define KDL_MAGIC_BITCODE UINT32_C(0xdec04342)
#define KDL_MAGIC_WRAPPED_BITCODE UINT32_C(0x0b17c0de)

#define KDL_MAGIC_SPIRV UINT32_C(0x07230203)
#define KDL_MAGIC_SPIRV_BIG_ENDIAN UINT32_C(0x03022307)

/* CUDA Tile IR, with the NUL. */
#define KDL_MAGIC_TILE_IR "\177TileIR\0"

/* Recorded sequences: lib/inspect/sequences.h. */
#define KDL_MAGIC_SEQUENCE UINT32_C(0x51534bf7)

/* zstd: a frame, and the first of the 16 skippable frames. */
#define KDL_MAGIC_ZSTD UINT32_C(0xfd2fb528)
#define KDL_MAGIC_ZSTD_SKIPPED UINT32_C(0x184d2a50)

/* Static archives, regular and thin. */
#define KDL_MAGIC_ARCHIVE "!<arch>\n"
#define KDL_MAGIC_THIN_ARCHIVE "!<thin>\n"
enum { KDL_MAGIC_ARCHIVE_SIZE = 8 };

/* zip: a member's header, and the end record with which an empty archive begins. */
#define KDL_MAGIC_ZIP UINT32_C(0x04034b50)
#define KDL_MAGIC_EMPTY_ZIP UINT32_C(0x06054b50)

#endif
