/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Rodinia: inputs, launches and plain forms as the suite has them (cuda/ and openmp/), of smaller
 * sizes. */
#include "suite.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { side = 16, path_items = 256 };

static int32_t least_of(int32_t a, int32_t b) {
  return a < b ? a : b;
}
static int32_t most_of(int32_t a, int32_t b) {
  return a > b ? a : b;
}

/* ------------------------------------------------------------------------------------------ */
/* hotspot                                                                                      */

typedef struct {
  float per_heat, rx, ry, rz;
} chip;

/* A chip of 16 mm by 16 mm and 0.5 mm, of silicon. */
static chip chip_of(int32_t rows, int32_t columns) {
  const double thick = 0.0005, high = 0.016, wide = 0.016, heat = 1.75e6, conducts = 100,
               factor = 0.5;
  double height = high / rows, width = wide / columns;
  double capacity = factor * heat * thick * width * height;
  double slope = 3.0e6 / (factor * thick * heat), step = 0.001 / slope;
  return (chip){(float)(step / capacity), (float)((2.0 * conducts * thick * height) / width),
                (float)((2.0 * conducts * thick * width) / height),
                (float)((conducts * height * width) / thick)};
}

static void hotspot_plain(int32_t rows, int32_t columns, const chip *c, const float *power,
                          const float *from, float *to) {
  for (int32_t r = 0; r < rows; ++r) {
    for (int32_t k = 0; k < columns; ++k) {
      int32_t at = r * columns + k;
      float here = from[at], north = from[most_of(r - 1, 0) * columns + k],
            south = from[least_of(r + 1, rows - 1) * columns + k],
            west = from[r * columns + most_of(k - 1, 0)],
            east = from[r * columns + least_of(k + 1, columns - 1)];
      to[at] = here + c->per_heat * (power[at] + (south + north - 2.0f * here) * c->ry +
                                     (east + west - 2.0f * here) * c->rx + (80.0f - here) * c->rz);
    }
  }
}

static void hotspot(suite *s) {
  int32_t rows = 64, columns = 64, total = 7, height = 2, border = 2;
  size_t size = (size_t)(rows * columns) * 4;
  chip c = chip_of(rows, columns);
  shared power = share(s, size), heat[2] = {share(s, size), share(s, size)};
  for (int32_t i = 0; i < rows * columns; ++i) { /* the range of the suite's files */
    ((float *)power.host)[i] = (float)(rand() % 1000) * 1e-5f;
    ((float *)heat[0].host)[i] = 320.0f + (float)(rand() % 1000) * 0.02f;
  }
  float *want = memcpy(malloc(size), heat[0].host, size), *next = malloc(size);
  send(s, &power);
  send(s, &heat[0]);
  unsigned groups = GROUPS(columns, side - 2 * height);
  int from = 0;
  for (int32_t t = 0; t < total; t += height, from = 1 - from) {
    int32_t steps = least_of(height, total - t);
    run(s, "hotspot", groups, groups,
        KDL_ARGS(&steps, &power.buffer, &heat[from].buffer, &heat[1 - from].buffer, &columns, &rows,
                 &border, &c.per_heat, &c.rx, &c.ry, &c.rz));
  }
  receive(s, &heat[from]);
  for (int32_t t = 0; t < total; ++t) {
    hotspot_plain(rows, columns, &c, power.host, want, next);
    memcpy(want, next, size);
  }
  compare_floats(s, "Rodinia hotspot", heat[from].host, want, size / 4, 1e-6);
  free(want);
  free(next);
  unshare(&power);
  unshare(&heat[0]);
  unshare(&heat[1]);
}

/* ------------------------------------------------------------------------------------------ */
/* pathfinder                                                                                   */

static void pathfinder(suite *s) {
  int32_t rows = 48, columns = 1000, height = 20, border = 20;
  shared wall = share(s, (size_t)((rows - 1) * columns) * 4),
         ways[2] = {share(s, (size_t)columns * 4), share(s, (size_t)columns * 4)};
  int32_t *want = malloc(ways[0].size), *before = malloc(ways[0].size);
  srand(9);
  for (int32_t i = 0; i < rows * columns; ++i) {
    int32_t cost = rand() % 10;
    *(i < columns ? (int32_t *)ways[0].host + i : (int32_t *)wall.host + i - columns) = cost;
  }
  memcpy(want, ways[0].host, ways[0].size);
  send(s, &wall);
  send(s, &ways[0]);
  int from = 0;
  for (int32_t t = 0; t < rows - 1; t += height, from = 1 - from) {
    int32_t steps = least_of(height, rows - t - 1);
    run(s, "pathfinder", GROUPS(columns, path_items - 2 * height), 1,
        KDL_ARGS(&steps, &wall.buffer, &ways[from].buffer, &ways[1 - from].buffer, &columns, &t,
                 &border));
  }
  receive(s, &ways[from]);
  for (int32_t t = 0; t < rows - 1; ++t) {
    memcpy(before, want, ways[0].size);
    for (int32_t n = 0; n < columns; ++n)
      want[n] = ((int32_t *)wall.host)[t * columns + n] +
                least_of(least_of(before[most_of(n - 1, 0)], before[n]),
                         before[least_of(n + 1, columns - 1)]);
  }
  compare_ints(s, "Rodinia pathfinder", ways[from].host, want, (size_t)columns);
  free(want);
  free(before);
  unshare(&wall);
  unshare(&ways[0]);
  unshare(&ways[1]);
}

/* ------------------------------------------------------------------------------------------ */
/* nw                                                                                           */

/* The suite's table is BLOSUM62, of which the rows and columns 1 to 10 are met. */
static const int32_t likeness[11][11] = {
    {4, -1, -2, -2, 0, -1, -1, 0, -2, -1, -1},  {-1, 5, 0, -2, -3, 1, 0, -2, 0, -3, -2},
    {-2, 0, 6, 1, -3, 0, 0, 0, 1, -3, -3},      {-2, -2, 1, 6, -3, 0, 2, -1, -1, -3, -4},
    {0, -3, -3, -3, 9, -3, -4, -3, -3, -1, -1}, {-1, 1, 0, 0, -3, 5, 2, -2, 0, -3, -2},
    {-1, 0, 0, 2, -4, 2, 5, -2, 0, -3, -3},     {0, -2, 0, -1, -3, -2, -2, 6, -2, -4, -4},
    {-2, 0, 1, -1, -3, 0, 0, -2, 8, -3, -3},    {-1, -3, -3, -3, -1, -3, -3, -4, -3, 4, 2},
    {-1, -2, -3, -4, -1, -2, -3, -4, -3, 2, 4},
};

static void nw(suite *s) {
  int32_t n = 129, penalty = 10, width = (n - 1) / side, is_lower = 0;
  size_t size = (size_t)(n * n) * 4;
  shared table = share(s, size), similar = share(s, size);
  int32_t *scores = table.host, *like = similar.host;
  srand(7);
  for (int32_t i = 1; i < n; ++i)
    scores[i * n] = rand() % 10 + 1;
  for (int32_t j = 1; j < n; ++j)
    scores[j] = rand() % 10 + 1;
  for (int32_t i = 1; i < n; ++i) {
    for (int32_t j = 1; j < n; ++j)
      like[i * n + j] = likeness[scores[i * n]][scores[j]];
  }
  for (int32_t i = 1; i < n; ++i)
    scores[i * n] = scores[i] = -i * penalty;
  int32_t *want = memcpy(malloc(size), scores, size);
  send(s, &table);
  send(s, &similar);
  for (int32_t i = 1; i <= width; ++i)
    run(s, "needle", (unsigned)i, 1,
        KDL_ARGS(&similar.buffer, &table.buffer, &n, &penalty, &i, &width, &is_lower));
  is_lower = 1;
  for (int32_t i = width - 1; i >= 1; --i)
    run(s, "needle", (unsigned)i, 1,
        KDL_ARGS(&similar.buffer, &table.buffer, &n, &penalty, &i, &width, &is_lower));
  receive(s, &table);
  for (int32_t i = 1; i < n; ++i) {
    for (int32_t j = 1; j < n; ++j)
      want[i * n + j] = most_of(
          most_of(want[(i - 1) * n + j - 1] + like[i * n + j], want[i * n + j - 1] - penalty),
          want[(i - 1) * n + j] - penalty);
  }
  compare_ints(s, "Rodinia nw", scores, want, size / 4);
  free(want);
  unshare(&table);
  unshare(&similar);
}

/* ------------------------------------------------------------------------------------------ */
/* bfs                                                                                          */

typedef struct {
  int32_t first, count;
} node;

/* A random graph, as the suite's files have them: nodes with a few edges each. */
static int32_t make_graph(node *nodes, int32_t *edges, int32_t count) {
  int32_t used = 0;
  for (int32_t i = 0; i < count; ++i) {
    nodes[i] = (node){used, rand() % 7 + 2};
    for (int32_t k = 0; k < nodes[i].count; ++k)
      edges[used++] = rand() % count;
  }
  return used;
}

static void bfs_plain(const node *nodes, const int32_t *edges, int32_t count, int32_t *cost) {
  int32_t *queue = malloc((size_t)count * 4), head = 0, tail = 0;
  for (int32_t i = 0; i < count; ++i)
    cost[i] = -1;
  cost[0] = 0;
  queue[tail++] = 0;
  while (head < tail) {
    int32_t from = queue[head++];
    for (int32_t k = 0; k < nodes[from].count; ++k) {
      int32_t to = edges[nodes[from].first + k];
      if (cost[to] >= 0)
        continue;
      cost[to] = cost[from] + 1;
      queue[tail++] = to;
    }
  }
  free(queue);
}

static void bfs(suite *s) {
  int32_t count = 3000;
  shared nodes = share(s, (size_t)count * sizeof(node)), edges = share(s, (size_t)count * 8 * 4),
         front = share(s, (size_t)count), next = share(s, (size_t)count),
         visited = share(s, (size_t)count), cost = share(s, (size_t)count * 4),
         goes_on = share(s, 4);
  srand(7);
  make_graph(nodes.host, edges.host, count);
  int32_t *want = malloc(cost.size);
  bfs_plain(nodes.host, edges.host, count, want);
  memset(cost.host, 0xff, cost.size);
  ((int32_t *)cost.host)[0] = 0;
  ((uint8_t *)front.host)[0] = ((uint8_t *)visited.host)[0] = 1;
  const shared *all[] = {&nodes, &edges, &front, &next, &visited, &cost};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    send(s, all[i]);
  do {
    *(uint32_t *)goes_on.host = 0;
    send(s, &goes_on);
    run(s, "bfs_visit", GROUPS(count, 256), 1,
        KDL_ARGS(&nodes.buffer, &edges.buffer, &front.buffer, &next.buffer, &visited.buffer,
                 &cost.buffer, &count));
    run(s, "bfs_advance", GROUPS(count, 256), 1,
        KDL_ARGS(&front.buffer, &next.buffer, &visited.buffer, &goes_on.buffer, &count));
    receive(s, &goes_on);
  } while (*(uint32_t *)goes_on.host);
  receive(s, &cost);
  compare_ints(s, "Rodinia bfs", cost.host, want, (size_t)count);
  free(want);
  unshare(&nodes);
  unshare(&edges);
  unshare(&front);
  unshare(&next);
  unshare(&visited);
  unshare(&cost);
  unshare(&goes_on);
}

/* ------------------------------------------------------------------------------------------ */
/* srad, version 2                                                                              */

/* Of the speckle, rows and columns 0 to 15: what its coefficient of variation is. */
static float speckle(const float *picture, int32_t columns) {
  float sum = 0, squares = 0, count = 256;
  for (int32_t i = 0; i < 16; ++i) {
    for (int32_t j = 0; j < 16; ++j) {
      sum += picture[i * columns + j];
      squares += picture[i * columns + j] * picture[i * columns + j];
    }
  }
  float mean = sum / count;
  return (squares / count - mean * mean) / (mean * mean);
}

static void srad_plain(float *picture, float *c, float *d[4], int32_t rows, int32_t columns,
                       float lambda) {
  float q0 = speckle(picture, columns);
  for (int32_t k = 0; k < rows * columns; ++k) {
    int32_t i = k / columns, j = k % columns;
    float here = picture[k];
    d[0][k] = picture[most_of(i - 1, 0) * columns + j] - here;
    d[1][k] = picture[least_of(i + 1, rows - 1) * columns + j] - here;
    d[2][k] = picture[i * columns + most_of(j - 1, 0)] - here;
    d[3][k] = picture[i * columns + least_of(j + 1, columns - 1)] - here;
    float g = (d[0][k] * d[0][k] + d[1][k] * d[1][k] + d[2][k] * d[2][k] + d[3][k] * d[3][k]) /
              (here * here);
    float l = (d[0][k] + d[1][k] + d[2][k] + d[3][k]) / here;
    double top = 0.5 * (double)g - (1.0 / 16.0) * (double)(l * l), bottom = 1 + .25 * (double)l;
    double q = top / (bottom * bottom);
    double found = 1.0 / (1.0 + (q - (double)q0) / (double)(q0 * (1 + q0)));
    c[k] = (float)(found < 0 ? 0 : found > 1 ? 1 : found);
  }
  for (int32_t k = 0; k < rows * columns; ++k) {
    int32_t i = k / columns, j = k % columns;
    float sum = c[k] * d[0][k] + c[least_of(i + 1, rows - 1) * columns + j] * d[1][k] +
                c[k] * d[2][k] + c[i * columns + least_of(j + 1, columns - 1)] * d[3][k];
    picture[k] += 0.25f * lambda * sum;
  }
}

static void srad(suite *s) {
  int32_t rows = 48, columns = 64;
  size_t size = (size_t)(rows * columns) * 4;
  float lambda = 0.5f;
  shared picture = share(s, size), c = share(s, size),
         d[4] = {share(s, size), share(s, size), share(s, size), share(s, size)};
  float *plain[4], *plain_c = malloc(size), *want = malloc(size);
  for (int k = 0; k < 4; ++k)
    plain[k] = malloc(size);
  srand(7);
  for (int32_t i = 0; i < rows * columns; ++i)
    want[i] = ((float *)picture.host)[i] = (float)exp((double)((float)rand() / (float)RAND_MAX));
  for (int32_t t = 0; t < 4; ++t) {
    float q0 = speckle(picture.host, columns);
    send(s, &picture);
    run(s, "srad_1", (unsigned)columns / side, (unsigned)rows / side,
        KDL_ARGS(&d[3].buffer, &d[2].buffer, &d[0].buffer, &d[1].buffer, &picture.buffer, &c.buffer,
                 &columns, &rows, &q0));
    run(s, "srad_2", (unsigned)columns / side, (unsigned)rows / side,
        KDL_ARGS(&d[3].buffer, &d[2].buffer, &d[0].buffer, &d[1].buffer, &picture.buffer, &c.buffer,
                 &columns, &rows, &lambda));
    receive(s, &picture);
    srad_plain(want, plain_c, plain, rows, columns, lambda);
  }
  compare_floats(s, "Rodinia srad v2", picture.host, want, size / 4, 1e-4);
  for (int k = 0; k < 4; ++k) {
    free(plain[k]);
    unshare(&d[k]);
  }
  free(plain_c);
  free(want);
  unshare(&picture);
  unshare(&c);
}

/* ------------------------------------------------------------------------------------------ */
/* lud, gaussian                                                                                */

/* Both suites' matrices: 10 exp(decay |i - j|). */
static void make_matrix(float *m, int32_t n, double decay) {
  for (int32_t i = 0; i < n * n; ++i)
    m[i] = (float)(10 * exp(decay * abs(i / n - i % n)));
}

static void lud(suite *s) {
  int32_t n = 80, i = 0;
  shared m = share(s, (size_t)(n * n) * 4);
  make_matrix(m.host, n, -0.001);
  float *a = memcpy(malloc(m.size), m.host, m.size);
  send(s, &m);
  for (; i < n - side; i += side) {
    unsigned rest = (unsigned)((n - i) / side - 1);
    run(s, "lud_diagonal", 1, 1, KDL_ARGS(&m.buffer, &n, &i));
    run(s, "lud_perimeter", rest, 1, KDL_ARGS(&m.buffer, &n, &i));
    run(s, "lud_internal", rest, rest, KDL_ARGS(&m.buffer, &n, &i));
  }
  run(s, "lud_diagonal", 1, 1, KDL_ARGS(&m.buffer, &n, &i));
  receive(s, &m);
  for (i = 0; i < n; ++i) {
    for (int32_t j = i; j < n; ++j) {
      for (int32_t k = 0; k < i; ++k)
        a[i * n + j] -= a[i * n + k] * a[k * n + j];
    }
    for (int32_t j = i + 1; j < n; ++j) {
      for (int32_t k = 0; k < i; ++k)
        a[j * n + i] -= a[j * n + k] * a[k * n + i];
      a[j * n + i] /= a[i * n + i];
    }
  }
  compare_floats(s, "Rodinia lud", m.host, a, m.size / 4, 1e-3);
  free(a);
  unshare(&m);
}

static void gaussian(suite *s) {
  int32_t n = 50;
  shared m = share(s, (size_t)(n * n) * 4), a = share(s, (size_t)(n * n) * 4),
         b = share(s, (size_t)n * 4);
  make_matrix(a.host, n, -0.01);
  for (int32_t i = 0; i < n; ++i)
    ((float *)b.host)[i] = 1.0f;
  float *want = memcpy(malloc(a.size), a.host, a.size),
        *right = memcpy(malloc(b.size), b.host, b.size);
  send(s, &m);
  send(s, &a);
  send(s, &b);
  for (int32_t t = 0; t < n - 1; ++t) {
    run(s, "gaussian_1", GROUPS(n, 64), 1, KDL_ARGS(&m.buffer, &a.buffer, &n, &t));
    run(s, "gaussian_2", GROUPS(n, side), GROUPS(n, side),
        KDL_ARGS(&m.buffer, &a.buffer, &b.buffer, &n, &t));
  }
  receive(s, &a);
  receive(s, &b);
  for (int32_t t = 0; t < n - 1; ++t) {
    for (int32_t i = t + 1; i < n; ++i) {
      float times = want[i * n + t] / want[t * n + t];
      for (int32_t j = t; j < n; ++j)
        want[i * n + j] -= times * want[t * n + j];
      right[i] -= times * right[t];
    }
  }
  compare_floats(s, "Rodinia gaussian, matrix", a.host, want, a.size / 4, 1e-4);
  compare_floats(s, "Rodinia gaussian, right-hand side", b.host, right, b.size / 4, 1e-4);
  free(want);
  free(right);
  unshare(&m);
  unshare(&a);
  unshare(&b);
}

/* ------------------------------------------------------------------------------------------ */
/* kmeans                                                                                       */

static int32_t nearest(const float *point, const float *centres, int32_t features, int32_t count) {
  int32_t found = -1;
  float least = FLT_MAX;
  for (int32_t c = 0; c < count; ++c) {
    float distance = 0;
    for (int32_t f = 0; f < features; ++f)
      distance += (point[f] - centres[c * features + f]) * (point[f] - centres[c * features + f]);
    if (distance < least) {
      least = distance;
      found = c;
    }
  }
  return found;
}

/* New centres, by the host in the suite too. Returns how many points changed. */
static int32_t move_centres(const float *points, const int32_t *now, int32_t *before, int32_t count,
                            int32_t features, float *centres, int32_t centre_count) {
  float *sums = calloc((size_t)centre_count * (size_t)features, sizeof *sums);
  int32_t *lengths = calloc((size_t)centre_count, sizeof *lengths), changed = 0;
  for (int32_t i = 0; i < count; ++i) {
    changed += now[i] != before[i];
    before[i] = now[i];
    ++lengths[now[i]];
    for (int32_t f = 0; f < features; ++f)
      sums[now[i] * features + f] += points[i * features + f];
  }
  for (int32_t k = 0; k < centre_count * features; ++k) {
    if (lengths[k / features])
      centres[k] = sums[k] / (float)lengths[k / features];
  }
  free(sums);
  free(lengths);
  return changed;
}

static void kmeans(suite *s) {
  int32_t points = 1000, features = 5, centres = 5;
  shared turned = share(s, (size_t)(points * features) * 4),
         middle = share(s, (size_t)(centres * features) * 4), member = share(s, (size_t)points * 4);
  float *x = malloc(turned.size), *plain = malloc(middle.size);
  int32_t *before = malloc(member.size), *want = malloc(member.size), *last = malloc(member.size);
  srand(7);
  for (int32_t i = 0; i < points * features; ++i) {
    x[i] = (float)(rand() % 256); /* whole numbers: sums of squares are exact, and ties are ties */
    ((float *)turned.host)[i % features * points + i / features] = x[i];
  }
  memcpy(middle.host, x, middle.size); /* the first points */
  memcpy(plain, x, middle.size);
  memset(before, 0xff, member.size);
  memset(last, 0xff, member.size);
  send(s, &turned);
  for (int32_t changed = points, loops = 0; changed && loops < 20; ++loops) {
    send(s, &middle);
    run(s, "kmeans_point", GROUPS(points, 256), 1,
        KDL_ARGS(&turned.buffer, &middle.buffer, &member.buffer, &points, &features, &centres));
    receive(s, &member);
    changed = move_centres(x, member.host, before, points, features, middle.host, centres);
    for (int32_t i = 0; i < points; ++i)
      want[i] = nearest(x + i * features, plain, features, centres);
    move_centres(x, want, last, points, features, plain, centres);
  }
  compare_ints(s, "Rodinia kmeans, clusters", member.host, want, (size_t)points);
  compare_floats(s, "Rodinia kmeans, centres", middle.host, plain, middle.size / 4, 1e-4);
  free(x);
  free(plain);
  free(before);
  free(want);
  free(last);
  unshare(&turned);
  unshare(&middle);
  unshare(&member);
}

void run_rodinia(suite *s) {
  hotspot(s);
  pathfinder(s);
  nw(s);
  bfs(s);
  srad(s);
  lud(s);
  gaussian(s);
  kmeans(s);
}
