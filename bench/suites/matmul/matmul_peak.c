/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "suites/matmul/matmul_peak.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)

enum { rounds = 1000 };

/* Ones in each type: sums that stay finite, and no slow path of small numbers. */
enum { ones_f32 = 0x3f800000, ones_bf16 = 0x3f803f80, ones_s8 = 0x01010101 };

/* Twelve sums: as many as the latency of any of these instructions times how many begin in a cycle.
 * Registers beyond 15 are left alone: they have no names that every compiler takes here. */
#define THREE(X, r, a, b, c) X(r, a) X(r, b) X(r, c)
#define TWELVE(X, r)                                                                               \
  THREE(X, r, "0", "1", "2")                                                                       \
  THREE(X, r, "3", "4", "5")                                                                       \
  THREE(X, r, "6", "7", "8")                                                                       \
  THREE(X, r, "9", "10", "11")
#define CLEAR(r, i) "vpxor %%xmm" i ", %%xmm" i ", %%xmm" i "\n\t"
#define FMA(r, i) "vfmadd231ps %%" r "12, %%" r "13, %%" r i "\n\t"
#define DPBF16(r, i) "vdpbf16ps %%" r "12, %%" r "13, %%" r i "\n\t"
#define DPBUSD(r, i) "vpdpbusd %%" r "12, %%" r "13, %%" r i "\n\t"
#define CLOBBERS                                                                                   \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",         \
      "xmm11", "xmm12", "xmm13", "cc"

#define VECTORS(name, features, step, r, ones)                                                     \
  __attribute__((target(features))) static void name(void *unused) {                               \
    (void)unused;                                                                                  \
    unsigned word = (ones), count = rounds;                                                        \
    __asm__ volatile("vmovd %1, %%xmm12\n\t"                                                       \
                     "vpbroadcastd %%xmm12, %%" r "12\n\t"                                         \
                     "vpbroadcastd %%xmm12, %%" r                                                  \
                     "13\n\t" TWELVE(CLEAR, r) "1:\n\t" TWELVE(step, r)                            \
                         TWELVE(step, r) "dec %0\n\t"                                              \
                                         "jnz 1b\n\t"                                              \
                                         "vzeroupper"                                              \
                     : "+r"(count)                                                                 \
                     : "r"(word)                                                                   \
                     : CLOBBERS);                                                                  \
  }

VECTORS(fma_avx2, "avx2,fma", FMA, "ymm", ones_f32)
VECTORS(fma_avx512, "avx512f", FMA, "zmm", ones_f32)
VECTORS(dpbf16, "avx512f,avx512bf16", DPBF16, "zmm", ones_bf16)
VECTORS(dpbusd, "avx512f,avx512vnni", DPBUSD, "zmm", ones_s8)

/* What LDTILECFG reads: all tiles of 16 rows of 64 bytes. */
typedef struct tile_shape {
  unsigned char palette, start_row, reserved[14];
  unsigned short bytes_per_row[16];
  unsigned char rows[16];
} tile_shape;

#define TILES(name, features, instruction)                                                         \
  __attribute__((target(features))) static void name(void *unused) {                               \
    (void)unused;                                                                                  \
    tile_shape shape = {.palette = 1};                                                             \
    for (int tile = 0; tile < 8; ++tile) {                                                         \
      shape.bytes_per_row[tile] = 64;                                                              \
      shape.rows[tile] = 16;                                                                       \
    }                                                                                              \
    unsigned count = rounds;                                                                       \
    __asm__ volatile("ldtilecfg %1\n\t"                                                            \
                     "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\t"                   \
                     "tilezero %%tmm3\n\ttilezero %%tmm4\n\ttilezero %%tmm5\n\t"                   \
                     "tilezero %%tmm6\n\ttilezero %%tmm7\n\t"                                      \
                     "1:\n\t" instruction " %%tmm6, %%tmm4, %%tmm0\n\t" instruction                \
                     " %%tmm7, %%tmm4, %%tmm1\n\t" instruction                                     \
                     " %%tmm6, %%tmm5, %%tmm2\n\t" instruction " %%tmm7, %%tmm5, %%tmm3\n\t"       \
                     "dec %0\n\t"                                                                  \
                     "jnz 1b\n\t"                                                                  \
                     "tilerelease"                                                                 \
                     : "+r"(count)                                                                 \
                     : "m"(shape)                                                                  \
                     : "cc");                                                                      \
  }

TILES(tdpbf16, "amx-tile,amx-bf16", "tdpbf16ps")
TILES(tdpbusd, "amx-tile,amx-int8", "tdpbusd")

#define OF_VECTORS(lanes, values) (24.0 * 2 * (lanes) * (values) * (double)rounds)
#define OF_TILES(values) (4.0 * 2 * 16 * 16 * 16 * (values) * (double)rounds)

/* The fastest first. Bytes and bf16 without an instruction of their own have no peak that would
 * mean anything: how they are widened decides. */
static const matmul_peak peaks[] = {
    {KDL_MATMUL_F32_BF16, "amx_bf16", "TDPBF16PS", tdpbf16, OF_TILES(2)},
    {KDL_MATMUL_F32_BF16, "avx512_bf16", "VDPBF16PS", dpbf16, OF_VECTORS(16, 2)},
    {KDL_MATMUL_S32_S8, "amx_int8", "TDPBUSD", tdpbusd, OF_TILES(4)},
    {KDL_MATMUL_S32_S8, "avx512_vnni", "VPDPBUSD", dpbusd, OF_VECTORS(16, 4)},
    {KDL_MATMUL_F32_F32, "x86-64-v4", "VFMADD231PS", fma_avx512, OF_VECTORS(16, 1)},
    {KDL_MATMUL_F32_F32, "x86-64-v3", "VFMADD231PS", fma_avx2, OF_VECTORS(8, 1)},
    {KDL_MATMUL_F32_F16, "x86-64-v4", "VFMADD231PS", fma_avx512, OF_VECTORS(16, 1)},
    {KDL_MATMUL_F32_BF16, NULL, NULL, NULL, 0},
};

#else

static const matmul_peak peaks[] = {{KDL_MATMUL_F32_BF16, NULL, NULL, NULL, 0}};

#endif

/* Whether tokens, as "x86-64-v4+avx512_bf16+amx_tile", have a word. */
static bool has_token(const char *tokens, const char *word) {
  size_t length = strlen(word);
  for (const char *at = strstr(tokens, word); at; at = strstr(at + length, word)) {
    bool begins = at == tokens || at[-1] == '+';
    if (begins && (!at[length] || at[length] == '+'))
      return true;
  }
  return false;
}

const matmul_peak *matmul_peak_find(kdl_matmul_type type, const kdl_device_info *device) {
  for (const matmul_peak *peak = peaks; peak->requires; ++peak) {
    if (peak->type == type &&
        (has_token(device->arch, peak->requires) || has_token(device->features, peak->requires)))
      return peak;
  }
  return NULL;
}
