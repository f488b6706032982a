# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fatbins that a table of SYCL images describes by their addresses and sizes, and one that CUDA's
# wrapper leads to.
        .section "__CLANG_OFFLOAD_BUNDLE__sycl-nvptx64", "a", %progbits
        .balign 16
first:  .incbin "archs.fatbin"
        .equ size, . - first
        .balign 16
second: .incbin "archs.fatbin"
        .section .tgtimg, "aw", %progbits
        .quad first, size, second, size
        .section .nv_fatbin, "a", %progbits
        .balign 16
plain:  .incbin "archs.fatbin"
        .section .nvFatBinSegment, "aw", %progbits
        .long 0x466243b1, 1
        .quad plain, 0
