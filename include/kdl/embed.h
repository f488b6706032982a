/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * KDL_EMBED(symbol, "file"): carry a kernel library inside this program.
 *
 *     KDL_EMBED(my_kernels, "saxpy.offload");
 *     kdl_open_memory(my_kernels, KDL_EMBED_SIZE(my_kernels), NULL, &lib);
 *
 * The bytes go into an allocated section `.llvm.offloading` of LLVM's own section type, so they
 * survive the final link, strip and --gc-sections, and `llvm-objdump --offloading` and `kdl ls`
 * list them. Clang's -fembed-offload-object marks its section as excluded instead, and linkers drop
 * it; `kdl embed` mends such an object.
 *
 * The section is written in assembly because gcc's section attribute can only make PROGBITS, which
 * readers that go by section type overlook. The trailing alignment keeps libraries that several
 * objects contribute back to back: LLVM 22 does not skip padding between them.
 */
#ifndef KDL_EMBED_H
#define KDL_EMBED_H

#ifdef __cplusplus
#define KDL_EMBED_EXTERN extern "C"
#else
#define KDL_EMBED_EXTERN extern
#endif

#define KDL_EMBED(symbol, file)                                                                    \
  __asm__(".pushsection .llvm.offloading,\"aR\",@0x6fff4c0b\n"                                     \
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
#define KDL_EMBED_DECLARE(symbol)                                                                  \
  KDL_EMBED_EXTERN const unsigned char symbol[];                                                   \
  KDL_EMBED_EXTERN const unsigned char symbol##_end[]

#define KDL_EMBED_SIZE(symbol) ((size_t)(symbol##_end - symbol))

#endif
