/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Results as one page that needs nothing else: page/bench.html with the JSON in it. */
#include "bench.h"

#include "cli/input.h"
#include "cli/page.h"
#include "cli/report.h"

#include "base/error.h"

#include <stdlib.h>

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

kdl_status cli_bench_save_page(const char *path, const char *json, size_t size) {
  return cli_page_save(path, cli_bench_page, cli_bench_page_size, json, size);
}

/* Adds a file that was read through, and is one of ours. */
static kdl_status append(const char *path, FILE *json) {
  bench_results results;
  cli_bytes bytes = {.size = 0};
  kdl_status status = cli_bench_read_json(path, &results);
  if (status != KDL_OK)
    return status;
  bench_results_free(&results);
  status = cli_bytes_read(path, &bytes);
  if (status == KDL_OK)
    fwrite(bytes.data, 1, bytes.size, json);
  cli_bytes_free(&bytes);
  return status;
}

int cli_bench_make_page(const cli_args *args, const char *const *paths, size_t count) {
  const char *path = cli_args_value(args, "html");
  if (!path)
    return cli_finish(kdl_fail(KDL_BAD_CALL, "found no --html, expected the file to write"));
  char *json = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&json, &size);
  kdl_status status = file ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory");
  for (size_t i = 0; i < count && status == KDL_OK; ++i) {
    if (count > 1)
      putc(i ? ',' : '[', file);
    status = append(paths[i], file);
  }
  if (file && count > 1)
    putc(']', file);
  if (file && fclose(file) != 0 && status == KDL_OK)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory");
  if (status == KDL_OK)
    status = cli_bench_save_page(path, json, size);
  free(json);
  return cli_finish(status);
}
