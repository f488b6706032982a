/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Clang writes one file per job, "image: saxpy.c \\\n  kernel.h", and escapes blanks in names as "\
 * ". */
#include "cc/driver.h"
#include "support/base/error.h"
#include "tools/common/output.h"

/* The end of a name: a blank without a backslash before it. */
static size_t end_of_name(kdl_string text, size_t at) {
  while (at < text.length && text.data[at] != ' ' && text.data[at] != '\n') {
    bool is_escape = text.data[at] == '\\' && at + 1 < text.length && text.data[at + 1] != '\n';
    at += is_escape ? 2 : 1;
  }
  return at < text.length ? at : text.length;
}

/* Names keep Clang's escapes. */
static void add_dependencies(kdl_string rule, kdl_string_list *files) {
  size_t at = kdl_text_find(rule, 0, ":") + 1;
  for (size_t end; at < rule.length; at = end + 1) {
    end = end_of_name(rule, at);
    kdl_string name = {rule.data + at, end - at};
    bool is_name = name.length && !kdl_text_is(name, "\\");
    if (is_name && !kdl_text_is_one_of(name, files->items, files->count))
      kdl_string_list_append_format(files, "%.*s", CLI_STRING_ARGS(name));
  }
}

/* A name, escaped as in a rule. */
static void write_quoted(FILE *out, const char *name) {
  for (; *name; ++name)
    fprintf(out, *name == ' ' || *name == '#' ? "\\%c" : *name == '$' ? "$%c" : "%c", *name);
}

static void write_rule(FILE *out, const cc_depfile *file, const kdl_string_list *files) {
  if (file->is_quoted)
    write_quoted(out, file->target);
  else
    fputs(file->target, out);
  fputc(':', out);
  for (size_t i = 0; i < files->count; ++i)
    fprintf(out, "%s%s", i ? " \\\n  " : " ", files->items[i]);
  fputc('\n', out);
  for (size_t i = 1; file->has_phony && i < files->count; ++i) /* the first is the source */
    fprintf(out, "%s:\n", files->items[i]);
}

const char *cc_depfile_default(kdl_arena *arena, const char *output) {
  const char *slash = strrchr(output, '/');
  const char *dot = strrchr(slash ? slash : output, '.');
  return xarena_format(arena, "%.*s.d", dot ? (int)(dot - output) : (int)strlen(output), output);
}

kdl_status cc_depfile_write(kdl_arena *arena, const cc_job *jobs, size_t count,
                            const cc_depfile *file) {
  kdl_string_list files = {.arena = arena};
  for (size_t i = 0; i < count; ++i) {
    kdl_string rule;
    KDL_TRY(cc_read_text_file(
        arena, xarena_format(arena, "%s/%zu.d", jobs[i].plan->folder, jobs[i].number), &rule));
    add_dependencies(rule, &files);
  }
  if (files.failed)
    cli_out_of_memory();
  char *text;
  size_t size;
  FILE *out = xtext_stream(&text, &size);
  write_rule(out, file, &files);
  kdl_string rules = cli_text_close(arena, out, &text, &size);
  return cli_output_save(file->path, rules.data, rules.length);
}
