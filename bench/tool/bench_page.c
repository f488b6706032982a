/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Results as one page that needs nothing else: page.html with the JSON in it. */
#include "bench.h"

#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"

#include "support/base/error.h"

#include <stdlib.h>
#include <string.h>

/* The page lies in the program as it lies in the source. */
__asm__(".pushsection .rodata\n"
        "cli_bench_page:\n"
        ".incbin \"" CLI_BENCH_PAGE "\"\n"
        "cli_bench_page_end:\n"
        ".p2align 3\n"
        "cli_bench_page_size:\n"
        ".quad cli_bench_page_end - cli_bench_page\n"
        ".popsection\n");
extern const char cli_bench_page[];
extern const uint64_t cli_bench_page_size;

/* Inside a script element a '<' could end it. */
static void put_escaped(const char *json, size_t size, FILE *file) {
  for (size_t i = 0; i < size; ++i) {
    if (json[i] == '<')
      fputs("\\u003c", file);
    else
      putc(json[i], file);
  }
}

/* The JSON goes where the page says @DATA@. */
kdl_status cli_bench_save_page(const char *path, const char *json, size_t size) {
  static const char mark[] = "@DATA@";
  const char *page = cli_bench_page;
  size_t before =
      (size_t)((const char *)memmem(page, cli_bench_page_size, mark, sizeof mark - 1) - page);
  size_t behind = before + sizeof mark - 1;
  char *made = NULL;
  size_t made_size = 0;
  FILE *file = xtext_stream(&made, &made_size);
  fwrite(page, 1, before, file);
  put_escaped(json, size, file);
  fwrite(page + behind, 1, cli_bench_page_size - behind, file);
  xtext_close(file);
  kdl_status status = cli_output_save(path, made, made_size);
  free(made);
  return status;
}

/* Adds a file that was read through, and is one of ours. */
static kdl_status append_results_file(const char *path, FILE *json) {
  bench_results results;
  cli_bytes bytes;
  KDL_TRY(cli_bench_read_json(path, &results));
  bench_results_free(&results);
  KDL_TRY(cli_bytes_read(path, &bytes));
  fwrite(bytes.data, 1, bytes.size, json);
  cli_bytes_free(&bytes);
  return KDL_OK;
}

int cli_bench_make_page(const cli_args *args, const char *const *paths, size_t count) {
  const char *path = cli_args_value(args, "html");
  if (!path)
    return cli_report_status(kdl_fail(KDL_BAD_CALL, "missing output: use --html=FILE"));
  char *json = NULL;
  size_t size = 0;
  FILE *file = xtext_stream(&json, &size);
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < count && status == KDL_OK; ++i) {
    if (count > 1)
      putc(i ? ',' : '[', file);
    status = append_results_file(paths[i], file);
  }
  if (count > 1)
    putc(']', file);
  xtext_close(file);
  if (status == KDL_OK)
    status = cli_bench_save_page(path, json, size);
  free(json);
  return cli_report_status(status);
}
