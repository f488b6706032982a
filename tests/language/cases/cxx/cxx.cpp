/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* C++: what there is of it in a kernel. */
#include <kdl/kernel.h>

// args: f32[8]=iota f32[8] u32=8
// items: 8
// not: opencl-c
// arg1: 0 2 4 6 8 10 12 14
template <class T> static inline T cxx_twice_of(T x) {
  return x + x;
}
KDL_BLOCK(4)
__gpu_kernel void cxx_template(const __gpu_global float *x, __gpu_global float *y, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    y[i] = cxx_twice_of(x[i]);
}

// args: i32[8]=iota i32[8] i32=5
// items: 8
// not: opencl-c
// arg1: 5 6 7 8 9 10 11 12
template <class F> static inline void cxx_each(F f) {
  f(__gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0));
}
KDL_BLOCK(4)
__gpu_kernel void cxx_lambda(const __gpu_global int32_t *x, __gpu_global int32_t *y, int32_t a) {
  cxx_each([=](uint32_t i) { y[i] = x[i] + a; });
}

// args: i32[4]=iota i32[4]
// items: 4
// not: opencl-c
// arg1: 1 3 5 7
KDL_BLOCK(4)
__gpu_kernel void cxx_lambda_by_reference(const __gpu_global int32_t *x, __gpu_global int32_t *y) {
  int32_t sum = 0;
  auto add = [&sum](int32_t v) { sum += v; };
  uint32_t i = __gpu_thread_id(0);
  add(x[i]);
  add(x[i] + 1);
  y[i] = sum;
}

// args: {f32=2,u32=3,f32=0.5} f32[4]
// items: 4
// not: opencl-c
// arg1: 0.5 6.5 12.5 18.5
namespace cxx_space {
struct params {
  float a;
  uint32_t n;
  float b;
};
KDL_BLOCK(4)
__gpu_kernel void cxx_namespace(params p, __gpu_global float *y) {
  uint32_t i = __gpu_thread_id(0);
  y[i] = p.a * static_cast<float>(p.n * i) + p.b;
}
} // namespace cxx_space

// args: u32[24]
// grid: 2 3 4
// block: 1 1 1
// not: opencl-c
// arg0: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23
struct cxx_position {
  uint32_t x, y, z;
  static cxx_position here() { return {__gpu_block_id(0), __gpu_block_id(1), __gpu_block_id(2)}; }
  constexpr uint32_t in(uint32_t width, uint32_t height) const { return (z * height + y) * width + x; }
};
__gpu_kernel void cxx_grid(__gpu_global uint32_t *y) {
  uint32_t i = cxx_position::here().in(2, 3);
  y[i] = i;
}

// args: i32[5] i32=3
// items: 5
// not: opencl-c
// arg0: 1 4 9 16 3
static constexpr int32_t cxx_squares[] = {1, 4, 9, 16};
KDL_BLOCK(5)
__gpu_kernel void cxx_constexpr(__gpu_global int32_t *y, int32_t other) {
  uint32_t i = __gpu_thread_id(0);
  y[i] = i < sizeof cxx_squares / sizeof *cxx_squares ? cxx_squares[i] : other;
}

// args: f32[2] i32[2]
// grid: 1
// block: 1
// not: opencl-c
// arg0: 1.5 2
// arg1: 15 20
static inline float cxx_scaled(float x) {
  return x * 0.5f;
}
static inline int32_t cxx_scaled(int32_t x) {
  return x * 5;
}
__gpu_kernel void cxx_overload(__gpu_global float *y, __gpu_global int32_t *z) {
  y[0] = cxx_scaled(3.0f);
  y[1] = cxx_scaled(4.0f);
  z[0] = cxx_scaled(3);
  z[1] = cxx_scaled(4);
}

// args: i32[3]
// grid: 1
// block: 1
// not: opencl-c
// arg0: 10 24 4
template <class... T> static constexpr int32_t cxx_sum_of(T... values) {
  return (0 + ... + values);
}
template <class... T> static constexpr int32_t cxx_product_of(T... values) {
  return (1 * ... * values);
}
template <class... T> static constexpr int32_t cxx_count_of(T...) {
  return sizeof...(T);
}
__gpu_kernel void cxx_fold(__gpu_global int32_t *y) {
  y[0] = cxx_sum_of(1, 2, 3, 4);
  y[1] = cxx_product_of(1, 2, 3, 4);
  y[2] = cxx_count_of(1, 2, 3, 4);
}

// args: f32[4]=1,2,3,4 f32[2]
// grid: 1
// block: 1
// not: opencl-c
// arg1: 4 6
struct cxx_pair {
  float a, b;
  friend constexpr cxx_pair operator+(cxx_pair l, cxx_pair r) { return {l.a + r.a, l.b + r.b}; }
};
__gpu_kernel void cxx_operator(const __gpu_global float *x, __gpu_global float *y) {
  auto [a, b] = cxx_pair{x[0], x[1]} + cxx_pair{x[2], x[3]};
  y[0] = a;
  y[1] = b;
}

// args: i32[2] f32[2]
// grid: 1
// block: 1
// not: opencl-c
// arg0: 3 4
// arg1: 1.75 2
template <class T> static inline T cxx_half_of(T x) {
  if constexpr (__is_same(T, float))
    return x * 0.5f;
  else
    return x / 2;
}
__gpu_kernel void cxx_if_constexpr(__gpu_global int32_t *y, __gpu_global float *z) {
  y[0] = cxx_half_of(7);
  y[1] = cxx_half_of(8);
  z[0] = cxx_half_of(3.5f);
  z[1] = cxx_half_of(4.0f);
}

// args: u32=1 i32[2]
// grid: 1
// block: 1
// not: opencl-c
// arg1: 7 0
enum class cxx_mode : uint32_t { none, some };
__gpu_kernel void cxx_enum(cxx_mode mode, __gpu_global int32_t *y) {
  switch (mode) {
  case cxx_mode::none:
    y[0] = 1;
    break;
  case cxx_mode::some:
    y[0] = 7;
    break;
  }
}

// args: f32[16]=iota f32[16]
// items: 16
// not: opencl-c
// arg1: 28 28 28 28 28 28 28 28 92 92 92 92 92 92 92 92
template <class T, uint32_t N> static inline T cxx_group_sum(T value) {
  KDL_LOCAL(T, scratch[N]);
  uint32_t thread = __gpu_thread_id(0);
  scratch[thread] = value;
  __gpu_sync_threads();
  for (uint32_t left = N / 2; left > 0; left /= 2) {
    if (thread < left)
      scratch[thread] += scratch[thread + left];
    __gpu_sync_threads();
  }
  return scratch[0];
}
KDL_BLOCK(8)
__gpu_kernel void cxx_template_barrier(const __gpu_global float *x, __gpu_global float *y) {
  uint32_t i = __gpu_block_id(0) * 8 + __gpu_thread_id(0);
  y[i] = cxx_group_sum<float, 8>(x[i]);
}

// args: f32[8]=iota f32[8]
// items: 8
// not: opencl-c
// arg1: 7 6 5 4 3 2 1 0
class cxx_mirror {
public:
  float get(float value) const {
    KDL_LOCAL(float, all[8]);
    uint32_t thread = __gpu_thread_id(0);
    all[thread] = value;
    auto wait = [] { __gpu_sync_threads(); };
    wait();
    return all[7 - thread];
  }
};
KDL_BLOCK(8)
__gpu_kernel void cxx_member_barrier(const __gpu_global float *x, __gpu_global float *y) {
  uint32_t i = __gpu_thread_id(0);
  y[i] = cxx_mirror().get(x[i]);
}

// args: f32[4]=4,3,2,1 f32[4]
// grid: 1
// block: 1
// not: opencl-c
// arg1: 1 2 3 4
template <class T> static inline void cxx_swap(T &a, T &b) {
  T before = a;
  a = b;
  b = before;
}
__gpu_kernel void cxx_references(const __gpu_global float *x, __gpu_global float *y) {
  float all[4] = {x[0], x[1], x[2], x[3]};
  cxx_swap(all[0], all[3]);
  cxx_swap(all[1], all[2]);
  uint32_t i = 0;
  for (float value : all)
    y[i++] = value;
}

// args: f32[2]
// grid: 1
// block: 1
// not: opencl-c
// arg0: 6 2
struct cxx_shape {
  float side;
  float area() const { return side * side; }
};
struct cxx_box : cxx_shape {
  float height;
  float volume() const { return area() * height; }
};
__gpu_kernel void cxx_inheritance(__gpu_global float *y) {
  cxx_box box{{2}, 1.5f};
  y[0] = box.volume();
  y[1] = box.side;
}
