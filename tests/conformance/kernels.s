// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of kernels.c for NVIDIA GPUs.
.version 7.0
.target sm_70
.address_size 64

.visible .global .align 4 .u32 weight = 3;

.visible .entry scale(.param .f32 a, .param .u64 .ptr .global .align 4 x, .param .u64 .ptr .global .align 4 y, .param .u32 n) {
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %d<8>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [n];
  setp.ge.u32 %p, %r4, %r5;
  @%p bra done;
  ld.param.f32 %f1, [a];
  ld.param.u64 %d1, [x];
  ld.param.u64 %d2, [y];
  cvta.to.global.u64 %d3, %d1;
  cvta.to.global.u64 %d4, %d2;
  mul.wide.u32 %d5, %r4, 4;
  add.u64 %d6, %d3, %d5;
  add.u64 %d7, %d4, %d5;
  ld.global.f32 %f2, [%d6];
  mul.f32 %f3, %f1, %f2;
  st.global.f32 [%d7], %f3;
done:
  ret;
}

.visible .entry place(.param .u64 .ptr .global .align 4 out) {
  .reg .b32 %r<12>;
  .reg .b64 %d<5>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ctaid.y;
  mov.u32 %r3, %ctaid.z;
  mov.u32 %r4, %nctaid.x;
  mov.u32 %r5, %nctaid.y;
  mad.lo.u32 %r6, %r3, %r5, %r2;
  mad.lo.u32 %r7, %r6, %r4, %r1;
  mad.lo.u32 %r8, %r2, 10, %r1;
  mad.lo.u32 %r9, %r3, 100, %r8;
  ld.param.u64 %d1, [out];
  cvta.to.global.u64 %d2, %d1;
  mul.wide.u32 %d3, %r7, 4;
  add.u64 %d4, %d2, %d3;
  st.global.u32 [%d4], %r9;
  ret;
}

.visible .entry weigh(.param .u64 .ptr .global .align 4 out) {
  .reg .b32 %r<4>;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [out];
  cvta.to.global.u64 %d2, %d1;
  ld.global.u32 %r1, [weight];
  ld.global.u32 %r2, [%d2];
  mul.lo.u32 %r3, %r1, %r2;
  st.global.u32 [%d2], %r3;
  ret;
}
