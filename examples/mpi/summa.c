/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * C = A B over MPI, on whatever device each process finds: the SUMMA algorithm. The processes are a
 * grid of rows and columns, and each has one block of A, B and C. In each step one column of
 * processes hands a panel of A along the rows of the grid, one row of them a panel of B along its
 * columns, and every process adds the product of the two to its C, while the next panels are on
 * their way.
 *
 *     mpirun -n 4 summa [--panel] PANELS.offload [N [WIDTH [ROUNDS]]]
 *
 * PANELS.offload is panel.c, compiled by kdl cc; CPUs have a faster way, unless --panel is given.
 * WIDTH is that of a panel; 0, as usual.
 * Elements are small whole numbers, so that every sum is exact and the same on every device; C is
 * compared with the definition in places. With WITH_SCALAPACK, pdgemm's single-precision sister
 * psgemm multiplies the same blocks on the same grid, in turn.
 */
#include "multiply.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct grid {
  int rank, size;
  int rows, columns; /* of processes */
  int row, column;
  MPI_Comm along_row, along_column;
} grid;

typedef struct problem {
  uint32_t n;     /* of the whole matrices; a multiple of the grid's rows and columns */
  uint32_t width; /* of a panel: divides a block */
  uint32_t m, k;  /* rows and columns of this process's block: of A m by k, of B and C others */
  float *a, *b, *c;
  float *panels[2][2]; /* those that are used and those that come; of A, of B */
  MPI_Request coming[2];
} problem;

static float element(uint64_t row, uint64_t column, uint32_t seed) {
  uint64_t mixed = (row * 1000003 + column * 7919 + seed) * 0x9e3779b97f4a7c15u;
  return (float)(mixed >> 62) - 1; /* -1 to 2 */
}

static void *room(uint64_t elements) {
  void *made = aligned_alloc(64, (elements * sizeof(float) + 63) / 64 * 64);
  if (!made) {
    fprintf(stderr, "summa: out of memory for %llu elements\n", (unsigned long long)elements);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return made;
}

static void make_grid(grid *out_grid) {
  int sides[2] = {0, 0};
  grid made;
  MPI_Comm_rank(MPI_COMM_WORLD, &made.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &made.size);
  MPI_Dims_create(made.size, 2, sides);
  made.rows = sides[0];
  made.columns = sides[1];
  made.row = made.rank / made.columns;
  made.column = made.rank % made.columns;
  MPI_Comm_split(MPI_COMM_WORLD, made.row, made.column, &made.along_row);
  MPI_Comm_split(MPI_COMM_WORLD, made.column, made.row, &made.along_column);
  *out_grid = made;
}

/* Adding a panel reads and writes all of C: the wider it is, the less often. Several are left where
 * there is something to overlap with. */
static uint32_t usual_width(const grid *on, uint32_t n) {
  uint32_t m = n / (uint32_t)on->rows, k = n / (uint32_t)on->columns;
  uint32_t most = on->size == 1 ? 2048 : 512, width = n < most ? n : most;
  while (width > 1 && (m % width || k % width))
    --width;
  return width;
}

static void make_problem(const grid *on, uint32_t n, uint32_t width, problem *out_problem) {
  problem made = {.n = n, .width = width, .m = n / (uint32_t)on->rows};
  made.k = n / (uint32_t)on->columns;
  made.a = room((uint64_t)made.m * made.k);
  made.b = room((uint64_t)made.m * made.k);
  made.c = room((uint64_t)made.m * made.k);
  for (uint32_t row = 0; row < made.m; ++row) {
    for (uint32_t column = 0; column < made.k; ++column) {
      uint64_t i = (uint64_t)on->row * made.m + row, j = (uint64_t)on->column * made.k + column;
      made.a[(uint64_t)row * made.k + column] = element(i, j, 1);
      made.b[(uint64_t)row * made.k + column] = element(i, j, 2);
    }
  }
  for (int turn = 0; turn < 2; ++turn) {
    made.panels[turn][0] = room((uint64_t)made.m * width);
    made.panels[turn][1] = room((uint64_t)width * made.k);
  }
  *out_problem = made;
}

/* Panel `step` begins its way: columns of A from one column of processes, rows of B from one row of
 * them. */
static void begin_step(const grid *on, problem *of, uint32_t step, int turn) {
  uint32_t start = step * of->width;
  int a_root = (int)(start / of->k), b_root = (int)(start / of->m);
  uint32_t a_column = start % of->k, b_row = start % of->m;
  float *a = of->panels[turn][0], *b = of->panels[turn][1];
  if (on->column == a_root) {
    for (uint32_t row = 0; row < of->m; ++row)
      memcpy(a + (uint64_t)row * of->width, of->a + (uint64_t)row * of->k + a_column,
             of->width * sizeof *a);
  }
  if (on->row == b_root)
    memcpy(b, of->b + (uint64_t)b_row * of->k, (size_t)of->width * of->k * sizeof *b);
  MPI_Ibcast(a, (int)(of->m * of->width), MPI_FLOAT, a_root, on->along_row, &of->coming[0]);
  MPI_Ibcast(b, (int)(of->width * of->k), MPI_FLOAT, b_root, on->along_column, &of->coming[1]);
}

static void multiply(const grid *on, problem *of, multiplier *with) {
  uint32_t steps = of->n / of->width;
  begin_step(on, of, 0, 0);
  for (uint32_t step = 0; step < steps; ++step) {
    int turn = (int)(step & 1);
    MPI_Waitall(2, of->coming, MPI_STATUSES_IGNORE);
    multiplier_wait(with); /* with the panels that are written next */
    if (step + 1 < steps)
      begin_step(on, of, step + 1, !turn);
    multiplier_add(with, of->panels[turn][0], of->panels[turn][1], of->width);
  }
  multiplier_finish(with);
}

/* Each element of some rows against its definition; sums are exact. */
static int count_wrong(const grid *on, const problem *of) {
  int wrong = 0;
  for (uint32_t row = 0; row < of->m; row += of->m > 8 ? of->m / 8 : 1) {
    for (uint32_t column = 0; column < of->k; column += 1 + of->k / 64) {
      uint64_t i = (uint64_t)on->row * of->m + row, j = (uint64_t)on->column * of->k + column;
      double sum = 0;
      for (uint32_t at = 0; at < of->n; ++at)
        sum += (double)element(i, at, 1) * (double)element(at, j, 2);
      wrong += of->c[(uint64_t)row * of->k + column] != (float)sum;
    }
  }
  return wrong;
}

static void say_where(const grid *on, const multiplier *with) {
  for (int rank = 0; rank < on->size; ++rank) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == on->rank) {
      printf("rank %d (%d, %d) on %s\n", rank, on->row, on->column, with->where);
      fflush(stdout);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static double slowest(double seconds) {
  double most;
  MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

#ifdef WITH_SCALAPACK
void psgemm_(const char *, const char *, const int *, const int *, const int *, const float *,
             const float *, const int *, const int *, const int *, const float *, const int *,
             const int *, const int *, const float *, float *, const int *, const int *,
             const int *);
void Cblacs_get(int, int, int *);
void Cblacs_gridinit(int *, const char *, int, int);
void descinit_(int *, const int *, const int *, const int *, const int *, const int *, const int *,
               const int *, const int *, int *);

/* ScaLAPACK's matrices lie by columns: it is given the transposes, C' = B' A', on the transposed
 * grid. */
static double peer_seconds(const grid *on, problem *of) {
  static int context = -1, description[9];
  const int zero = 0, one = 1, n = (int)of->n, m = (int)of->m, k = (int)of->k;
  const float alpha = 1, beta = 0;
  int failed;
  if (context < 0) {
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "Column", on->columns, on->rows);
    descinit_(description, &n, &n, &k, &m, &zero, &zero, &context, &k, &failed);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  psgemm_("N", "N", &n, &n, &n, &alpha, of->b, &one, &one, description, of->a, &one, &one,
          description, &beta, of->c, &one, &one, description);
  return slowest(MPI_Wtime() - begin);
}
#else
static double peer_seconds(const grid *on, problem *of) {
  (void)on;
  (void)of;
  return 0;
}
#endif

static int by_time(const void *left, const void *right) {
  const double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  grid on;
  problem of;
  multiplier with;
  make_grid(&on);
  bool by_panel = argc > 1 && strcmp(argv[1], "--panel") == 0;
  argc -= by_panel;
  argv += by_panel;
  uint32_t n = argc > 2 ? (uint32_t)atoi(argv[2]) : 512;
  uint32_t width = argc > 3 ? (uint32_t)atoi(argv[3]) : 0;
  if (!width && n)
    width = usual_width(&on, n);
  int rounds = argc > 4 ? atoi(argv[4]) : 1;
  if (argc < 2 || !width || rounds < 1 || rounds > 99 || n % (uint32_t)on.rows ||
      n % (uint32_t)on.columns || (n / (uint32_t)on.rows) % width ||
      (n / (uint32_t)on.columns) % width) {
    if (on.rank == 0)
      fprintf(
          stderr,
          "usage: summa [--panel] PANELS.offload [N [WIDTH [ROUNDS]]]; found %d by %d processes, "
          "which blocks of WIDTH must divide N among\n",
          on.rows, on.columns);
    MPI_Finalize();
    return 2;
  }
  make_problem(&on, n, width, &of);
  double times[99], peers[99], ratios[99];
  int wrong = 0, all_wrong;
  for (int round = 0; round < rounds; ++round) {
    multiplier_open(&with, argv[1], by_panel, of.c, of.m, of.k, width);
    if (round == 0)
      say_where(&on, &with);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    multiply(&on, &of, &with);
    times[round] = slowest(MPI_Wtime() - begin);
    multiplier_close(&with);
    wrong += count_wrong(&on, &of);
    memset(of.c, 0, (size_t)of.m * of.k * sizeof *of.c);
    peers[round] = peer_seconds(&on, &of);
    if (peers[round] > 0)
      wrong += count_wrong(&on, &of);
    ratios[round] = peers[round] / times[round];
  }
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  qsort(times, (size_t)rounds, sizeof *times, by_time);
  qsort(peers, (size_t)rounds, sizeof *peers, by_time);
  qsort(ratios, (size_t)rounds, sizeof *ratios, by_time);
  if (on.rank == 0) {
    double work = 2.0 * n * n * n / 1e9;
    printf("%u by %u on %d by %d processes: %.3f s, %.1f GFLOP/s, %d wrong\n", n, n, on.rows,
           on.columns, times[rounds / 2], work / times[rounds / 2], all_wrong);
    if (peers[rounds / 2] > 0)
      printf("ScaLAPACK: %.3f s, %.1f GFLOP/s; takes %.2f times as long (%.2f to %.2f)\n",
             peers[rounds / 2], work / peers[rounds / 2], ratios[rounds / 2], ratios[0],
             ratios[rounds - 1]);
  }
  MPI_Bcast(&all_wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return all_wrong ? 1 : 0;
}
