/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Half precision and bfloat16 as storage, on every target:
 *
 *     kdl_half, kdl_bf16               a number in memory, without arithmetic
 *     kdl_half_float(h)                to float
 *     kdl_float_half(f)                from float, to nearest, ties to even
 *     kdl_bf16_float(b), kdl_float_bf16(f)
 *
 * _Float16 and __bf16 have arithmetic. In OpenCL C, SPIR-V and portable images, one with _Float16
 * needs a device with arithmetic for it (fp16); one with these storage types runs on any device.
 * Both kinds of types are f16 and bf16 in a signature.
 */
#ifndef KDL_KERNEL_HALF_H
#define KDL_KERNEL_HALF_H

typedef struct kdl_half {
  uint16_t bits;
} kdl_half;

typedef struct kdl_bf16 {
  uint16_t bits;
} kdl_bf16;

static inline float kdl_bf16_float(kdl_bf16 b) {
  return kdl_f32_bits((uint32_t)b.bits << 16);
}

static inline kdl_bf16 kdl_float_bf16(float f) {
  uint32_t bits = kdl_bits_f32(f), high = bits >> 16;
  kdl_bf16 b = {(uint16_t)(f != f ? high | 64 : (bits + 0x7fff + (high & 1)) >> 16)};
  return b;
}

#if KDL_OPENCL
static inline float kdl_half_float(kdl_half h) {
  return vload_half(0, (const half *)&h.bits);
}

static inline kdl_half kdl_float_half(float f) {
  kdl_half h;
  vstore_half_rte(f, 0, (half *)&h.bits);
  return h;
}
#elif defined(KDL_PORTABLE)
/* By the code below for the device: half precision is not a type that the image needs. */
static inline float kdl_half_float(kdl_half h) {
  return kdl_p1_half_float(h.bits);
}

static inline kdl_half kdl_float_half(float f) {
  kdl_half h = {(uint16_t)kdl_p1_float_half(f)};
  return h;
}
#elif defined(__SPIRV__)
/* Does not need the capability for arithmetic on halves. */
static inline float kdl_half_float(kdl_half h) {
  uint32_t sign = (uint32_t)(h.bits & 0x8000) << 16, rest = h.bits & 0x7fff;
  if (rest >= 0x7c00)
    return kdl_f32_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest >= 0x400)
    return kdl_f32_bits(sign | ((rest << 13) + 0x38000000));
  return kdl_f32_bits(sign | kdl_bits_f32((float)rest * 0x1p-24f));
}

static inline kdl_half kdl_float_half(float f) {
  uint32_t bits = kdl_bits_f32(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  uint32_t narrow;
  if (rest > 0x7f800000)
    narrow = 0x7e00;
  else if (rest >= 0x477ff000)
    narrow = 0x7c00;
  else if (rest >= 0x38800000)
    narrow = (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13;
  else /* adding 1/2 aligns the last bit with that of a subnormal half */
    narrow = kdl_bits_f32(kdl_f32_bits(rest) + 0.5f) - 0x3f000000;
  kdl_half h = {(uint16_t)(sign | narrow)};
  return h;
}
#else
static inline float kdl_half_float(kdl_half h) {
  union {
    uint16_t bits;
    _Float16 value;
  } pun = {h.bits};
  return (float)pun.value;
}

static inline kdl_half kdl_float_half(float f) {
  union {
    _Float16 value;
    uint16_t bits;
  } pun = {(_Float16)f};
  kdl_half h = {pun.bits};
  return h;
}
#endif

#endif
