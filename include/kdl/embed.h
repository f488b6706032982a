/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * KDL_EMBED(symbol, "file"): embeds a kernel library in this program.
 *
 *     KDL_EMBED(my_kernels, "saxpy.offload");
 *     kdl_open_memory(my_kernels, KDL_EMBED_SIZE(my_kernels), NULL, &lib);
 *
 * The bytes go into an allocated section `.kdl.offloading`, so they survive the final link, strip
 * and --gc-sections, and `kdl ls` lists them. The section is not `.llvm.offloading`, because
 * clang-linker-wrapper links the device code of that section, and fails on images that are linked
 * already. Clang's -fembed-offload-object uses `.llvm.offloading` and marks it as excluded, so that
 * linkers drop it; `kdl embed` turns it into a `.kdl.offloading` section.
 *
 * The section is written in assembly because C17 cannot include a file. The trailing alignment
 * keeps libraries of several objects back to back.
 */
#ifndef KDL_EMBED_H
#define KDL_EMBED_H

#ifdef __cplusplus
#define KDL_EMBED_EXTERN extern "C"
#else
#define KDL_EMBED_EXTERN extern
#endif

/* `symbol` may be a macro, which is expanded. */
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

/* Declares `symbol` in further source files of a program that embeds it in one. */
#define KDL_EMBED_DECLARE(symbol) KDL_EMBED_DECLARE_(symbol)
#define KDL_EMBED_DECLARE_(symbol)                                                                 \
  KDL_EMBED_EXTERN const unsigned char symbol[];                                                   \
  KDL_EMBED_EXTERN const unsigned char symbol##_end[]

#define KDL_EMBED_SIZE(symbol) KDL_EMBED_SIZE_(symbol)
#define KDL_EMBED_SIZE_(symbol) ((size_t)(symbol##_end - symbol))

#endif
