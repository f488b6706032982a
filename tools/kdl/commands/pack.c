/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/kdl/commands/pack.h"

#include "lib/inspect/images.h"
#include "lib/inspect/kinds.h"
#include "lib/inspect/libraries.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/name_set.h"
#include "tools/common/images/rewrite.h"
#include "tools/common/images/terms.h"
#include "tools/common/images/variants.h"
#include "tools/common/images/vocabulary.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/kdl/commands.h"

#include <stdlib.h>
#include <string.h>

static const char grammar[] = "file=F,triple=T,arch=A,kind=K,key=value,... where kind is the "
                              "offload kind and image_kind overrides what the extension says";

typedef struct {
  const cli_pack_rules *rules;
  kdl_writer *writer;
  cli_bytes *files; /* must stay until the writer is done */
  size_t file_count;
  cli_variants variants;
  kdl_arena arena; /* memory that the variants point to */
} packer;

/* The metadata of the image that is being packed. */
typedef struct {
  kdl_pair *pairs;
  size_t count;
  kdl_arena *arena; /* the packer's */
} metadata;

static bool is_key(const cli_term *term, const char *key) {
  return strcmp(term->key.data, key) == 0;
}

static size_t value_position(const cli_term *term) {
  return term->position + term->key.length + 1;
}

/* ------------------------------------------------------------------------------------------ */
/* Kinds                                                                                        */

static kdl_status parse_offload_kind(const packer *pack, const cli_terms *terms,
                                     uint16_t *out_kind) {
  const cli_term *term = cli_terms_find(terms, "kind");
  *out_kind = KDL_OFFLOAD_NONE;
  if (term && pack->rules->as_llvm)
    *out_kind = cli_offload_kind_as_llvm(term->value.data);
  if (!term || pack->rules->as_llvm || cli_offload_kind_parse(term->value.data, out_kind))
    return KDL_OK;
  return cli_terms_fail(terms, value_position(term), "bad offload kind '%s': use %s",
                        term->value.data, cli_offload_kind_names);
}

/* Of a kind that bytes do not identify, such as source text: the extension or the command line
 * decides. LLVM's packager knows neither, so as LLVM's tool nothing is added. */
static kdl_image_kind named_kind(const packer *pack, const cli_terms *terms, const char *path) {
  const cli_term *key = cli_terms_find(terms, "kdl.kind");
  const cli_term *term = key ? key : cli_terms_find(terms, "image_kind");
  const char *dot = strrchr(path, '.');
  const char *name = term ? term->value.data : dot ? dot + 1 : "";
  return pack->rules->fill_target ? kdl_image_kind_of_key(kdl_text_of(name)) : KDL_IMAGE_UNKNOWN;
}

static kdl_image_kind packed_image_kind(const packer *pack, const cli_terms *terms,
                                        const char *path, const cli_bytes *bytes) {
  return cli_image_kind_seen(named_kind(pack, terms, path), bytes->data, bytes->size);
}

static bool adds_kernel_index(const packer *pack, const cli_terms *terms) {
  kdl_string name;
  bool indexed = pack->rules->index;
  for (size_t i = 0; i < terms->count; ++i)
    indexed |= kdl_kernel_name(terms->items[i].key, &name);
  return indexed;
}

/* Readers do not look into an indexed image, so its kind must be right even if LLVM has no name for
 * the extension. */
static kdl_status parse_image_kind(const packer *pack, const cli_terms *terms, const char *path,
                                   const cli_bytes *bytes, uint16_t *out_kind) {
  const cli_term *term = pack->rules->as_llvm ? NULL : cli_terms_find(terms, "image_kind");
  kdl_image_kind kind = packed_image_kind(pack, terms, path, bytes);
  if (!term && !pack->rules->as_llvm && adds_kernel_index(pack, terms) && kind != KDL_IMAGE_UNKNOWN)
    *out_kind = kdl_llvm_image_kind(kind);
  else if (!term)
    *out_kind = cli_declared_kind(path, bytes->data, bytes->size);
  else if (cli_image_kind_parse(term->value.data, &kind))
    *out_kind = kdl_llvm_image_kind(kind);
  else if (!cli_number_parse(term->value.data, out_kind))
    return cli_terms_fail(terms, value_position(term),
                          "bad image kind '%s': use %s, or LLVM's number", term->value.data,
                          cli_image_kind_names);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Metadata                                                                                     */

static void add_pair(metadata *out, const char *key, const char *value) {
  out->pairs[out->count++] = (kdl_pair){xarena_string(out->arena, key, strlen(key)),
                                        xarena_string(out->arena, value, strlen(value))};
}

static void warn_token(void *user, const char *problem) {
  cli_warning("%s: %s", (const char *)user, problem);
}

/* The values of a repeated key are far apart in the text; the error then marks the first. */
static kdl_status check_terms(const cli_terms *terms, const char *path) {
  for (size_t i = 0; i < terms->count; ++i) {
    const cli_term *term = &terms->items[i];
    kdl_parse_error error;
    if (cli_value_check(term->key, term->value, &error)) {
      if (is_key(term, "requires_features"))
        cli_tokens_check(term->value, KDL_CLASS_COUNT, warn_token, (void *)path);
      continue;
    }
    char problem[512];
    bool is_repeated = memchr(term->value.data, ',', term->value.length);
    cli_value_problem(term->value, error, problem, sizeof problem);
    return cli_terms_fail(terms, value_position(term) + (is_repeated ? 0 : error.position),
                          "%s: %s", term->key.data, problem);
  }
  return KDL_OK;
}

/* Adds triple and arch from the image where the command line has none. An image without them is
 * packed as it is, as by LLVM's packager. */
static void fill_target(const packer *pack, const cli_terms *terms, const char *path,
                        const cli_bytes *bytes, metadata *out, uint16_t *offload_kind) {
  bool no_triple = !cli_terms_find(terms, "triple");
  bool no_arch = !cli_terms_find(terms, "arch");
  if (!no_triple && !no_arch)
    return;
  kdl_image_target target = {.triple = ""};
  kdl_image_kind kind = packed_image_kind(pack, terms, path, bytes);
  kdl_status status = kdl_image_read_target(kind, bytes->data, bytes->size, &target);
  if (no_triple && (status != KDL_OK || !target.triple[0])) {
    cli_warning("%s: no triple is given, and the image (%s) does not tell%s%s", path,
                kdl_image_kind_name(kind), status == KDL_OK ? "" : ": ",
                status == KDL_OK ? "" : kdl_error_message());
    return;
  }
  if (status != KDL_OK)
    return;
  if (no_arch && !target.arch[0] && kind == KDL_IMAGE_OBJECT)
    cli_warning("%s: no arch is given, and the object does not name the CPU it was compiled for, "
                "so that none takes it: give it as arch=ARCH, what -march was",
                path);
  no_arch = no_arch && target.arch[0];
  if (no_triple)
    add_pair(out, "triple", target.triple);
  if (no_arch)
    add_pair(out, "arch", target.arch);
  if (no_triple && !cli_terms_find(terms, "kind"))
    *offload_kind = target.offload_kind;
  if (pack->rules->verbose && (no_triple || no_arch))
    cli_note("%s: read from the image:%s%s%s%s", path, no_triple ? " triple=" : "",
             no_triple ? target.triple : "", no_arch ? " arch=" : "", no_arch ? target.arch : "");
}

/* Adds what an older driver may lack, and what SPIR-V needs of the device: readers of an index do
 * not look into the image. */
static void add_needs(const packer *pack, const cli_terms *terms, const char *path,
                      const cli_bytes *bytes, metadata *out) {
  kdl_image_target target = {.version_major = 0};
  kdl_image_kind kind = packed_image_kind(pack, terms, path, bytes);
  if (kdl_image_read_target(kind, bytes->data, bytes->size, &target) != KDL_OK)
    return;
  if (target.version_major && !cli_terms_find(terms, "kdl.version"))
    add_pair(out, "kdl.version",
             xarena_format(out->arena, "%u.%u", target.version_major, target.version_minor));
  if (target.features[0] && !cli_terms_find(terms, "requires_features"))
    add_pair(out, "requires_features", target.features);
}

/* "rev=1" is the shortest valid value of a kernel's key: signature and launch shape are then read
 * from the image. */
static void add_index(const cli_terms *terms, const cli_name_set *kernels, metadata *out) {
  for (size_t i = 0; i < kernels->count; ++i) {
    const char *key = xarena_format(out->arena, KDL_KERNEL_PREFIX "%s", kernels->items[i].data);
    if (!cli_terms_find(terms, key))
      add_pair(out, key, "rev=1");
  }
}

static kdl_status read_packed_kernels(const packer *pack, const cli_terms *terms, const char *path,
                                      const cli_bytes *bytes, cli_name_set *out_kernels) {
  *out_kernels = (cli_name_set){.count = 0};
  if (!pack->rules->index)
    return KDL_OK;
  kdl_status status = cli_name_set_read_kernels(packed_image_kind(pack, terms, path, bytes),
                                                bytes->data, bytes->size, out_kernels);
  if (status == KDL_UNSUPPORTED) {
    cli_warning("%s: not indexed: %s", path, kdl_error_message());
    *out_kernels = (cli_name_set){.count = 0};
    return KDL_OK;
  }
  if (status != KDL_OK)
    kdl_error_prefix("%s", path);
  else if (pack->rules->verbose)
    cli_note("%s: indexed %zu kernel%s", path, out_kernels->count,
             out_kernels->count == 1 ? "" : "s");
  return status;
}

static kdl_status collect_metadata(packer *pack, const cli_terms *terms, const char *path,
                                   const cli_bytes *bytes, uint16_t *offload_kind, metadata *out) {
  enum { filled = 6 };
  cli_name_set kernels;
  KDL_TRY(read_packed_kernels(pack, terms, path, bytes, &kernels));
  out->arena = &pack->arena;
  out->pairs =
      xarena_alloc(out->arena, (terms->count + filled + kernels.count) * sizeof *out->pairs);
  for (size_t i = 0; i < terms->count; ++i) {
    const cli_term *term = &terms->items[i];
    if (!is_key(term, "file") && !is_key(term, "kind") &&
        (pack->rules->as_llvm || !is_key(term, "image_kind")))
      add_pair(out, term->key.data, term->value.data);
  }
  if (pack->rules->fill_target)
    fill_target(pack, terms, path, bytes, out, offload_kind);
  const kdl_image_kind_row *kind = kdl_image_kind_get(packed_image_kind(pack, terms, path, bytes));
  bool is_named = kind->kind_key == KDL_KIND_KEY_ALWAYS ||
                  (kind->kind_key == KDL_KIND_KEY_OF_INDEXED && kernels.count);
  if (is_named && !cli_terms_find(terms, "kdl.kind"))
    add_pair(out, "kdl.kind", kind->name);
  add_index(terms, &kernels, out);
  if (kernels.count)
    add_needs(pack, terms, path, bytes, out);
  cli_name_set_free(&kernels);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

static kdl_status pack_file(packer *pack, const cli_terms *terms, const char *path) {
  pack->files = xreallocarray(pack->files, pack->file_count + 1, sizeof *pack->files);
  cli_bytes *bytes = &pack->files[pack->file_count];
  if (!pack->rules->as_llvm) /* LLVM's tool replaces its input */
    cli_output_protect(&path, 1);
  KDL_TRY(cli_bytes_read(path, bytes));
  size_t number = pack->file_count++;
  kdl_writer_image image = {.size = sizeof image, .data = bytes->data, .data_size = bytes->size};
  metadata pairs = {.count = 0};
  if (pack->rules->check)
    KDL_TRY(check_terms(terms, path));
  KDL_TRY(parse_offload_kind(pack, terms, &image.offload_kind));
  KDL_TRY(parse_image_kind(pack, terms, path, bytes, &image.declared_kind));
  KDL_TRY(collect_metadata(pack, terms, path, bytes, &image.offload_kind, &pairs));
  if (pack->rules->check &&
      kdl_digest_check(pairs.pairs, pairs.count, bytes->data, bytes->size) != KDL_OK) {
    kdl_error_prefix("%s", path);
    return kdl_error_status();
  }
  image.pairs = pairs.pairs;
  image.pair_count = pairs.count;
  KDL_TRY(pack->rules->digest ? kdl_writer_add_with_digest(pack->writer, &image)
                              : kdl_writer_add(pack->writer, &image));
  if (pack->rules->check)
    cli_variants_add(&pack->variants, xarena_format(&pack->arena, "image %zu (%s)", number, path),
                     number, pairs.pairs, pairs.count);
  return KDL_OK;
}

/* As in LLVM, one --image may name several files, which get the same metadata. */
static kdl_status pack_files(packer *pack, const cli_terms *terms) {
  const cli_term *file = cli_terms_find(terms, "file");
  if (pack->rules->as_llvm && !file)
    return kdl_fail(KDL_BAD_CALL, "--image=%s: missing file: use file=F", terms->text);
  if (!pack->rules->as_llvm && (!file || !file->value.length))
    return cli_terms_fail(terms, 0, "missing file: use file=F");
  for (char *names = (char *)file->value.data; names;)
    KDL_TRY(pack_file(pack, terms, strsep(&names, ",")));
  return KDL_OK;
}

static kdl_status pack_image_option(packer *pack, const char *text) {
  cli_terms terms;
  kdl_status status = cli_terms_parse("image", pack->rules->as_llvm ? NULL : grammar, text, &terms);
  if (status == KDL_OK)
    status = pack_files(pack, &terms);
  cli_terms_free(&terms);
  return status;
}

static kdl_status pack_all(packer *pack, const cli_args *args, const char *output) {
  size_t cursor = 0;
  const char *text;
  KDL_TRY(kdl_writer_create(pack->rules->format, &pack->writer));
  while ((text = cli_args_next(args, "image", &cursor)))
    KDL_TRY(pack_image_option(pack, text));
  KDL_TRY(cli_variants_check(&pack->variants));
  return pack->file_count || !pack->rules->as_llvm ? cli_output_save_writer(output, pack->writer)
                                                   : cli_output_save(output, "", 0);
}

kdl_status cli_pack(const cli_args *args, const cli_pack_rules *rules, const char *output) {
  packer pack = {.rules = rules};
  kdl_status status = pack_all(&pack, args, output);
  cli_variants_free(&pack.variants);
  kdl_arena_free(&pack.arena);
  kdl_writer_destroy(pack.writer);
  for (size_t i = 0; i < pack.file_count; ++i)
    cli_bytes_free(&pack.files[i]);
  free(pack.files);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* The command                                                                                  */

/* kdl pack: packs images into an OffloadBinary. */

int cli_run_pack(const cli_args *args) {
  const char *output = cli_args_value(args, "output");
  if (!output)
    return cli_report_status(kdl_fail(KDL_BAD_CALL, "missing output: use -o OUT"));
  if (!cli_args_has(args, "image"))
    return cli_report_status(kdl_fail(KDL_BAD_CALL, "missing images: use --image=file=F,..."));
  cli_pack_rules rules = {
      .fill_target = true,
      .check = true,
      .index = cli_args_has(args, "index"),
      .digest = cli_args_has(args, "digest"),
      .verbose = cli_args_has(args, "verbose"),
  };
  kdl_status status =
      cli_format_parse(cli_args_value(args, "format"), KDL_FORMAT_V1, &rules.format);
  if (status == KDL_OK)
    status = cli_pack(args, &rules, output);
  return cli_report_status(status);
}
