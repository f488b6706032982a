/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Four OffloadBinaries and the records by which a runtime finds their images, as LLVM's linker
 * wrapper leaves them. Prints each image. -DSTRAY=...: something else points into one of them. */
#include <stdio.h>

#ifndef STRAY
#define STRAY "0"
#endif
#define SECTION ".section .llvm.offloading,\"a\",@0x6fff4c0b\n.balign 8\n"
__asm__(SECTION "b0: .incbin \"sm_75.bin\"\n"
                "b1: .incbin \"sm_90a.bin\"\n"
                "b2: .incbin \"gfx90a.bin\"\n"
                "b3: .incbin \"sm_120.bin\"\n"
                "b4:\n"
                ".section .llvm.rodata.offloading,\"a\",@progbits\n"
                "name: .asciz \"kernel\"\n"
                ".section .data.rel.ro,\"aw\",@progbits\n.balign 8\n"
                "records: .quad b0 + START0, b0 + END0, name, 0\n"
                ".quad b1 + START1, b1 + END1, name, 0\n"
                ".quad b2 + START2, b2 + END2, name, 0\n"
                ".quad b3 + START3, b3 + END3, name, 0\n"
                "end: .quad b4, name, " STRAY "\n"
                ".text\n");

struct record {
  const unsigned char *start, *end;
  const char *name;
  void *none;
};
extern const struct record records[4] __attribute__((visibility("hidden")));

void walk(void) {
  for (int i = 0; i < 4; ++i) {
    unsigned sum = 0;
    for (const unsigned char *at = records[i].start; at < records[i].end; ++at)
      sum = sum * 31 + *at;
    printf("record %d: %ld bytes, sum %08x, %s\n", i, (long)(records[i].end - records[i].start),
           sum, records[i].name);
  }
}
