/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/select/ranking.h"

#include "lib/inspect/targets.h"
#include "lib/select/kernel_map.h"
#include "lib/target/families/cpu.h"
#include "support/base/array.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/base/trace_phase.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* Policies and devices                                                                         */

const char *const kdl_policy_names[KDL_POLICY_COUNT] = {
    [KDL_POLICY_BEST] = "best",
    [KDL_POLICY_FIRST] = "first",
    [KDL_POLICY_CAPABILITY] = "capability",
    [KDL_POLICY_ADAPTIVE] = "adaptive",
};

kdl_status kdl_policy_read(const char *name, kdl_policy *out_policy) {
  for (size_t i = 0; i < KDL_POLICY_COUNT; ++i) {
    if (strcmp(name, kdl_policy_names[i]) == 0) {
      *out_policy = (kdl_policy)i;
      return KDL_OK;
    }
  }
  return kdl_fail(
      KDL_BAD_CALL,
      "KDL_POLICY: position 0: found \"%s\", expected one of: best, first, capability, adaptive",
      name);
}

kdl_status kdl_select_device_init(const kdl_device_spec *spec, kdl_select_device *out_device) {
  kdl_select_device device = {
      .spec = *spec,
      .limits = {.threads = spec->max_block,
                 .shared = spec->shared_optin ? spec->shared_optin : spec->shared,
                 .cluster = spec->cluster,
                 .memory = spec->memory},
  };
  KDL_TRY(kdl_device_spec_compile(spec, &device.rule));
  *out_device = device;
  return KDL_OK;
}

kdl_status kdl_select_device_create(const kdl_device_spec *spec, kdl_select_device **out_device,
                                    kdl_device_traits *out_traits) {
  kdl_select_device *device = malloc(sizeof *device);
  kdl_status status = device ? kdl_select_device_init(spec, device)
                             : kdl_fail(KDL_NO_MEMORY, "out of memory for a device");
  if (status != KDL_OK) {
    free(device);
    return status;
  }
  kdl_device_accept_bitcode(&device->rule);
  kdl_device_accept_spirv(&device->rule);
  if (out_traits)
    *out_traits =
        (kdl_device_traits){.family = device->rule.family,
                            .driver = device->rule.driver,
                            .ptx = device->rule.ptx,
                            .lacks = {device->rule.lacks.word[0], device->rule.lacks.word[1]}};
  *out_device = device;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* One image                                                                                    */

enum { rule_slots = 16 };

/* A ranking under construction. */
typedef struct {
  kdl_catalog *catalog;
  const kdl_query *query;
  /* Most images have the same key, so the last one is cached. */
  kdl_kernel_key key; /* `text.data` is NULL at first */
  uint64_t key_reasons;
  /* There are few targets, so rules that depend on kind, triple and arch alone are cached. */
  unsigned used;                           /* bit i: slot i */
  const kdl_image *rule_image[rule_slots]; /* whose rule it is */
  kdl_image_rule rules[rule_slots + 1];    /* the last is for an image that shares no rule */
} ranker;

static bool has_same_target(const kdl_image *a, const kdl_image *b) {
  return a->kind == b->kind && kdl_hash_same(a->arch, b->arch) &&
         kdl_hash_same(a->triple, b->triple);
}

/* The slot that has the rule of images with this target, or that may get it. */
static unsigned find_rule_slot(ranker *r, const kdl_image *image, bool *out_is_known) {
  enum { most_looked_at = 4 };
  size_t length = image->arch.length;
  unsigned slot = (unsigned)length * 7 + image->kind;
  if (length > 1)
    slot += (unsigned char)image->arch.data[length - 2] * 5u +
            (unsigned char)image->arch.data[length - 1];
  *out_is_known = false;
  for (unsigned i = 0; i < most_looked_at && !*out_is_known; ++i) {
    slot = (slot + (i > 0)) % rule_slots;
    if (!(r->used >> slot & 1))
      break;
    *out_is_known = has_same_target(r->rule_image[slot], image);
  }
  return slot;
}

static const kdl_image_rule *image_rule(ranker *r, uint32_t index) {
  const kdl_image *image = kdl_catalog_image(r->catalog, index);
  const kdl_image_rule *rules = atomic_load_explicit(&r->catalog->rules, memory_order_acquire);
  if (rules)
    return &rules[index];
  unsigned slot = rule_slots;
  bool is_known = false;
  if (kdl_catalog_rule_is_shared(image)) {
    slot = find_rule_slot(r, image, &is_known);
    r->used |= 1u << slot;
    r->rule_image[slot] = image;
  }
  if (!is_known)
    kdl_catalog_compile(r->catalog, index, &r->rules[slot]);
  return &r->rules[slot];
}

uint64_t kdl_kernel_key_reasons(kdl_string text, const kdl_select_device *device,
                                kdl_kernel_key *out_key) {
  if (!kdl_kernel_parse(text, out_key, NULL))
    return KDL_REASON(MALFORMED_KEY);
  return kdl_kernel_reasons(out_key, &device->rule, &device->limits);
}

static uint64_t key_reasons(ranker *r, kdl_string text) {
  if (!r->key.text.data || !kdl_text_equal(text, r->key.text)) {
    r->key.text.data = NULL; /* and stays so where it is malformed */
    r->key_reasons = kdl_kernel_key_reasons(text, r->query->device, &r->key);
  }
  return r->key_reasons;
}

static bool has_tag(const kdl_image *image, kdl_string tag) {
  const kdl_string *value =
      kdl_find_value(kdl_image_pairs(image), image->pair_count, "variant_tag");
  return value && kdl_text_equal(*value, tag);
}

/* Adds what the image's kernels decide: whether it holds the kernel, and reasons against that
 * kernel. */
static void evaluate_kernel(ranker *r, kdl_candidate *candidate) {
  const kdl_query *query = r->query;
  if (kdl_catalog_unresolved(r->catalog, candidate->image))
    candidate->reasons = kdl_reasons_if_unresolved(candidate->reasons);
  if (query->kernel.data) {
    candidate->presence =
        (uint8_t)kdl_catalog_find(r->catalog, candidate->image, query->kernel, &candidate->key);
    if (candidate->key.data && !candidate->reasons) {
      candidate->reasons = key_reasons(r, candidate->key);
      candidate->has_condition = kdl_kernel_has(&r->key, KDL_KERNEL_WHEN);
    }
  }
  candidate->eligible = !candidate->reasons && candidate->presence == KDL_KERNEL_PRESENT;
}

/* False where the image is not part of the ranking. */
static bool evaluate_image(ranker *r, uint32_t index, kdl_candidate *candidate) {
  const kdl_query *query = r->query;
  const kdl_device_rule *device = &query->device->rule;
  const kdl_image *image = kdl_catalog_image(r->catalog, index);
  const bool with_refused = query->scope != KDL_RANK_ELIGIBLE;
  const kdl_image_rule *rule = image_rule(r, index);
  const bool is_admitted = kdl_match_admits(rule, device);
  if (!is_admitted && !with_refused)
    return false;
  *candidate = (kdl_candidate){
      .image = index,
      .kind = rule->kind,
      .presence = KDL_KERNEL_PRESENT,
      .needs_amx = rule->family == KDL_FAMILY_X86_64 && kdl_x86_needs_amx(rule->needs),
      .is_translated = is_admitted && kdl_match_translates(rule, device),
      .reasons = is_admitted ? 0 : kdl_match_reasons(rule, device),
      .fit = is_admitted ? kdl_match_fit(rule, device) : "",
  };
  if (query->policy != KDL_POLICY_FIRST) {
    bool is_rank_first = query->policy == KDL_POLICY_CAPABILITY;
    candidate->order[is_rank_first] = rule->priority;
    candidate->order[!is_rank_first] = kdl_match_rank(rule, device);
  }
  if (candidate->reasons & KDL_REASONS_NO_CODE)
    candidate->presence = query->kernel.data ? KDL_KERNEL_ABSENT : KDL_KERNEL_PRESENT;
  else if (query->scope == KDL_RANK_RULES)
    candidate->eligible = !candidate->reasons;
  else if (!candidate->reasons || query->scope == KDL_RANK_ALL_NAMES)
    evaluate_kernel(r, candidate);
  if (candidate->reasons)
    candidate->distance = kdl_match_distance(rule, device, candidate->reasons);
  else if (candidate->eligible && query->variant_tag.data && has_tag(image, query->variant_tag))
    candidate->order[0] |= (uint64_t)1 << 63; /* ranks and priorities are below */
  return candidate->eligible || with_refused;
}

/* ------------------------------------------------------------------------------------------ */
/* All of them                                                                                  */

static int compare_refused(const kdl_candidate *a, const kdl_candidate *b) {
  static const int order[] = {
      [KDL_KERNEL_PRESENT] = 0, [KDL_KERNEL_UNREADABLE] = 1, [KDL_KERNEL_ABSENT] = 2};
  if (order[a->presence] != order[b->presence])
    return order[a->presence] - order[b->presence];
  return (a->distance > b->distance) - (a->distance < b->distance);
}

static int compare_candidates(const void *left, const void *right) {
  const kdl_candidate *a = left;
  const kdl_candidate *b = right;
  if (a->eligible != b->eligible)
    return a->eligible ? -1 : 1;
  int order = a->eligible ? 0 : compare_refused(a, b);
  for (size_t i = 0; i < 2 && !order; ++i)
    order = (a->order[i] < b->order[i]) - (a->order[i] > b->order[i]);
  return order ? order : (a->image > b->image) - (a->image < b->image);
}

/* The candidates of a ranking without a kernel that may hold this kernel. */
typedef struct {
  const kdl_ranking *base;                    /* NULL: evaluate each image of the catalog */
  const struct kdl_kernel_map_entry *entries; /* NULL: all candidates of `base` may hold it */
  size_t count;
} candidate_origin;

/* Both return the number of candidates; `out_candidates` has room for all evaluated images. */
static size_t evaluate_base(ranker *r, candidate_origin from, kdl_candidate *out_candidates) {
  size_t count = 0;
  for (size_t i = 0; i < from.count; ++i) {
    kdl_candidate *to = &out_candidates[count];
    *to = from.base->candidates[from.entries ? from.entries[i].position : i];
    evaluate_kernel(r, to);
    count += to->eligible;
  }
  return count;
}

static size_t evaluate_images(ranker *r, size_t looked_at, kdl_candidate *out_candidates) {
  const kdl_query *query = r->query;
  const kdl_device_rule *device = &query->device->rule;
  const kdl_image *images = kdl_catalog_container(r->catalog)->images;
  const bool with_refused = query->scope != KDL_RANK_ELIGIBLE;
  size_t count = 0;
  for (size_t i = 0; i < looked_at; ++i) {
    uint32_t index = query->among ? query->among[i] : (uint32_t)i;
    if (with_refused || kdl_match_may_run(images[index].kind, images[index].arch, device))
      count += evaluate_image(r, index, &out_candidates[count]);
  }
  kdl_sort(out_candidates, count, sizeof *out_candidates, compare_candidates);
  return count;
}

/* Fills in the members that summarise the candidates. */
static void finish_ranking(ranker *r, kdl_ranking *ranking) {
  const kdl_candidate *first = ranking->candidates;
  while (ranking->eligible < ranking->count && first[ranking->eligible].eligible)
    ++ranking->eligible;
  while (ranking->general < ranking->eligible && first[ranking->general].has_condition)
    ++ranking->general;
  ranking->has_conditions = ranking->general > 0;
  ranking->is_one_module = true;
  for (size_t i = 1; i < ranking->eligible; ++i) {
    ranking->has_conditions |= first[i].has_condition;
    ranking->is_one_module &= kdl_catalog_image(r->catalog, first[i].image)->module ==
                              kdl_catalog_image(r->catalog, first->image)->module;
  }
  if (ranking->eligible && first->key.data) {
    if (first->key.data != r->key.text.data)
      (void)key_reasons(r, first->key);
    ranking->key = r->key;
  }
}

static void ranker_init(ranker *r, kdl_catalog *catalog, const kdl_query *query) {
  r->catalog = catalog;
  r->query = query;
  r->key.text = (kdl_string){NULL, 0};
  r->used = 0;
}

kdl_status kdl_rank(kdl_catalog *catalog, const kdl_query *query, kdl_ranking **out_ranking) {
  ranker r;
  size_t count = query->among ? query->among_count : kdl_catalog_count(catalog);
  size_t memory_failures = kdl_catalog_memory_failures(catalog);
  KDL_TRY(kdl_catalog_compile_all(catalog));
  kdl_ranking *created = calloc(1, sizeof *created + count * sizeof *created->candidates);
  if (!created)
    return kdl_fail(KDL_NO_MEMORY, "out of memory to rank %zu images", count);
  created->catalog = catalog;
  created->query = *query;
  ranker_init(&r, catalog, query);
  created->count = evaluate_images(&r, count, created->candidates);
  finish_ranking(&r, created);
  if (kdl_catalog_memory_failures(catalog) != memory_failures) {
    free(created);
    return kdl_fail(KDL_NO_MEMORY, "out of memory for kernel names");
  }
  *out_ranking = created;
  return KDL_OK;
}

const kdl_candidate *kdl_ranking_at(const kdl_ranking *ranking, size_t position) {
  return position < ranking->count ? &ranking->candidates[position] : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* The cache                                                                                    */

enum { few_images = 16 };

/* The kernel map of a ranking without a kernel, once a few kernels were ranked among many images;
 * NULL before, and when out of memory. Two threads may build it; the results are equal. */
static const kdl_kernel_map *ranking_kernel_map(kdl_ranking *base) {
  enum { few_kernels = 8 };
  const kdl_kernel_map *kernel_map = atomic_load_explicit(&base->kernel_map, memory_order_acquire);
  unsigned ranked = atomic_load_explicit(&base->kernels_ranked, memory_order_relaxed);
  if (ranked < few_kernels)
    atomic_store_explicit(&base->kernels_ranked, ranked + 1, memory_order_relaxed);
  if (kernel_map || base->count <= few_images || ranked < few_kernels)
    return kernel_map;
  size_t size = kdl_kernel_map_size(base->catalog, base->candidates, base->count);
  void *memory = size ? kdl_container_alloc(kdl_catalog_container(base->catalog), size) : NULL;
  if (!memory)
    return NULL;
  kernel_map = kdl_kernel_map_build(base->catalog, base->candidates, base->count, memory, size);
  atomic_store_explicit(&base->kernel_map, kernel_map, memory_order_release);
  return kernel_map;
}

/* Among many images, one ranking without a kernel is made, and each kernel but the first is
 * searched in its candidates only. */
static kdl_status find_origin(kdl_catalog *catalog, const kdl_query *query,
                              candidate_origin *out_origin) {
  const kdl_ranking *base;
  *out_origin = (candidate_origin){.count = kdl_catalog_count(catalog)};
  if (!query->kernel.data || out_origin->count <= few_images / 4 ||
      !atomic_load_explicit(&catalog->rankings, memory_order_relaxed))
    return KDL_OK;
  kdl_query any = *query;
  any.kernel = (kdl_string){NULL, 0};
  KDL_TRY(kdl_ranking_find(catalog, &any, &base));
  *out_origin = (candidate_origin){.base = base, .count = base->count};
  const kdl_kernel_map *kernel_map = ranking_kernel_map((kdl_ranking *)(uintptr_t)base);
  if (kernel_map)
    out_origin->entries = kdl_kernel_map_find(kernel_map, query->kernel, &out_origin->count);
  return KDL_OK;
}

/* Traces the query and the best candidate. */
static void trace_ranking(const kdl_catalog *catalog, const kdl_query *query,
                          const kdl_ranking *created) {
  char device[192];
  kdl_trace_phase_info about = {
      .device = device, .failed = !created, .has_image = created && created->count};
  kdl_device_spec_name(&query->device->spec, &(kdl_out){device, sizeof device, 0});
  if (query->kernel.data)
    about.kernel = query->kernel.data;
  else
    about.library = kdl_catalog_container(catalog)->name;
  if (about.has_image) {
    about.image = created->candidates[0].image;
    about.target = kdl_catalog_image(catalog, about.image)->arch.data;
  }
  kdl_trace_phase_end(KDL_TRACE_PHASE_SELECT, &about);
}

static kdl_string copy_text(char **to, kdl_string text) {
  if (!text.data)
    return text;
  char *copy = memcpy(*to, text.data, text.length);
  copy[text.length] = '\0';
  *to += text.length + 1;
  return (kdl_string){copy, text.length};
}

/* NULL when out of memory. */
static kdl_ranking *copy_ranking(ranker *r, uint64_t hash, const kdl_candidate *candidates,
                                 size_t count) {
  const kdl_query *query = r->query;
  size_t size = count * sizeof *candidates;
  kdl_ranking *created = kdl_container_alloc(kdl_catalog_container(r->catalog),
                                             sizeof *created + size + query->kernel.length +
                                                 query->variant_tag.length + 2);
  if (!created)
    return NULL;
  *created =
      (kdl_ranking){.node.hash = hash, .catalog = r->catalog, .query = *query, .count = count};
  memcpy(created->candidates, candidates, size);
  char *text = (char *)(created->candidates + count);
  created->query.kernel = copy_text(&text, query->kernel);
  created->query.variant_tag = copy_text(&text, query->variant_tag);
  finish_ranking(r, created);
  return created;
}

static kdl_ranking *create_ranking(kdl_catalog *catalog, const kdl_query *query, uint64_t hash,
                                   candidate_origin from) {
  ranker r;
  kdl_candidate some[few_images];
  kdl_candidate *candidates =
      from.count <= few_images ? some : malloc(from.count * sizeof *candidates);
  if (!candidates)
    return NULL;
  size_t memory_failures = kdl_catalog_memory_failures(catalog);
  ranker_init(&r, catalog, query);
  size_t count =
      from.base ? evaluate_base(&r, from, candidates) : evaluate_images(&r, from.count, candidates);
  kdl_ranking *created = kdl_catalog_memory_failures(catalog) == memory_failures
                             ? copy_ranking(&r, hash, candidates, count)
                             : NULL;
  if (candidates != some)
    free(candidates);
  return created;
}

static kdl_status add_ranking(kdl_catalog *catalog, const kdl_query *query, uint64_t hash,
                              const kdl_ranking **out_ranking) {
  candidate_origin from;
  KDL_TRY(find_origin(catalog, query, &from));
  kdl_trace_phase_begin(KDL_TRACE_PHASE_SELECT);
  kdl_ranking *created = create_ranking(catalog, query, hash, from);
  if (kdl_trace_enabled())
    trace_ranking(catalog, query, created);
  if (!created)
    return kdl_fail(KDL_NO_MEMORY, "out of memory to rank %zu images", from.count);
  *out_ranking = (const kdl_ranking *)kdl_trie_add(&catalog->rankings, &created->node,
                                                   kdl_ranking_matches, &created->query);
  return KDL_OK;
}

kdl_status kdl_ranking_find(kdl_catalog *catalog, const kdl_query *query,
                            const kdl_ranking **out_ranking) {
  uint64_t hash = kdl_query_hash(query);
  *out_ranking = kdl_ranking_lookup(catalog, query, hash);
  return *out_ranking ? KDL_OK : add_ranking(catalog, query, hash, out_ranking);
}
