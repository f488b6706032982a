/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Results as one page that needs nothing else: page/bench.html with the JSON in it. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

/* The page lies in the program as it lies in the source. */
__asm__(".pushsection .rodata\n"
        "cli_bench_page:\n"
        ".incbin \"" CLI_BENCH_PAGE "\"\n"
        "cli_bench_page_end:\n"
        ".popsection\n");
extern const char cli_bench_page[], cli_bench_page_end[];

/* Inside a script element a '<' could end it. */
static void put_escaped(const char *json, size_t size, FILE *file) {
  for (size_t i = 0; i < size; ++i) {
    if (json[i] == '<')
      fputs("\\u003c", file);
    else
      putc(json[i], file);
  }
}

void cli_bench_write_html(const bench_results *results, const char *command, FILE *file) {
  static const char mark[] = "@DATA@";
  size_t page_size = (size_t)(cli_bench_page_end - cli_bench_page);
  const char *data = memmem(cli_bench_page, page_size, mark, sizeof mark - 1);
  char *json = NULL;
  size_t json_size = 0;
  FILE *memory = open_memstream(&json, &json_size);
  if (!memory)
    return;
  cli_bench_write_json(results, command, memory);
  if (fclose(memory) == 0) {
    const char *rest = data + sizeof mark - 1;
    fwrite(cli_bench_page, 1, (size_t)(data - cli_bench_page), file);
    put_escaped(json, json_size, file);
    fwrite(rest, 1, (size_t)(cli_bench_page_end - rest), file);
  }
  free(json);
}
