/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels whose work-items wait for one another; barriers.py has what each of them gives. N is the
 * number of work-items in a group, and a group does its N elements. */
#include <kdl/kernel.h>

#ifdef FIXED
#define BLOCK KDL_BLOCK(N)
#else
#define BLOCK
#endif
#define INDEX (__gpu_block_id(0) * N + __gpu_thread_id(0))
typedef const __gpu_global uint32_t *in;
typedef __gpu_global uint32_t *out;

/* The textbook's, for sizes that are no power of two as well. */
BLOCK __gpu_kernel void reduce(in x, out y) {
  KDL_LOCAL(uint32_t, sums[N]);
  uint32_t t = __gpu_thread_id(0);
  sums[t] = x[INDEX];
  __gpu_sync_threads();
  uint32_t left = N;
  while (left > 1) {
    uint32_t half = (left + 1) / 2;
    if (t + half < left)
      sums[t] += sums[t + half];
    left = half;
    __gpu_sync_threads();
  }
  if (t == 0)
    y[__gpu_block_id(0)] = sums[0];
}

/* Hillis and Steele's inclusive scan: two buffers in turn, two barriers in a row. */
BLOCK __gpu_kernel void scan(in x, out y) {
  KDL_LOCAL(uint32_t, sums[2][N]);
  uint32_t t = __gpu_thread_id(0), from = 0;
  sums[0][t] = x[INDEX];
  __gpu_sync_threads();
  __gpu_sync_threads();
  for (uint32_t step = 1; step < N; step *= 2) {
    uint32_t to = 1 - from;
    sums[to][t] = sums[from][t] + (t >= step ? sums[from][t - step] : 0);
    from = to;
    __gpu_sync_threads();
  }
  y[INDEX] = sums[from][t];
}

/* Blelloch's exclusive scan over the largest power of two; the rest stays as it is. */
BLOCK __gpu_kernel void blelloch(in x, out y) {
  KDL_LOCAL(uint32_t, sums[N]);
  uint32_t t = __gpu_thread_id(0), size = 1, step = 1;
  while (size * 2 <= N)
    size *= 2;
  sums[t] = x[INDEX];
  for (uint32_t d = size / 2; d > 0; d /= 2) {
    __gpu_sync_threads();
    if (t < d)
      sums[step * (2 * t + 2) - 1] += sums[step * (2 * t + 1) - 1];
    step *= 2;
  }
  if (t == 0)
    sums[size - 1] = 0;
  for (uint32_t d = 1; d < size; d *= 2) {
    step /= 2;
    __gpu_sync_threads();
    if (t < d) {
      uint32_t a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1;
      uint32_t kept = sums[a];
      sums[a] = sums[b];
      sums[b] += kept;
    }
  }
  __gpu_sync_threads();
  y[INDEX] = sums[t];
}

BLOCK __gpu_kernel void reverse(in x, out y) {
  KDL_LOCAL(uint32_t, all[N]);
  uint32_t t = __gpu_thread_id(0);
  all[t] = x[INDEX];
  __gpu_sync_threads();
  y[INDEX] = all[N - 1 - t];
}

/* 16 bins; atomics in group memory. */
BLOCK __gpu_kernel void histogram(in x, out y) {
  KDL_LOCAL(uint32_t, bins[16]);
  for (uint32_t i = __gpu_thread_id(0); i < 16; i += N)
    bins[i] = 0;
  __gpu_sync_threads();
  kdl_atomic_add(&bins[x[INDEX] % 16], 1);
  __gpu_sync_threads();
  for (uint32_t i = __gpu_thread_id(0); i < 16; i += N)
    y[__gpu_block_id(0) * 16 + i] = bins[i];
}

/* Odd-even transposition: a sort for every size. */
BLOCK __gpu_kernel void sort(in x, out y) {
  KDL_LOCAL(uint32_t, all[N]);
  uint32_t t = __gpu_thread_id(0);
  all[t] = x[INDEX];
  for (uint32_t round = 0; round < N; ++round) {
    __gpu_sync_threads();
    if (t % 2 == round % 2 && t + 1 < N && all[t] > all[t + 1]) {
      uint32_t kept = all[t];
      all[t] = all[t + 1];
      all[t + 1] = kept;
    }
  }
  __gpu_sync_threads();
  y[INDEX] = all[t];
}

/* Bitonic, over the largest power of two. */
BLOCK __gpu_kernel void bitonic(in x, out y) {
  KDL_LOCAL(uint32_t, all[N]);
  uint32_t t = __gpu_thread_id(0), size = 1;
  while (size * 2 <= N)
    size *= 2;
  all[t] = x[INDEX];
  __gpu_sync_threads();
  for (uint32_t k = 2; k <= size; k *= 2) {
    for (uint32_t j = k / 2; j > 0; j /= 2) {
      uint32_t other = t ^ j;
      if (other > t && other < size && t < size) {
        uint32_t a = all[t], b = all[other];
        if ((a > b) == ((t & k) == 0)) {
          all[t] = b;
          all[other] = a;
        }
      }
      __gpu_sync_threads();
    }
  }
  y[INDEX] = all[t];
}

/* Three-point sums, with a halo that the first work-items bring. */
BLOCK __gpu_kernel void stencil(in x, out y) {
  KDL_LOCAL(uint32_t, row[N + 2]);
  uint32_t t = __gpu_thread_id(0), i = INDEX, count = __gpu_num_blocks(0) * N;
  row[t + 1] = x[i];
  if (t == 0) {
    row[0] = i ? x[i - 1] : 0;
    row[N + 1] = i + N < count ? x[i + N] : 0;
  }
  __gpu_sync_threads();
  y[i] = row[t] + row[t + 1] + row[t + 2];
}

/* A barrier in a function, and in one that it calls, and one that is not to be inlined. */
static __attribute__((noinline)) uint32_t exchange(uint32_t *place, uint32_t t, uint32_t value) {
  place[t] = value;
  __gpu_sync_threads();
  uint32_t other = place[(t + 1) % N];
  __gpu_sync_threads();
  return other;
}
static uint32_t twice(uint32_t *place, uint32_t value) {
  return exchange(place, __gpu_thread_id(0), exchange(place, __gpu_thread_id(0), value));
}
BLOCK __gpu_kernel void callee(in x, out y) {
  KDL_LOCAL(uint32_t, place[N]);
  y[INDEX] = twice(place, x[INDEX]);
}

/* Under conditions that are the same for all: from an argument, from memory, from the group. */
BLOCK __gpu_kernel void branches(in x, out y) {
  KDL_LOCAL(uint32_t, place[N]);
  uint32_t t = __gpu_thread_id(0), v = x[INDEX];
  place[t] = v;
  if (__gpu_block_id(0) % 2) {
    __gpu_sync_threads();
    v += place[(t + 1) % N];
  } else {
    v *= 3;
  }
  if (x[0] % 2 == 1) {
    __gpu_sync_threads();
    place[t] = v;
    __gpu_sync_threads();
    v = place[(t + 2) % N];
  }
  y[INDEX] = v;
}

/* Leaves the loop by a condition that all read from group memory. */
BLOCK __gpu_kernel void until(in x, out y) {
  KDL_LOCAL(uint32_t, most);
  KDL_LOCAL(uint32_t, rounds);
  uint32_t t = __gpu_thread_id(0), v = x[INDEX] % 9;
  if (t == 0)
    rounds = 0;
  for (;;) {
    if (t == 0)
      most = 0;
    __gpu_sync_threads();
    kdl_atomic_max(&most, v);
    __gpu_sync_threads();
    if (most == 0)
      break;
    if (v)
      --v;
    if (t == 0)
      ++rounds;
    __gpu_sync_threads();
    if (rounds > 20)
      return;
  }
  y[INDEX] = rounds;
}

/* Arrays and structures of one work-item, across barriers. */
struct pair {
  uint32_t a;
  uint64_t b;
};
BLOCK __gpu_kernel void private_memory(in x, out y) {
  KDL_LOCAL(uint32_t, place[N]);
  uint32_t t = __gpu_thread_id(0), kept[5], sum = 0;
  struct pair pair = {x[INDEX], t};
  for (uint32_t i = 0; i < 5; ++i)
    kept[i] = x[INDEX] + i;
  for (uint32_t i = 0; i < 5; ++i) {
    place[t] = kept[(i + t) % 5];
    __gpu_sync_threads();
    kept[(i + t + 1) % 5] += place[(t + i) % N];
    pair.b += pair.a ^ i;
    __gpu_sync_threads();
  }
  for (uint32_t i = 0; i < 5; ++i)
    sum = sum * 31 + kept[i];
  y[INDEX] = sum + (uint32_t)pair.b;
}

/* Work that differs between barriers: loops of different lengths, with continue and break. */
BLOCK __gpu_kernel void uneven(in x, out y) {
  KDL_LOCAL(uint32_t, place[N]);
  uint32_t t = __gpu_thread_id(0), v = x[INDEX], sum = 0;
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < v % 7 + t % 3; ++i) {
      if ((i ^ t) % 3 == 0)
        continue;
      if (sum > 1000)
        break;
      sum += i * round + 1;
    }
    place[t] = sum;
    __gpu_sync_threads();
    if (t % 2)
      sum += place[t - 1];
    else if (t + 1 < N)
      sum ^= place[t + 1];
    __gpu_sync_threads();
    if (round == 1)
      continue;
    v = v * 1664525 + 1013904223;
  }
  y[INDEX] = sum;
}

/* A barrier in each case of a switch, and a loop that goes on in the middle. */
BLOCK __gpu_kernel void cases(in x, out y) {
  KDL_LOCAL(uint32_t, place[N]);
  uint32_t t = __gpu_thread_id(0), v = x[INDEX];
  for (uint32_t i = 0; i < 6; ++i) {
    place[t] = v;
    switch ((i + __gpu_block_id(0)) % 4) {
    case 0:
      __gpu_sync_threads();
      v += place[(t + 1) % N];
      break;
    case 1:
      v ^= i;
      continue;
    case 2:
      __gpu_sync_threads();
      v -= place[(t + 3) % N];
      /* fallthrough */
    default:
      v = v << 1 | v >> 31;
    }
    __gpu_sync_threads();
  }
  y[INDEX] = v;
}

/* Not all work-items come: the error names the lines. */
BLOCK __gpu_kernel void divergent(in x, out y) {
  KDL_LOCAL(uint32_t, place[N]);
  uint32_t t = __gpu_thread_id(0);
  place[t] = x[INDEX];
  if (x[INDEX] % 5 != 3)
    __gpu_sync_threads();
  y[INDEX] = place[N - 1 - t];
}

/* Comes into a condition from across a barrier, and leaves out of another. */
BLOCK __gpu_kernel void jumps(in x, out y) {
  KDL_LOCAL(uint32_t, place[N]);
  uint32_t t = __gpu_thread_id(0), v = x[INDEX];
  if (__gpu_block_id(0) % 2) {
    place[t] = v;
    __gpu_sync_threads();
    v = place[(t + 1) % N];
    goto in;
  }
  if (v % 3) {
  in:
    v = v * 5 + 1;
  } else if (v & 4) {
    y[INDEX] = 7;
    return;
  }
  y[INDEX] = v;
}

/* Turns of a loop around barriers that follow from one another, in memory of the work-item's own:
 * groups that are so small that loops over them are unrolled. */
BLOCK __gpu_kernel void follows(in x, out y) {
  uint32_t t = __gpu_thread_id(0), kept[4] = {x[INDEX], t, 3, 4}, rounds = x[0] % 4 + 4;
  for (uint32_t i = 0; i < rounds; ++i) {
    __gpu_sync_threads();
    kept[(kept[i & 3] + i) & 3] = kept[(i + 1) & 3] * 5 + i;
  }
  y[INDEX] = kept[0] ^ kept[1] * 3 ^ kept[2] * 5 ^ kept[3] * 7;
}

/* Stores of a stride, and loads of the same places in the same turn. */
BLOCK __gpu_kernel void strides(in x, out y) {
  uint32_t t = __gpu_thread_id(0), v = x[INDEX], kept[4] = {v, t, 3, 4};
  if ((kept[(v >> 3) & 3] + t) & 1) {
    kept[(kept[v & 3] + v) & 3] = t;
    v += x[t];
  } else {
    kept[v & 3] = kept[(v >> 1) & 3] * 5;
  }
  __gpu_sync_threads();
  y[INDEX] = v ^ kept[0] ^ kept[1] * 3 ^ kept[2] * 5 ^ kept[3] * 7;
}

/* Loops of different lengths, out of which none returns before the barrier. */
BLOCK __gpu_kernel void returns(in x, out y) {
  KDL_LOCAL(uint32_t, place[N]);
  uint32_t t = __gpu_thread_id(0), v = x[INDEX], sum = 0;
  for (uint32_t i = 0; i < v % 7; ++i) {
    sum += i;
    if (sum > 100)
      return;
  }
  place[t] = sum;
  __gpu_sync_threads();
  y[INDEX] = place[(t + 1) % N];
}
