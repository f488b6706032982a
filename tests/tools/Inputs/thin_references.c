/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A library with fatbins of thin_library.py, whose code reads some of them and a note of its own
 * where they lie, without a pointer that is relocated; and a program that loads it, with PROGRAM.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef PROGRAM
#include <dlfcn.h>

int main(int argc, char **argv) {
  void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
  void *report = library ? dlsym(library, "report") : NULL;
  if (!report) {
    printf("%s\n", dlerror());
    return 1;
  }
  ((void (*)(void))report)();
  return 0;
}

#else
#define HIDDEN __attribute__((visibility("hidden")))
#define FATBIN(n)                                                                                  \
  __asm__(".section .nv_fatbin,\"a\"\n.balign 8\n.hidden fatbin_" #n "\n.globl fatbin_" #n         \
          "\nfatbin_" #n ":\n.incbin \"fatbin" #n ".bin\"\n.text\n");                              \
  extern const volatile char fatbin_##n[] HIDDEN;
FATBIN(0)
FATBIN(1)
FATBIN(2)
FATBIN(3)
FATBIN(4)
FATBIN(5)
FATBIN(6)
FATBIN(7)

struct wrapper {
  unsigned magic, version;
  const volatile void *data;
  void *names;
};
#define WRAPPER(n) {0x466243b1, 1, fatbin_##n, 0}
__attribute__((section(".nvFatBinSegment"))) struct wrapper wrappers[] = {
    WRAPPER(0), WRAPPER(1), WRAPPER(2), WRAPPER(3), WRAPPER(4), WRAPPER(5), WRAPPER(6), WRAPPER(7)};

static const struct {
  uint32_t name_size, text_size, type;
  char name[4], text[12];
} note __attribute__((section(".note.mine"), aligned(4), used)) = {4, 12, 1, "kdl", "of its own"};

/* The table by which others reach a fatbin: its distance from there. */
__asm__(".section .rodata\n.balign 4\n.hidden distance\n.globl distance\n"
        "distance: .long fatbin_5 - .\n.text\n");
extern const int32_t distance HIDDEN;

typedef uint32_t u32x4 __attribute__((vector_size(16)));

static int same(int index, const volatile void *there, uint64_t size) {
  const volatile char *here = *(const volatile char *volatile *)&wrappers[index].data;
  for (uint64_t i = 0; i < size; ++i) {
    if (((const volatile char *)there)[i] != here[i])
      return 0;
  }
  return 1;
}

void report(void) {
  uint64_t size = *(const volatile uint64_t *)(fatbin_1 + 8);
  printf("a word of the header: %d\n", memcmp(&size, (const char *)wrappers[1].data + 8, 8) == 0);
  printf("a word further on: %llx\n",
         (unsigned long long)*(const volatile uint64_t *)(fatbin_3 + 5000));
  u32x4 header = *(const volatile u32x4 *)fatbin_4;
  printf("a vector: %d\n", same(4, &header, 16));
  printf("a number to compare with: %d\n", *(const volatile uint32_t *)fatbin_6 == 0xba55ed50);
  printf("a distance: %d\n", same(5, (const char *)&distance + distance, 16));
  const volatile char *text = note.text;
  printf("a note: %c%c\n", text[0], text[9]);
  for (int i = 0; i < 8; ++i)
    printf("%d: %x\n", i, *(const unsigned *)wrappers[i].data);
}
#endif
