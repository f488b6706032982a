/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The length of x86-64 instructions, against an assembler. */
#include "pack/thin/elf/elf_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

static const struct {
  const char *text;
  uint8_t bytes[15];
  size_t length, displacement;
} cases[] = {
    {"ret", {0xc3}, 1, 0},
    {"mov 8(%rip), %rax", {0x48, 0x8b, 0x05, 8}, 7, 3},
    {"lea 8(%rip), %rax", {0x48, 0x8d, 0x05, 8}, 7, 3},
    {"cmpl $1, 8(%rip)", {0x83, 0x3d, 8, 0, 0, 0, 1}, 7, 2},
    {"cmpl $0x12345678, 8(%rip)", {0x81, 0x3d, 8, 0, 0, 0, 0x78, 0x56, 0x34, 0x12}, 10, 2},
    {"cmpw $0x1234, 8(%rip)", {0x66, 0x81, 0x3d, 8, 0, 0, 0, 0x34, 0x12}, 9, 3},
    {"testb $1, 8(%rip)", {0xf6, 0x05, 8, 0, 0, 0, 1}, 7, 2},
    {"notb 8(%rip)", {0xf6, 0x15, 8}, 6, 2},
    {"testl $1, 8(%rip)", {0xf7, 0x05, 8, 0, 0, 0, 1}, 10, 2},
    {"divq 8(%rip)", {0x48, 0xf7, 0x35, 8}, 7, 3},
    {"mov 8(%rax), %rax", {0x48, 0x8b, 0x40, 8}, 4, 0},
    {"mov 0x1000(%rax), %rax", {0x48, 0x8b, 0x80, 0, 0x10}, 7, 0},
    {"mov 0x1000, %eax by a SIB", {0x8b, 0x04, 0x25, 0, 0x10}, 7, 0},
    {"mov 8(%rsp), %rax", {0x48, 0x8b, 0x44, 0x24, 8}, 5, 0},
    {"movabs $1, %rax", {0x48, 0xb8, 1}, 10, 0},
    {"mov $1, %eax", {0xb8, 1}, 5, 0},
    {"mov $1, %ax", {0x66, 0xb8, 1}, 4, 0},
    {"movabs 0x10, %al", {0xa0, 0x10}, 9, 0},
    {"enter $8, $0", {0xc8, 8}, 4, 0},
    {"call", {0xe8}, 5, 0},
    {"data16 rex.W call", {0x66, 0x66, 0x48, 0xe8}, 8, 0},
    {"je, near", {0x0f, 0x84}, 6, 0},
    {"notrack jmp *%rax", {0x3e, 0xff, 0xe0}, 3, 0},
    {"nopw 0(%rax,%rax)", {0x66, 0x2e, 0x0f, 0x1f, 0x84}, 10, 0},
    {"mov %cr0, %rax", {0x0f, 0x20, 0x05}, 3, 0},
    {"movups 8(%rip), %xmm0", {0x0f, 0x10, 0x05, 8}, 7, 3},
    {"pshufd $1, 8(%rip), %xmm0", {0x66, 0x0f, 0x70, 0x05, 8, 0, 0, 0, 1}, 9, 4},
    {"pshufb 8(%rip), %xmm0", {0x66, 0x0f, 0x38, 0x00, 0x05, 8}, 9, 5},
    {"palignr $1, 8(%rip), %xmm0", {0x66, 0x0f, 0x3a, 0x0f, 0x05, 8, 0, 0, 0, 1}, 10, 5},
    {"vzeroupper", {0xc5, 0xf8, 0x77}, 3, 0},
    {"vmovups 8(%rip), %ymm0", {0xc5, 0xfc, 0x10, 0x05, 8}, 8, 4},
    {"vpshufb 8(%rip), %ymm0, %ymm0", {0xc4, 0xe2, 0x7d, 0x00, 0x05, 8}, 9, 5},
    {"vpermq $1, 8(%rip), %ymm0", {0xc4, 0xe3, 0xfd, 0x00, 0x05, 8, 0, 0, 0, 1}, 10, 5},
    {"vmovups 8(%rip), %zmm0", {0x62, 0xf1, 0x7c, 0x48, 0x10, 0x05, 8}, 10, 6},
    {"vmovups 64(%rax), %zmm0", {0x62, 0xf1, 0x7c, 0x48, 0x10, 0x40, 1}, 7, 0},
    {"vpternlogd $1, 8(%rip), %zmm0, %zmm0",
     {0x62, 0xf3, 0x7d, 0x48, 0x25, 0x05, 8, 0, 0, 0, 1},
     11,
     6},
    {"vaddph 8(%rip), %zmm0, %zmm0", {0x62, 0xf5, 0x7c, 0x48, 0x58, 0x05, 8}, 10, 6},
    {"push of a segment, not in 64 bits", {0x06}, 0, 0},
    {"a rex prefix before another", {0x48, 0x48, 0x8b, 0x05}, 0, 0},
    {"mov 8(%rip), %r16", {0xd5, 0x48, 0x8b, 0x05, 8}, 8, 4},
    {"jmpabs", {0xd5, 0x00, 0xa1}, 11, 0},
    {"add $0x12345678, 8(%rip), %r16",
     {0x62, 0xf4, 0xfc, 0x10, 0x81, 0x05, 8, 0, 0, 0, 0x78, 0x56, 0x34, 0x12},
     14,
     6},
    {"{nf} addw $0x1234, 8(%rip), %ax",
     {0x62, 0xf4, 0x7d, 0x1c, 0x81, 0x05, 8, 0, 0, 0, 0x34, 0x12},
     12,
     6},
    {"shld $1, %rax, 8(%rip), %rcx", {0x62, 0xf4, 0xf4, 0x18, 0x24, 0x05, 8, 0, 0, 0, 1}, 11, 6},
    {"{evex} movbe 8(%rip), %r16", {0x62, 0xe4, 0xfc, 0x08, 0x60, 0x05, 8}, 10, 6},
    {"vprotb $1, 8(%rip), %xmm1", {0x8f, 0xe8, 0x78, 0xc0, 0x0d, 8, 0, 0, 0, 1}, 10, 5},
    {"bextr $1, 8(%rip), %eax", {0x8f, 0xea, 0x78, 0x10, 0x05, 8, 0, 0, 0, 1}, 13, 5},
    {"pop 8(%rip)", {0x8f, 0x05, 8}, 6, 2},
    {"pfadd 8(%rip), %mm0", {0x0f, 0x0f, 0x05, 8, 0, 0, 0, 0x9e}, 8, 3},
    {"urdmsr $1, %rax", {0xc4, 0xe7, 0x7b, 0xf8, 0xc0, 1}, 9, 0},
    {"extrq $1, $1, %xmm0, which is not known", {0x66, 0x0f, 0x78, 0xc0, 1, 1}, 0, 0},
};

static void instructions_end_where_their_assembler_ends_them(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    size_t displacement;
    size_t length = x86_instruction_length(cases[i].bytes, sizeof cases[i].bytes, &displacement);
    if (length != cases[i].length || (length && displacement != cases[i].displacement))
      fail_msg("%s: found %zu bytes and a displacement at %zu, expected %zu and %zu", cases[i].text,
               length, displacement, cases[i].length, cases[i].displacement);
  }
}

static void an_instruction_that_is_cut_off_has_no_length(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    for (size_t size = 0; size < cases[i].length; ++size) {
      size_t displacement;
      assert_int_equal(x86_instruction_length(cases[i].bytes, size, &displacement), 0);
    }
  }
}

static void sixteen_prefixes_are_no_instruction(void **state) {
  (void)state;
  uint8_t bytes[17];
  size_t displacement;
  for (size_t i = 0; i < sizeof bytes; ++i)
    bytes[i] = i < sizeof bytes - 1 ? 0x66 : 0xc3;
  assert_int_equal(x86_instruction_length(bytes, sizeof bytes, &displacement), 0);
  assert_int_equal(x86_instruction_length(bytes + 2, sizeof bytes - 2, &displacement), 15);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instructions_end_where_their_assembler_ends_them),
      cmocka_unit_test(an_instruction_that_is_cut_off_has_no_length),
      cmocka_unit_test(sixteen_prefixes_are_no_instruction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
