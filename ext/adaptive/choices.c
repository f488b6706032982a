/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/adaptive/choices.h"

#include "support/base/hash.h"
#include "support/system/environment.h"
#include "support/system/lock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const uint64_t flush_every_ns = 2000000000;

/* ------------------------------------------------------------------------------------------ */
/* Entries                                                                                      */

/* A fork waits until no entry is in use: the child would find it so for ever. */
bool kdl_entry_try(kdl_class_entry *entry) {
  kdl_fork_hold();
  if (!atomic_exchange_explicit(&entry->is_busy, true, memory_order_acquire))
    return true;
  kdl_fork_release();
  return false;
}

void kdl_entry_leave(kdl_class_entry *entry) {
  atomic_store_explicit(&entry->is_busy, false, memory_order_release);
  kdl_fork_release();
}

/* False in a child whose parent forked although an entry was in use (kdl_fork_check). */
static bool enter_entry(kdl_class_entry *entry) {
  while (!kdl_entry_try(entry)) {
    if (kdl_fork_check() != KDL_OK)
      return false;
  }
  return true;
}

void kdl_choices_variant(const kdl_adaptive *adaptive, uint32_t variant, kdl_out *out) {
  const kdl_adaptive_variant *about = &adaptive->variants[variant];
  kdl_out_format(out, "image %" PRIu32, about->image);
  if (about->tag && *about->tag)
    kdl_out_format(out, " (%s)", about->tag);
}

void kdl_choices_log(const kdl_adaptive *adaptive, const kdl_class_entry *entry, const char *format,
                     ...) {
  char class_text[256], text[512];
  va_list args;
  if (!kdl_debug_on(KDL_DEBUG_SELECT))
    return;
  kdl_class_print(&entry->key, adaptive->arguments, adaptive->subject.argument_count,
                  &(kdl_out){class_text, sizeof class_text, 0});
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  kdl_debug(KDL_DEBUG_SELECT, "%s on %s, %s: %s", adaptive->subject.kernel,
            adaptive->subject.device, class_text, text);
}

static void log_choice(const kdl_adaptive *adaptive, const kdl_class_entry *entry,
                       const char *word) {
  char name[128];
  if (!kdl_debug_on(KDL_DEBUG_SELECT))
    return;
  kdl_choices_variant(adaptive, entry->race.leader, &(kdl_out){name, sizeof name, 0});
  const kdl_race_variant *leader = &entry->race.variants[entry->race.leader];
  kdl_choices_log(adaptive, entry, "%s %s, %.3f of the first one's time, %" PRIu32 " trials", word,
                  name, leader->count ? kdl_race_score(leader, NULL) : 1.0, entry->trials);
}

/* "items 512 n=512: image 2 (fast) 17.5 us +-5.4% of 3, image 0 78.0 us +-0.0% of 1": the leader
 * first. */
static void describe_race(const kdl_adaptive *adaptive, const kdl_class_entry *entry,
                          kdl_out *out) {
  const kdl_race *race = &entry->race;
  kdl_class_print(&entry->key, adaptive->arguments, adaptive->subject.argument_count, out);
  for (uint32_t i = 0; i <= race->count; ++i) { /* the leader, then all others */
    uint32_t at = i ? i - 1 : race->leader;
    double spread, score = kdl_race_score(&race->variants[at], &spread);
    if (i && at == race->leader)
      continue;
    kdl_out_format(out, i ? ", " : ": ");
    kdl_choices_variant(adaptive, at, out);
    if (race->variants[at].state == KDL_RACE_EXCLUDED)
      kdl_out_format(out, " excluded");
    else if (score > 0)
      kdl_out_format(out, " %.1f us +-%.1f%% of %u", score * entry->unit_ns / 1000,
                     100 * spread / score, (unsigned)race->variants[at].count);
  }
}

/* A trace has each change of a choice as a phase `select`. */
static void trace_choice(const kdl_adaptive *adaptive, const kdl_class_entry *entry) {
  char text[2048];
  if (!kdl_trace_enabled())
    return;
  kdl_trace_phase_begin(KDL_TRACE_PHASE_SELECT);
  describe_race(adaptive, entry, &(kdl_out){text, sizeof text, 0});
  kdl_trace_phase_end(
      KDL_TRACE_PHASE_SELECT,
      &(kdl_trace_phase_info){.library = adaptive->subject.library,
                              .kernel = adaptive->subject.kernel,
                              .device = adaptive->subject.device,
                              .variant = text,
                              .has_image = true,
                              .image = adaptive->variants[entry->race.leader].image});
}

void kdl_choices_publish(kdl_adaptive *adaptive, kdl_class_entry *entry, bool is_decided) {
  uint32_t choice = entry->race.leader | (is_decided ? KDL_CHOICE_DECIDED : 0) |
                    (entry->trials ? KDL_CHOICE_MEASURED : 0);
  uint32_t before = atomic_exchange_explicit(&entry->choice, choice, memory_order_release);
  bool has_changed = (before & KDL_CHOICE_VARIANT) != entry->race.leader;
  if (has_changed)
    entry->reference_count = 0; /* they are of another variant */
  if (is_decided && !(before & KDL_CHOICE_DECIDED))
    log_choice(adaptive, entry, "decided for");
  else if (has_changed)
    log_choice(adaptive, entry, "now uses");
  if (has_changed || (is_decided && !(before & KDL_CHOICE_DECIDED)))
    trace_choice(adaptive, entry);
}

void kdl_choices_exclude(kdl_adaptive *adaptive, kdl_class_entry *entry, uint32_t variant,
                         const char *reason, bool is_stored) {
  char name[128];
  if (entry->race.variants[variant].state == KDL_RACE_EXCLUDED)
    return;
  kdl_race_exclude(&entry->race, variant);
  free(entry->reasons[variant]);
  entry->reasons[variant] = strdup(reason);
  kdl_choices_variant(adaptive, variant, &(kdl_out){name, sizeof name, 0});
  kdl_choices_log(adaptive, entry, "%s is excluded: %s", name, reason);
  if (is_stored)
    kdl_stored_exclude(adaptive, &entry->key, adaptive->variants[variant].id, reason);
  bool was_decided =
      atomic_load_explicit(&entry->choice, memory_order_relaxed) & KDL_CHOICE_DECIDED;
  kdl_choices_publish(adaptive, entry, was_decided);
}

/* ------------------------------------------------------------------------------------------ */
/* Creating                                                                                     */

static bool is_entry_of(const kdl_trie_node *node, const void *key) {
  const kdl_class_entry *entry = (const kdl_class_entry *)node; /* its first member */
  const kdl_problem_class *wanted = key;
  return entry->key.words[0] == wanted->words[0] && entry->key.words[1] == wanted->words[1];
}

static uint64_t class_hash(const kdl_problem_class *key) {
  return kdl_hash_mix(key->words[0], key->words[1] + 0x9e3779b97f4a7c15u);
}

static void exclude_unusable(kdl_adaptive *adaptive, kdl_class_entry *entry) {
  uint64_t conditions = entry->key.words[1] >> KDL_CLASS_CONDITIONS_AT;
  for (uint32_t i = 0; i < entry->race.count; ++i) {
    const char *refusal = adaptive->variants[i].refusal;
    if (i < KDL_CLASS_CONDITIONS && conditions >> i & 1)
      refusal = "its condition does not hold";
    else if (__atomic_load_n(&adaptive->unloadable, __ATOMIC_RELAXED) >> i & 1)
      refusal = "it does not load";
    if (!refusal)
      continue;
    entry->race.variants[i].state = KDL_RACE_EXCLUDED;
    entry->reasons[i] = strdup(refusal);
  }
  for (uint32_t i = 0; i < entry->race.count; ++i) {
    if (entry->race.variants[entry->race.leader].state == KDL_RACE_EXCLUDED)
      entry->race.leader = i;
  }
}

static kdl_class_entry *create_entry(kdl_adaptive *adaptive, const kdl_problem_class *key) {
  uint32_t count = adaptive->subject.variant_count;
  size_t size = sizeof(kdl_class_entry) + count * (sizeof(kdl_race_variant) + sizeof(char *) + 1);
  kdl_class_entry *entry = calloc(1, size);
  if (!entry)
    return NULL;
  entry->reasons = (char **)(entry + 1);
  kdl_race_variant *variants = (kdl_race_variant *)(entry->reasons + count);
  entry->unsaved = (uint8_t *)(variants + count);
  entry->key = *key;
  entry->node.hash = class_hash(key);
  kdl_race_init(&entry->race, variants, count);
  exclude_unusable(adaptive, entry);
  entry->needs_priors = adaptive->is_loading;
  if (!entry->needs_priors)
    kdl_priors_set(adaptive, entry);
  bool is_decided = !adaptive->explore.trials || kdl_race_next(&entry->race) == KDL_RACE_NONE;
  entry->choice = entry->race.leader | (is_decided ? KDL_CHOICE_DECIDED : 0);
  return entry;
}

static void free_entry(kdl_adaptive *adaptive, kdl_class_entry *entry) {
  kdl_samples_free(adaptive, entry);
  for (uint32_t i = 0; i < entry->race.count; ++i)
    free(entry->reasons[i]);
  free(entry);
}

/* Nothing is learnt of classes that have no entry then. */
static bool is_full(kdl_adaptive *adaptive) {
  return atomic_load(&adaptive->class_count) >= KDL_CLASS_LIMIT;
}

kdl_class_entry *kdl_choices_entry(kdl_adaptive *adaptive, const kdl_problem_class *key) {
  uint64_t hash = class_hash(key);
  kdl_trie_node *known = kdl_trie_find(&adaptive->classes_by_key, hash, is_entry_of, key);
  if (known)
    return (kdl_class_entry *)known;
  if (is_full(adaptive))
    return NULL;
  kdl_class_entry *made = create_entry(adaptive, key);
  if (!made)
    return NULL;
  known = kdl_trie_add(&adaptive->classes_by_key, &made->node, is_entry_of, key);
  if (known != &made->node) {
    free_entry(adaptive, made);
    return (kdl_class_entry *)known;
  }
  atomic_fetch_add(&adaptive->class_count, 1);
  made->next = atomic_load(&adaptive->classes);
  while (!atomic_compare_exchange_weak(&adaptive->classes, &made->next, made))
    ;
  return made;
}

/* ------------------------------------------------------------------------------------------ */
/* A launch                                                                                     */

static inline uint64_t argument_value(const kdl_shape_argument *argument, const kdl_args *args) {
  return argument->index < args->count && args->pointers[argument->index]
             ? kdl_class_read(argument, args->pointers[argument->index])
             : 0;
}

static inline kdl_problem_class class_of(const kdl_adaptive *adaptive, const kdl_extent *extent,
                                         uint32_t flags, const kdl_args *args) {
  kdl_problem_class key = {
      {(uint64_t)(flags & KDL_ADAPTIVE_GRID) << 63, (uint64_t)(flags >> KDL_ADAPTIVE_CONDITIONS_AT)
                                                        << KDL_CLASS_CONDITIONS_AT}};
  const kdl_shape_argument *argument = adaptive->arguments;
  const kdl_shape_argument *end = argument + adaptive->subject.argument_count;
  uint64_t first = kdl_class_bucket(extent->x) | kdl_class_bucket(extent->y) << KDL_CLASS_BITS |
                   kdl_class_bucket(extent->z) << 2 * KDL_CLASS_BITS;
  for (unsigned shift = KDL_CLASS_EXTENTS * KDL_CLASS_BITS;
       argument < end && shift < KDL_CLASS_FIRST_WORD * KDL_CLASS_BITS;
       ++argument, shift += KDL_CLASS_BITS)
    first |= kdl_class_bucket(argument_value(argument, args)) << shift;
  for (unsigned shift = 0; argument < end; ++argument, shift += KDL_CLASS_BITS)
    key.words[1] |= kdl_class_bucket(argument_value(argument, args)) << shift;
  key.words[0] |= first;
  return key;
}

static uint64_t exact_hash(const kdl_adaptive *adaptive, const kdl_extent *extent,
                           const kdl_args *args) {
  uint64_t hash = kdl_hash_mix(kdl_hash_mix(kdl_hash_mix(1, extent->x), extent->y), extent->z);
  for (unsigned i = 0; i < adaptive->subject.argument_count; ++i)
    hash = kdl_hash_mix(hash, argument_value(&adaptive->arguments[i], args));
  return hash;
}

static __attribute__((noinline)) uint32_t choose_undecided(kdl_adaptive *adaptive,
                                                           kdl_class_entry *entry, uint64_t exact,
                                                           kdl_adaptive_trial *out_trial) {
  KDL_NOT_CANCELLED;
  if (!out_trial || !kdl_entry_try(entry))
    return atomic_load_explicit(&entry->choice, memory_order_acquire) & KDL_CHOICE_VARIANT;
  bool was_trial = entry->pending && kdl_samples_collect(adaptive, entry);
  ++entry->launches;
  if (entry->needs_priors)
    kdl_priors_set(adaptive, entry);
  entry->needs_priors = false;
  uint32_t variant = kdl_choices_step(adaptive, entry, exact, out_trial);
  bool is_decided = atomic_load_explicit(&entry->choice, memory_order_relaxed) & KDL_CHOICE_DECIDED;
  kdl_entry_leave(entry);
  uint64_t now = was_trial && !is_decided ? kdl_adaptive_clock() : 0;
  if (is_decided || now > atomic_load(&adaptive->flushed_ns) + flush_every_ns)
    kdl_stored_flush(adaptive, entry);
  return variant;
}

static __attribute__((noinline)) uint32_t choose_in_new_class(kdl_adaptive *adaptive,
                                                              const kdl_problem_class *key,
                                                              uint64_t exact,
                                                              kdl_adaptive_trial *out_trial) {
  kdl_class_entry *entry = kdl_choices_entry(adaptive, key);
  uint32_t choice = entry ? atomic_load(&entry->choice) : KDL_CHOICE_DECIDED;
  return choice & KDL_CHOICE_DECIDED ? choice & KDL_CHOICE_VARIANT
                                     : choose_undecided(adaptive, entry, exact, out_trial);
}

static uint32_t choose(kdl_adaptive *adaptive, const kdl_extent *extent, uint32_t flags,
                       const kdl_args *args, kdl_adaptive_trial *out_trial) {
  const kdl_problem_class key = class_of(adaptive, extent, flags, args);
  kdl_class_entry *entry = (kdl_class_entry *)kdl_trie_find(&adaptive->classes_by_key,
                                                            class_hash(&key), is_entry_of, &key);
  if (out_trial)
    out_trial->entry = NULL;
  uint32_t choice = entry ? atomic_load_explicit(&entry->choice, memory_order_acquire) : 0;
  if (choice & KDL_CHOICE_DECIDED)
    return choice & KDL_CHOICE_VARIANT;
  uint64_t exact = exact_hash(adaptive, extent, args);
  return entry ? choose_undecided(adaptive, entry, exact, out_trial)
               : choose_in_new_class(adaptive, &key, exact, out_trial);
}

static bool is_class_decided(kdl_adaptive *adaptive, const kdl_extent *extent, uint32_t flags,
                             const kdl_args *args) {
  const kdl_problem_class key = class_of(adaptive, extent, flags, args);
  const kdl_class_entry *entry = (kdl_class_entry *)kdl_trie_find(
      &adaptive->classes_by_key, class_hash(&key), is_entry_of, &key);
  if (!entry)
    return is_full(adaptive);
  return atomic_load_explicit(&entry->choice, memory_order_acquire) & KDL_CHOICE_DECIDED;
}

/* ------------------------------------------------------------------------------------------ */
/* Failures                                                                                     */

static void loaded(kdl_adaptive *adaptive, kdl_adaptive_trial *trial, uint64_t ns) {
  (void)adaptive;
  if (trial->is_trial && kdl_entry_try(trial->entry)) {
    trial->entry->explored_ns += ns;
    kdl_entry_leave(trial->entry);
  }
}

static void exclude(kdl_adaptive *adaptive, kdl_adaptive_trial *trial, uint32_t variant,
                    const char *reason) {
  KDL_NOT_CANCELLED;
  if (trial) {
    if (!enter_entry(trial->entry))
      return;
    kdl_choices_exclude(adaptive, trial->entry, variant, reason, true);
    kdl_entry_leave(trial->entry);
    return;
  }
  __atomic_fetch_or(&adaptive->unloadable, (uint64_t)1 << variant, __ATOMIC_RELAXED);
  for (kdl_class_entry *entry = atomic_load(&adaptive->classes); entry; entry = entry->next) {
    if (!enter_entry(entry))
      return;
    kdl_choices_exclude(adaptive, entry, variant, reason, false);
    kdl_entry_leave(entry);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Opening                                                                                      */

static char *copy_text(char **at, const char *text, size_t length) {
  char *copy = *at;
  memcpy(copy, text, length);
  copy[length] = '\0';
  *at += length + 1;
  return copy;
}

static size_t text_size(const kdl_adaptive_subject *subject) {
  size_t size = strlen(subject->kernel) + strlen(subject->library) + strlen(subject->device) +
                subject->identity.length + subject->tuned.length + 5;
  for (size_t i = 0; i < subject->argument_count; ++i)
    size += subject->arguments[i].name.length + 1;
  for (uint32_t i = 0; i < subject->variant_count; ++i) {
    const kdl_adaptive_variant *variant = &subject->variants[i];
    size += (variant->tag ? strlen(variant->tag) : 0) + 1;
    size += variant->refusal ? strlen(variant->refusal) + 1 : 0;
  }
  return size;
}

static void copy_subject(kdl_adaptive *made, const kdl_adaptive_subject *from) {
  char *at = made->text;
  kdl_adaptive_subject *to = &made->subject;
  *to = *from;
  to->kernel = copy_text(&at, from->kernel, strlen(from->kernel));
  to->library = copy_text(&at, from->library, strlen(from->library));
  to->device = copy_text(&at, from->device, strlen(from->device));
  to->identity.data = copy_text(&at, from->identity.data, from->identity.length);
  if (from->tuned.data)
    to->tuned.data = copy_text(&at, from->tuned.data, from->tuned.length);
  for (size_t i = 0; i < from->argument_count; ++i) {
    made->arguments[i] = from->arguments[i];
    made->arguments[i].name.data =
        copy_text(&at, from->arguments[i].name.data, from->arguments[i].name.length);
  }
  for (uint32_t i = 0; i < from->variant_count; ++i) {
    const kdl_adaptive_variant *variant = &from->variants[i];
    made->variants[i] = *variant;
    const char *tag = variant->tag ? variant->tag : "";
    made->variants[i].tag = copy_text(&at, tag, strlen(tag));
    if (variant->refusal)
      made->variants[i].refusal = copy_text(&at, variant->refusal, strlen(variant->refusal));
    for (uint32_t other = 0; other < i; ++other) {
      if (from->variants[other].id == variant->id)
        made->variants[i].refusal = "it is the same as another one";
    }
    made->may_try_count += !made->variants[i].refusal;
  }
  to->arguments = made->arguments;
  to->variants = made->variants;
}

/* All that are open, for the end of the process. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_adaptive *open_list;

static void flush_all(kdl_adaptive *adaptive) {
  for (kdl_class_entry *entry = atomic_load(&adaptive->classes); entry; entry = entry->next)
    kdl_stored_flush(adaptive, entry);
}

__attribute__((destructor)) static void flush_at_exit(void) {
  if (pthread_mutex_trylock(&open_lock) != 0)
    return;
  for (kdl_adaptive *adaptive = open_list; adaptive; adaptive = adaptive->next_open)
    flush_all(adaptive);
  pthread_mutex_unlock(&open_lock);
}

static void unlist(kdl_adaptive *adaptive) {
  kdl_lock(&open_lock);
  kdl_adaptive **at = &open_list;
  while (*at && *at != adaptive)
    at = &(*at)->next_open;
  if (*at)
    *at = adaptive->next_open;
  kdl_unlock(&open_lock);
}

static void close_choices(kdl_adaptive *adaptive, bool is_usable) {
  kdl_class_entry *entry = atomic_load(&adaptive->classes), *next;
  unlist(adaptive);
  for (; entry; entry = next) {
    next = entry->next;
    if (is_usable && kdl_entry_try(entry)) {
      kdl_samples_collect(adaptive, entry);
      kdl_entry_leave(entry);
    }
    kdl_stored_flush(adaptive, entry);
    if (!is_usable)
      memset(entry->samples, 0, sizeof entry->samples);
    free_entry(adaptive, entry);
  }
  kdl_table_close(&adaptive->file);
  kdl_marks_close(&adaptive->marks);
  free(adaptive->variants);
  free(adaptive->text);
  free(adaptive);
}

static kdl_adaptive *open_choices(const kdl_adaptive_subject *subject) {
  kdl_adaptive *made = calloc(1, sizeof *made);
  if (!made || subject->variant_count > KDL_RACE_VARIANTS ||
      subject->argument_count > KDL_CLASS_ARGUMENTS) {
    free(made);
    return NULL;
  }
  made->file.fd = -1;
  made->variants = calloc(subject->variant_count, sizeof *made->variants);
  made->text = malloc(text_size(subject));
  if (!made->variants || !made->text) {
    close_choices(made, false);
    return NULL;
  }
  copy_subject(made, subject);
  made->explore = kdl_explore_settings_read();
  made->process = (int)getpid();
  made->flushed_ns = kdl_adaptive_clock();
  kdl_table_name(subject->identity, made->name);
  kdl_stored_load(made);
  kdl_lock(&open_lock);
  made->next_open = open_list;
  open_list = made;
  kdl_unlock(&open_lock);
  return made;
}

static const kdl_adaptive_hooks hooks = {
    .open = open_choices,
    .close = close_choices,
    .choose = choose,
    .is_decided = is_class_decided,
    .begin = kdl_sample_begin,
    .end = kdl_sample_end,
    .loaded = loaded,
    .exclude = exclude,
};

const kdl_adaptive_hooks *const kdl_adaptive_choice = &hooks;
