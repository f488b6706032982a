/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * KDL_EMBED(symbol, "file"): carry a kernel library inside this program.
 *
 *     KDL_EMBED(my_kernels, "saxpy.offload");
 *     kdl_open_memory(my_kernels, KDL_EMBED_SIZE(my_kernels), NULL, &lib);
 *
 * The bytes go into an allocated section `.kdl.offloading`, so they survive the final link, strip
 * and --gc-sections, and `kdl ls` lists them. It is not `.llvm.offloading`: what lies there,
 * clang-linker-wrapper takes for device code that it is to link, and fails over libraries that are
 * linked already. Clang's -fembed-offload-object puts it there and marks the section as excluded,
 * so that linkers drop it; `kdl embed` makes one of this kind of it.
 *
 * The section is written in assembly since C has no way to include a file. The trailing alignment
 * keeps libraries that several objects contribute back to back.
 */
#ifndef KDL_EMBED_H
#define KDL_EMBED_H

#ifdef __cplusplus
#define KDL_EMBED_EXTERN extern "C"
#else
#define KDL_EMBED_EXTERN extern
#endif

/* A symbol may be a macro, which is replaced. */
#define KDL_EMBED(symbol, file) KDL_EMBED_(symbol, file)
#define KDL_EMBED_(symbol, file)                                                                   \
  __asm__(".pushsection .kdl.offloading,\"aR\",@progbits\n"                                        \
          ".p2align 3\n"                                                                           \
          ".globl " #symbol "\n"                                                                   \
          ".type " #symbol ",@object\n" #symbol ":\n"                                              \
          ".incbin \"" file "\"\n"                                                                 \
          ".globl " #symbol "_end\n" #symbol "_end:\n"                                             \
          ".size " #symbol ", . - " #symbol "\n"                                                   \
          ".p2align 3\n"                                                                           \
          ".popsection\n");                                                                        \
  KDL_EMBED_DECLARE(symbol)

/* For the other sources of a program that embeds `symbol` in one. */
#define KDL_EMBED_DECLARE(symbol) KDL_EMBED_DECLARE_(symbol)
#define KDL_EMBED_DECLARE_(symbol)                                                                 \
  KDL_EMBED_EXTERN const unsigned char symbol[];                                                   \
  KDL_EMBED_EXTERN const unsigned char symbol##_end[]

#define KDL_EMBED_SIZE(symbol) KDL_EMBED_SIZE_(symbol)
#define KDL_EMBED_SIZE_(symbol) ((size_t)(symbol##_end - symbol))

#endif
