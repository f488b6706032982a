/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/select/ranking.h"

#include "lib/inspect/targets.h"
#include "lib/select/holders.h"
#include "support/base/array.h"
#include "support/base/error.h"
#include "support/base/layer.h"
#include "support/base/text.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* Policies and devices                                                                         */

static const char *const policy_names[KDL_POLICY_COUNT] = {
    [KDL_POLICY_BEST] = "best",
    [KDL_POLICY_FIRST] = "first",
    [KDL_POLICY_CAPABILITY] = "capability",
};

const char *kdl_policy_name(kdl_policy policy) {
  return policy_names[policy];
}

bool kdl_policy_parse(kdl_string name, kdl_policy *out_policy) {
  for (size_t i = 0; i < KDL_POLICY_COUNT; ++i) {
    if (kdl_text_is(name, policy_names[i])) {
      *out_policy = (kdl_policy)i;
      return true;
    }
  }
  return false;
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

kdl_status kdl_select_device_create(const kdl_device_spec *spec, kdl_select_device **out_device) {
  kdl_select_device *device = malloc(sizeof *device);
  kdl_status status = device ? kdl_select_device_init(spec, device)
                             : kdl_fail(KDL_NO_MEMORY, "out of memory for a device");
  if (status != KDL_OK) {
    free(device);
    return status;
  }
  kdl_device_take_bitcode(&device->rule);
  *out_device = device;
  return KDL_OK;
}

kdl_device_traits kdl_select_device_traits(const kdl_select_device *device) {
  const kdl_device_rule *rule = &device->rule;
  return (kdl_device_traits){.family = rule->family,
                             .driver = rule->driver,
                             .ptx = rule->ptx,
                             .lacks = {rule->lacks.word[0], rule->lacks.word[1]}};
}

/* ------------------------------------------------------------------------------------------ */
/* One image                                                                                    */

enum { rule_slots = 16 };

/* A ranking that is being made. */
typedef struct {
  kdl_catalog *catalog;
  const kdl_query *query;
  /* Images mostly have the same key: what was found of the last one. */
  kdl_kernel_key key; /* `text.data` is NULL at first */
  uint64_t key_reasons;
  /* And there are few targets: the rules of images that kind, triple and arch alone decide. */
  unsigned used;                        /* bit i: slot i */
  const kdl_image *like[rule_slots];    /* whose rule it is */
  kdl_image_rule rules[rule_slots + 1]; /* the last is of the image that is looked at */
} ranker;

static bool is_like(const kdl_image *a, const kdl_image *b) {
  return a->kind == b->kind && kdl_hash_same(a->arch, b->arch) &&
         kdl_hash_same(a->triple, b->triple);
}

/* Where the rule of an image like this one is, or may be put. */
static unsigned find_slot(ranker *r, const kdl_image *image, bool *out_is_known) {
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
    *out_is_known = is_like(r->like[slot], image);
  }
  return slot;
}

static const kdl_image_rule *rule_of(ranker *r, uint32_t index) {
  const kdl_image *image = kdl_catalog_image(r->catalog, index);
  const kdl_image_rule *rules = atomic_load_explicit(&r->catalog->rules, memory_order_acquire);
  if (rules)
    return &rules[index];
  unsigned slot = rule_slots;
  bool is_known = false;
  if (kdl_catalog_is_plain(image)) {
    slot = find_slot(r, image, &is_known);
    r->used |= 1u << slot;
    r->like[slot] = image;
  }
  if (!is_known)
    kdl_catalog_compile(r->catalog, index, &r->rules[slot]);
  return &r->rules[slot];
}

uint64_t kdl_key_reasons(kdl_string text, const kdl_select_device *device,
                         kdl_kernel_key *out_key) {
  if (!kdl_kernel_parse(text, out_key, NULL))
    return KDL_REASON(MALFORMED_KEY);
  return kdl_kernel_fit(out_key, &device->rule, &device->limits);
}

static uint64_t key_reasons(ranker *r, kdl_string text) {
  if (!r->key.text.data || !kdl_text_equal(text, r->key.text)) {
    r->key.text.data = NULL; /* and stays so where it is malformed */
    r->key_reasons = kdl_key_reasons(text, r->query->device, &r->key);
  }
  return r->key_reasons;
}

static bool has_tag(const kdl_image *image, kdl_string tag) {
  const kdl_string *value =
      kdl_find_value(kdl_image_pairs(image), image->pair_count, "variant_tag");
  return value && kdl_text_equal(*value, tag);
}

/* What the image itself adds, once it is read: whether it holds the kernel, and reasons against it
 * where there were none. */
static void judge_kernel(ranker *r, kdl_candidate *candidate) {
  const kdl_query *query = r->query;
  if (kdl_catalog_unresolved(r->catalog, candidate->image))
    candidate->reasons |= KDL_REASON(RELOCATABLE);
  if (query->kernel.data) {
    candidate->presence =
        (uint8_t)kdl_catalog_find(r->catalog, candidate->image, query->kernel, &candidate->key);
    if (candidate->key.data && !candidate->reasons)
      candidate->reasons = key_reasons(r, candidate->key);
  }
  candidate->eligible = !candidate->reasons && candidate->presence == KDL_KERNEL_HELD;
}

/* False where it is not of the ranking. */
static bool judge(ranker *r, uint32_t index, kdl_candidate *candidate) {
  const kdl_query *query = r->query;
  const kdl_device_rule *device = &query->device->rule;
  const kdl_image *image = kdl_catalog_image(r->catalog, index);
  const bool with_refused = query->scope != KDL_RANK_ELIGIBLE;
  const kdl_image_rule *rule = rule_of(r, index);
  const bool is_admitted = kdl_match_admits(rule, device);
  if (!is_admitted && !with_refused)
    return false;
  *candidate = (kdl_candidate){
      .image = index,
      .kind = rule->kind,
      .presence = KDL_KERNEL_HELD,
      .needs_amx = rule->family == KDL_FAMILY_X86_64 && kdl_x86_needs_amx(rule->needs),
      .reasons = is_admitted ? 0 : kdl_match_reasons(rule, device),
      .fit = is_admitted ? kdl_match_fit(rule, device) : "",
  };
  if (query->policy != KDL_POLICY_FIRST) {
    bool is_rank_first = query->policy == KDL_POLICY_CAPABILITY;
    candidate->order[is_rank_first] = rule->priority;
    candidate->order[!is_rank_first] = rule->rank;
  }
  if (candidate->reasons & KDL_REASONS_NO_CODE)
    candidate->presence = query->kernel.data ? KDL_KERNEL_ABSENT : KDL_KERNEL_HELD;
  else if (query->scope == KDL_RANK_RULES)
    candidate->eligible = !candidate->reasons;
  else if (!candidate->reasons || query->scope == KDL_RANK_ALL_NAMES)
    judge_kernel(r, candidate);
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
      [KDL_KERNEL_HELD] = 0, [KDL_KERNEL_UNREADABLE] = 1, [KDL_KERNEL_ABSENT] = 2};
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

/* The candidates of a ranking for any kernel that may hold this one. */
typedef struct {
  const kdl_ranking *base;       /* NULL: each image is judged */
  const struct kdl_holder *held; /* NULL: all of its candidates may */
  size_t count;
} origin;

/* Return how many there are; `out_candidates` has room for all that are looked at. */
static size_t judge_base(ranker *r, origin from, kdl_candidate *out_candidates) {
  size_t count = 0;
  for (size_t i = 0; i < from.count; ++i) {
    kdl_candidate *to = &out_candidates[count];
    *to = from.base->candidates[from.held ? from.held[i].place : i];
    judge_kernel(r, to);
    count += to->eligible;
  }
  return count;
}

static size_t judge_images(ranker *r, size_t looked_at, kdl_candidate *out_candidates) {
  const kdl_query *query = r->query;
  const kdl_device_rule *device = &query->device->rule;
  const kdl_image *images = kdl_catalog_container(r->catalog)->images;
  const bool with_refused = query->scope != KDL_RANK_ELIGIBLE;
  size_t count = 0;
  for (size_t i = 0; i < looked_at; ++i) {
    uint32_t index = query->among ? query->among[i] : (uint32_t)i;
    if (with_refused || kdl_match_may_run(images[index].kind, images[index].arch, device))
      count += judge(r, index, &out_candidates[count]);
  }
  kdl_sort(out_candidates, count, sizeof *out_candidates, compare_candidates);
  return count;
}

/* Fills in what a ranking says of its candidates, which are there. */
static void finish(ranker *r, kdl_ranking *ranking) {
  const kdl_candidate *first = ranking->candidates;
  while (ranking->eligible < ranking->count && first[ranking->eligible].eligible)
    ++ranking->eligible;
  ranking->is_one_module = true;
  for (size_t i = 1; i < ranking->eligible; ++i)
    ranking->is_one_module &= kdl_catalog_image(r->catalog, first[i].image)->module ==
                              kdl_catalog_image(r->catalog, first->image)->module;
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
  size_t shortages = kdl_catalog_shortages(catalog);
  KDL_TRY(kdl_catalog_compile_all(catalog));
  kdl_ranking *made = calloc(1, sizeof *made + count * sizeof *made->candidates);
  if (!made)
    return kdl_fail(KDL_NO_MEMORY, "out of memory to rank %zu images", count);
  made->catalog = catalog;
  made->query = *query;
  ranker_init(&r, catalog, query);
  made->count = judge_images(&r, count, made->candidates);
  finish(&r, made);
  if (kdl_catalog_shortages(catalog) != shortages) {
    free(made);
    return kdl_fail(KDL_NO_MEMORY, "out of memory for kernel names");
  }
  *out_ranking = made;
  return KDL_OK;
}

size_t kdl_ranking_count(const kdl_ranking *ranking) {
  return ranking->count;
}

size_t kdl_ranking_eligible(const kdl_ranking *ranking) {
  return ranking->eligible;
}

const kdl_candidate *kdl_ranking_at(const kdl_ranking *ranking, size_t place) {
  return &ranking->candidates[place];
}

/* ------------------------------------------------------------------------------------------ */
/* Those that are remembered                                                                    */

enum { few = 16 };

/* Which images of a ranking for any kernel hold what, once a few kernels were ranked among many
 * images; NULL before and when out of memory. What two threads make is the same. */
static const kdl_holders *holders_of(kdl_ranking *base) {
  enum { few_kernels = 8 };
  const kdl_holders *holders = atomic_load_explicit(&base->holders, memory_order_acquire);
  unsigned ranked = atomic_load_explicit(&base->kernels_ranked, memory_order_relaxed);
  if (ranked < few_kernels)
    atomic_store_explicit(&base->kernels_ranked, ranked + 1, memory_order_relaxed);
  if (holders || base->count <= few || ranked < few_kernels)
    return holders;
  size_t size = kdl_holders_size(base->catalog, base->candidates, base->count);
  void *memory = size ? kdl_container_alloc(kdl_catalog_container(base->catalog), size) : NULL;
  if (!memory)
    return NULL;
  holders = kdl_holders_fill(base->catalog, base->candidates, base->count, memory, size);
  atomic_store_explicit(&base->holders, holders, memory_order_release);
  return holders;
}

/* Many images are matched once, for any kernel, and each kernel but the first is looked for among
 * those that run. */
static kdl_status find_origin(kdl_catalog *catalog, const kdl_query *query, origin *out_origin) {
  const kdl_ranking *base;
  *out_origin = (origin){.count = kdl_catalog_count(catalog)};
  if (!query->kernel.data || out_origin->count <= few / 4 ||
      !atomic_load_explicit(&catalog->rankings, memory_order_relaxed))
    return KDL_OK;
  kdl_query any = *query;
  any.kernel = (kdl_string){NULL, 0};
  KDL_TRY(kdl_ranking_find(catalog, &any, &base));
  *out_origin = (origin){.base = base, .count = base->count};
  const kdl_holders *holders = holders_of((kdl_ranking *)(uintptr_t)base);
  if (holders)
    out_origin->held = kdl_holders_find(holders, query->kernel, &out_origin->count);
  return KDL_OK;
}

/* What was asked, and the best of the answer. */
static void leave_layer(const kdl_catalog *catalog, const kdl_query *query,
                        const kdl_ranking *made) {
  char device[192];
  kdl_layer_about about = {.device = device, .failed = !made, .has_image = made && made->count};
  kdl_device_spec_name(&query->device->spec, &(kdl_out){device, sizeof device, 0});
  if (query->kernel.data)
    about.kernel = query->kernel.data;
  else
    about.library = kdl_catalog_container(catalog)->name;
  if (about.has_image) {
    about.image = made->candidates[0].image;
    about.target = kdl_catalog_image(catalog, about.image)->arch.data;
  }
  kdl_layer_leave(KDL_LAYER_SELECT, &about);
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
static kdl_ranking *lay_out(ranker *r, uint64_t hash, const kdl_candidate *candidates,
                            size_t count) {
  const kdl_query *query = r->query;
  size_t size = count * sizeof *candidates;
  kdl_ranking *made = kdl_container_alloc(kdl_catalog_container(r->catalog),
                                          sizeof *made + size + query->kernel.length +
                                              query->variant_tag.length + 2);
  if (!made)
    return NULL;
  *made = (kdl_ranking){.node.hash = hash, .catalog = r->catalog, .query = *query, .count = count};
  memcpy(made->candidates, candidates, size);
  char *text = (char *)(made->candidates + count);
  made->query.kernel = copy_text(&text, query->kernel);
  made->query.variant_tag = copy_text(&text, query->variant_tag);
  finish(r, made);
  return made;
}

static kdl_ranking *make(kdl_catalog *catalog, const kdl_query *query, uint64_t hash, origin from) {
  ranker r;
  kdl_candidate some[few];
  kdl_candidate *candidates = from.count <= few ? some : malloc(from.count * sizeof *candidates);
  if (!candidates)
    return NULL;
  size_t shortages = kdl_catalog_shortages(catalog);
  ranker_init(&r, catalog, query);
  size_t count =
      from.base ? judge_base(&r, from, candidates) : judge_images(&r, from.count, candidates);
  kdl_ranking *made =
      kdl_catalog_shortages(catalog) == shortages ? lay_out(&r, hash, candidates, count) : NULL;
  if (candidates != some)
    free(candidates);
  return made;
}

static kdl_status add(kdl_catalog *catalog, const kdl_query *query, uint64_t hash,
                      const kdl_ranking **out_ranking) {
  origin from;
  KDL_TRY(find_origin(catalog, query, &from));
  kdl_layer_enter(KDL_LAYER_SELECT);
  kdl_ranking *made = make(catalog, query, hash, from);
  if (kdl_layer_is_heard())
    leave_layer(catalog, query, made);
  if (!made)
    return kdl_fail(KDL_NO_MEMORY, "out of memory to rank %zu images", from.count);
  *out_ranking = (const kdl_ranking *)kdl_trie_add(&catalog->rankings, &made->node, kdl_ranking_is,
                                                   &made->query);
  return KDL_OK;
}

kdl_status kdl_ranking_find(kdl_catalog *catalog, const kdl_query *query,
                            const kdl_ranking **out_ranking) {
  uint64_t hash = kdl_query_hash(query);
  *out_ranking = kdl_ranking_known(catalog, query, hash);
  return *out_ranking ? KDL_OK : add(catalog, query, hash, out_ranking);
}
