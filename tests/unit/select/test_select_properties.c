/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Properties that hold for every library and every device: sampled, with a fixed seed. */
#include "support.h"

#include "lib/device/named_devices.h"
#include "lib/select/ranking.h"
#include "llvm_rule.h"
#include "support/base/text.h"

#include <pthread.h>

enum { rounds = 3000, most_images = 12 };

static const struct {
  kdl_image_kind kind;
  const char *triple;
  const char *archs[10];
} pools[] = {
    {KDL_IMAGE_CUBIN,
     "nvptx64-nvidia-cuda",
     {"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_100f",
      "sm_120"}},
    {KDL_IMAGE_PTX,
     "nvptx64-nvidia-cuda",
     {"sm_52", "sm_70", "sm_80", "sm_90", "sm_90a", "sm_100f", "compute_75", "sm_120", "", "sm_9"}},
    {KDL_IMAGE_HSACO,
     "amdgcn-amd-amdhsa",
     {"gfx90a", "gfx90a:xnack+", "gfx90a:xnack-", "gfx942", "gfx1100", "gfx1103", "gfx11-generic",
      "gfx9-4-generic", "gfx90a:sramecc+:xnack-", "gfx906"}},
    {KDL_IMAGE_SPIRV, "spirv64-unknown-unknown", {"", "generic", "", "", "", "", "", "", "", ""}},
    {KDL_IMAGE_OBJECT,
     "x86_64-unknown-linux-gnu",
     {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "znver4", "haswell", "x86-64-v4+avx512_bf16",
      "x86-64-v3+avx_vnni", "sapphirerapids", "generic"}},
};

static uint64_t seed = 1;

static unsigned pick(unsigned limit) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(seed >> 33) % limit;
}

typedef struct {
  kdl_image image;
  kdl_pair pair;
  char priority[8];
} sample;

static void make_image(sample *out) {
  unsigned pool = pick(sizeof pools / sizeof *pools);
  *out = (sample){.image = {.kind = pools[pool].kind,
                            .triple = kdl_text_of(pools[pool].triple),
                            .arch = kdl_text_of(pools[pool].archs[pick(10)])}};
  if (pick(4) == 0) {
    snprintf(out->priority, sizeof out->priority, "%u", pick(3));
    out->pair = (kdl_pair){KDL_TEXT("variant_priority"), kdl_text_of(out->priority)};
    out->image.pair_list = &out->pair;
    out->image.pair_count = 1;
    kdl_image_read_keys(&out->image);
  }
}

/* The images, which have pairs of the samples. */
static size_t make_images(sample samples[most_images], size_t count, kdl_image *out_images) {
  for (size_t i = 0; i < count; ++i) {
    make_image(&samples[i]);
    out_images[i] = samples[i].image;
  }
  return count;
}

/* The chosen image, or `count`; and the rules of all. What is remembered is the same as what is
 * ranked with reasons. */
static size_t choose(kdl_image *images, size_t count, const kdl_device_rule *rule,
                     kdl_policy policy, kdl_image_rule *out_rules) {
  kdl_container container = {.images = images, .count = (uint32_t)count, .name = "t"};
  kdl_select_device device = {.rule = *rule};
  kdl_query query = {.device = &device, .policy = policy};
  kdl_catalog *catalog;
  const kdl_ranking *known;
  kdl_ranking *all;
  assert_ok(kdl_catalog_create(&container, &catalog));
  for (size_t i = 0; i < count; ++i)
    images[i].metadata_flags |= KDL_METADATA_HAS_KERNELS; /* no byte of them is there to be read */
  assert_ok(kdl_ranking_find(catalog, &query, &known));
  query.scope = KDL_RANK_ALL_NAMES;
  assert_ok(kdl_rank(catalog, &query, &all));
  assert_int_equal(all->count, count);
  assert_int_equal(all->eligible, known->count);
  assert_int_equal(all->is_one_module, known->is_one_module);
  for (size_t i = 0; i < count; ++i) {
    assert_int_equal(all->candidates[i].eligible, i < all->eligible);
    if (i < all->eligible) {
      assert_int_equal(all->candidates[i].image, known->candidates[i].image);
      assert_string_equal(all->candidates[i].fit, known->candidates[i].fit);
    }
    out_rules[i] = *kdl_catalog_rule(catalog, i);
  }
  size_t chosen = known->count ? known->candidates[0].image : count;
  free(all);
  kdl_catalog_destroy(catalog);
  kdl_arena_free(&container.arena);
  return chosen;
}

static kdl_device_rule any_device(void) {
  static size_t count;
  while (kdl_named_device_at(count))
    ++count;
  kdl_device_spec spec;
  kdl_device_rule rule;
  assert_ok(kdl_device_spec_resolve(kdl_named_device_at(pick((unsigned)count))->name, &spec));
  assert_ok(kdl_device_spec_compile(&spec, &rule));
  return rule;
}

/* Of the chosen and any other image that runs, the chosen has the larger (priority, rank), or the
 * same and the earlier place. */
static void the_chosen_one_is_the_maximum(void **state) {
  (void)state;
  size_t chosen_at_all = 0;
  for (int round = 0; round < rounds; ++round) {
    sample samples[most_images];
    kdl_image images[most_images];
    kdl_image_rule rules[most_images];
    size_t count = make_images(samples, pick(most_images) + 1, images);
    kdl_device_rule device = any_device();
    size_t best = choose(images, count, &device, KDL_POLICY_BEST, rules);
    for (size_t i = 0; i < count; ++i) {
      kdl_match_result match = kdl_match(&rules[i], &device);
      assert_int_equal(match.reasons == 0, match.rank != 0);
      if (!match.rank)
        continue;
      assert_true(best < count);
      if (i == best)
        continue;
      bool before = rules[best].priority != rules[i].priority
                        ? rules[best].priority > rules[i].priority
                    : rules[best].rank != rules[i].rank ? rules[best].rank > rules[i].rank
                                                        : best < i;
      assert_true(before);
    }
    chosen_at_all += best < count;
  }
  assert_true(chosen_at_all > rounds / 10);
}

static void shuffling_changes_nothing_but_ties(void **state) {
  (void)state;
  for (int round = 0; round < rounds; ++round) {
    sample samples[most_images];
    kdl_image images[most_images], shuffled[most_images];
    kdl_image_rule rules[most_images], rules_then[most_images];
    size_t count = make_images(samples, pick(most_images) + 1, images);
    memcpy(shuffled, images, sizeof images);
    for (size_t i = count; i > 1; --i) {
      size_t other = pick((unsigned)i);
      kdl_image kept = shuffled[i - 1];
      shuffled[i - 1] = shuffled[other];
      shuffled[other] = kept;
    }
    kdl_device_rule device = any_device();
    for (kdl_policy policy = KDL_POLICY_BEST; policy <= KDL_POLICY_CAPABILITY; policy += 2) {
      size_t before = choose(images, count, &device, policy, rules);
      size_t after = choose(shuffled, count, &device, policy, rules_then);
      assert_int_equal(before < count, after < count);
      if (before < count) {
        assert_int_equal(rules[before].priority, rules_then[after].priority);
        assert_int_equal(rules[before].rank, rules_then[after].rank);
      }
    }
  }
}

static void adding_an_image_never_makes_it_worse(void **state) {
  (void)state;
  for (int round = 0; round < rounds; ++round) {
    sample samples[most_images];
    kdl_image images[most_images];
    kdl_image_rule rules[most_images];
    make_images(samples, most_images, images);
    kdl_device_rule device = any_device();
    size_t before = choose(images, most_images - 1, &device, KDL_POLICY_BEST, rules);
    size_t after = choose(images, most_images, &device, KDL_POLICY_BEST, rules);
    if (before == most_images - 1)
      continue; /* nothing fitted: whatever comes is better */
    assert_true(after < most_images);
    assert_true(rules[after].priority > rules[before].priority ||
                (rules[after].priority == rules[before].priority &&
                 rules[after].rank >= rules[before].rank));
  }
}

/* LLVM 22's rule is about equal targets and AMD's features. Where the images of a file are such
 * that only these decide, `first` takes the image LLVM takes. */
static void first_is_what_llvm_takes(void **state) {
  (void)state;
  static const char *const amd[] = {"gfx90a", "gfx90a:xnack+",          "gfx90a:xnack-",
                                    "gfx942", "gfx90a:sramecc+:xnack-", "gfx1100"};
  static const char *const devices[] = {"gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack+",
                                        "gfx942:sramecc+:xnack-", "gfx1100"};
  size_t agreed = 0;
  for (int round = 0; round < rounds; ++round) {
    kdl_image images[most_images];
    kdl_image_rule rules[most_images];
    size_t count = pick(most_images) + 1;
    const char *wanted = devices[pick(4)];
    size_t llvm = count;
    for (size_t i = 0; i < count; ++i) {
      images[i] = (kdl_image){.kind = KDL_IMAGE_HSACO,
                              .triple = KDL_TEXT("amdgcn-amd-amdhsa"),
                              .arch = kdl_text_of(amd[pick(6)])};
      if (llvm == count &&
          llvm_takes(images[i].triple, images[i].arch, images[i].triple, kdl_text_of(wanted)))
        llvm = i;
    }
    char line[64];
    kdl_device_spec spec;
    kdl_device_rule device;
    snprintf(line, sizeof line, "hip:%s", wanted);
    assert_ok(kdl_device_spec_parse(line, &spec));
    assert_ok(kdl_device_spec_compile(&spec, &device));
    assert_int_equal(choose(images, count, &device, KDL_POLICY_FIRST, rules), llvm);
    agreed += llvm < count;
  }
  assert_true(agreed > rounds / 4);
}

/* ------------------------------------------------------------------------------------------ */
/* Many threads, one catalog                                                                    */

/* So many images that kernels are ranked among those that run, by an index of what they hold. */
enum { threads = 8, kernels = 100, images_of_threads = 20 };

static kdl_catalog *shared_catalog;
static kdl_select_device shared_device;
static char kernel_names[kernels][32];

static void *ask_for_all(void *user) {
  size_t start = *(size_t *)user;
  for (size_t i = 0; i < kernels; ++i) {
    size_t k = (start * 13 + i) % kernels;
    kdl_query query = {.device = &shared_device, .kernel = kdl_text_of(kernel_names[k])};
    const kdl_ranking *ranking, *again;
    if (kdl_ranking_find(shared_catalog, &query, &ranking) != KDL_OK || ranking->count != 1 ||
        ranking->candidates[0].image != k % images_of_threads ||
        strcmp(ranking->query.kernel.data, kernel_names[k]) != 0)
      return "wrong";
    if (kdl_ranking_find(shared_catalog, &query, &again) != KDL_OK || again != ranking)
      return "not remembered";
  }
  return NULL;
}

static void threads_agree(void **state) {
  (void)state;
  static kdl_pair pairs[images_of_threads][kernels];
  static char keys[kernels][64];
  kdl_image images[images_of_threads];
  for (size_t i = 0; i < images_of_threads; ++i)
    images[i] = (kdl_image){.kind = KDL_IMAGE_CUBIN,
                            .triple = KDL_TEXT("nvptx64-nvidia-cuda"),
                            .arch = KDL_TEXT("sm_90"),
                            .pair_list = pairs[i]};
  for (size_t k = 0; k < kernels; ++k) {
    kdl_image *image = &images[k % images_of_threads];
    snprintf(kernel_names[k], sizeof kernel_names[k], "kernel%zu", k);
    snprintf(keys[k], sizeof keys[k], "kdl.kernel.kernel%zu", k);
    pairs[k % images_of_threads][image->pair_count++] =
        (kdl_pair){kdl_text_of(keys[k]), KDL_TEXT("rev=1")};
  }
  for (size_t i = 0; i < images_of_threads; ++i)
    kdl_image_read_keys(&images[i]);
  kdl_container container = {.images = images, .count = images_of_threads, .name = "t"};
  kdl_device_spec spec;
  assert_ok(kdl_catalog_create(&container, &shared_catalog));
  kdl_container_publish(&container);
  assert_ok(kdl_device_spec_parse("cuda:sm_90", &spec));
  assert_ok(kdl_select_device_init(&spec, &shared_device));
  pthread_t ids[threads];
  size_t starts[threads];
  for (size_t i = 0; i < threads; ++i) {
    starts[i] = i;
    assert_int_equal(pthread_create(&ids[i], NULL, ask_for_all, &starts[i]), 0);
  }
  for (size_t i = 0; i < threads; ++i) {
    void *result;
    assert_int_equal(pthread_join(ids[i], &result), 0);
    assert_null(result);
  }
  kdl_catalog_destroy(shared_catalog);
  kdl_arena_free(&container.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_chosen_one_is_the_maximum),
      cmocka_unit_test(shuffling_changes_nothing_but_ties),
      cmocka_unit_test(adding_an_image_never_makes_it_worse),
      cmocka_unit_test(first_is_what_llvm_takes),
      cmocka_unit_test(threads_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
