/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The report of a trace as one page that needs nothing else: the stacks that `kdl trace fold`
 * writes, drawn, and the table of phases. A block is as wide as its share of the block above it. */
#include "tools/kdl/trace/trace_report.h"

#include "support/base/text.h"

#include <stdlib.h>

static const char page_head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>kdl trace</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n"
    ":root{color-scheme:light "
    "dark;--paper:#fff;--ink:#1f2328;--soft:#59636e;--line:#d1d9e0;--l:80%}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--soft:#9da7b3;"
    "--line:#3d444d;--l:32%}}\n"
    "body{margin:0 auto;max-width:1600px;padding:1rem;background:var(--paper);color:var(--ink);"
    "font:14px/1.4 system-ui,sans-serif}\n"
    "h1{font-size:1.3rem;margin:0}p{margin:.2rem 0;color:var(--soft);overflow-wrap:anywhere}\n"
    ".stacks{margin:1rem 0;overflow:hidden}.f{min-width:0}.n{display:flex}\n"
    ".b{display:block;width:100%;box-sizing:border-box;border:solid var(--paper);border-width:0 "
    "1px "
    "1px 0;padding:2px "
    "0;text-indent:4px;font:inherit;color:inherit;text-align:left;white-space:nowrap;"
    "overflow:hidden;text-overflow:ellipsis;cursor:zoom-in;background:hsl(var(--h) 55% var(--l))}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{text-align:right;padding:.2rem .6rem;border-bottom:1px solid var(--line);"
    "white-space:nowrap}th:first-child,td:first-child{text-align:left}th{color:var(--soft);"
    "font-weight:500}\n</style>\n</head>\n<body>\n<h1>kdl trace</h1>\n";

/* A block that is clicked gets the whole width, and so do those above it; the first block gives
 * all of them back. */
static const char page_end[] =
    "<script>\n"
    "const all=document.querySelectorAll('.f');\n"
    "for(const f of all)f.firstElementChild.onclick=()=>{\n"
    "  for(const g of all){g.style.display='';g.style.width=g.dataset.w+'%';}\n"
    "  for(let g=f;g.matches('.f');g=g.parentElement.closest('.f')||document.body){\n"
    "    g.style.width='100%';\n"
    "    for(const s of "
    "g.parentElement.children)if(s!==g&&s.matches('.f'))s.style.display='none';\n"
    "  }\n};\n</script>\n</body>\n</html>\n";

static void put_html(const char *words, FILE *file) {
  kdl_string text = kdl_text_of(*words ? words : "?");
  for (size_t at = 0, length; at < text.length; at += length) {
    uint32_t code = 0;
    length = kdl_utf8_decode(text.data + at, text.length - at, &code);
    if (code == '&' || code == '<' || code == '>' || code == '"')
      fprintf(file, "&#%u;", (unsigned)code);
    else if (!length || kdl_utf8_is_control(code))
      putc(' ', file);
    else
      fwrite(text.data + at, 1, length, file);
    length = length ? length : 1;
  }
}

static void put_time(double ns, FILE *file) {
  if (ns < 1e3)
    fprintf(file, "%.0f ns", ns);
  else if (ns < 1e6)
    fprintf(file, "%.2f us", ns / 1e3);
  else if (ns < 1e9)
    fprintf(file, "%.2f ms", ns / 1e6);
  else
    fprintf(file, "%.2f s", ns / 1e9);
}

/* ------------------------------------------------------------------------------------------ */
/* Stacks                                                                                       */

typedef struct {
  const cli_trace *trace;
  const cli_trace_sums *sums;
  double *totals; /* of each frame with those below it */
  uint32_t *first, *next;
  FILE *file;
} page;

static void put_block(const page *at, uint32_t frame, const char *name, double parent) {
  uint32_t hue = 17;
  for (const char *letter = name; *letter; ++letter)
    hue = hue * 31 + (unsigned char)*letter;
  double share = parent > 0 ? 100 * at->totals[frame] / parent : 100;
  fprintf(
      at->file,
      "<div class=\"f\" data-w=\"%.4f\" style=\"width:%.4f%%;--h:%u\"><button class=\"b\" title=\"",
      share, share, (unsigned)(hue % 360));
  put_html(name, at->file);
  fputs(": ", at->file);
  put_time(at->totals[frame], at->file);
  fprintf(at->file, ", %.2f%% of all",
          at->totals[0] > 0 ? 100 * at->totals[frame] / at->totals[0] : 0);
  if (at->sums->frames[frame].count)
    fprintf(at->file, ", count %zu", at->sums->frames[frame].count);
  fputs("\">", at->file);
  put_html(name, at->file);
  fputs("</button>", at->file);
}

/* As deep as the reader nests, which is limited. NOLINTNEXTLINE(misc-no-recursion) */
static void put_stacks(const page *at, uint32_t frame, double parent) {
  const cli_trace_text name = frame ? at->sums->frames[frame].name : at->trace->process_name;
  put_block(at, frame, cli_trace_string(at->trace, name), parent);
  fputs("<div class=\"n\">", at->file);
  for (uint32_t child = at->first[frame]; child; child = at->next[child]) {
    if (at->totals[child] > 0)
      put_stacks(at, child, at->totals[frame]);
  }
  fputs("</div></div>\n", at->file);
}

/* Children come behind their parents, so from the last to the first each total is complete. */
static void add_up(page *at) {
  size_t count = at->sums->frame_count;
  for (size_t i = count; i-- > 0;) {
    const cli_trace_frame *frame = &at->sums->frames[i];
    at->totals[i] += frame->self > 0 ? frame->self : 0;
    if (i == 0)
      continue;
    at->totals[frame->parent] += at->totals[i];
    at->next[i] = at->first[frame->parent];
    at->first[frame->parent] = (uint32_t)i;
  }
}

/* ------------------------------------------------------------------------------------------ */

static void put_phases(const page *at) {
  fputs("<div class=\"scroll\"><table><thead><tr><th>layer</th><th>count</th><th>total</th>"
        "<th>median</th><th>95%</th><th>share</th></tr></thead><tbody>\n",
        at->file);
  for (size_t i = 0; i < at->sums->phase_count; ++i) {
    const cli_trace_phase *phase = &at->sums->phases[i];
    const double times[] = {phase->sum.total, phase->sum.median, phase->sum.p95};
    fputs("<tr><td>", at->file);
    put_html(cli_trace_string(at->trace, phase->name), at->file);
    fprintf(at->file, "</td><td>%zu</td>", phase->sum.count);
    for (size_t k = 0; k < 3; ++k) {
      fputs("<td>", at->file);
      put_time(times[k], at->file);
      fputs("</td>", at->file);
    }
    fprintf(at->file, "<td>%.1f%%</td></tr>\n",
            at->sums->self_total > 0 ? 100 * phase->self / at->sums->self_total : 0);
  }
  fputs("</tbody></table></div>\n", at->file);
}

void cli_trace_write_html(const cli_trace *trace, const cli_trace_sums *sums, FILE *file) {
  page at = {.trace = trace,
             .sums = sums,
             .totals = xcalloc(sums->frame_count, sizeof *at.totals),
             .first = xcalloc(sums->frame_count, sizeof *at.first),
             .next = xcalloc(sums->frame_count, sizeof *at.next),
             .file = file};
  fputs(page_head, file);
  fputs("<p>", file);
  put_html(cli_trace_string(trace, trace->command), file);
  fputs("</p>\n<p>", file);
  put_html(cli_trace_string(trace, trace->started), file);
  fprintf(file, ", libkdl ");
  put_html(cli_trace_string(trace, trace->libkdl), file);
  fprintf(file, ", %zu events in ", trace->event_count);
  put_time(sums->span, file);
  fputs(". Callers lie above what they call; time between events is not drawn. Click a block to "
        "widen it, the first for all.</p>\n<div class=\"stacks\">\n",
        file);
  add_up(&at);
  put_stacks(&at, 0, 0);
  fputs("</div>\n", file);
  put_phases(&at);
  fputs(page_end, file);
  free(at.totals);
  free(at.first);
  free(at.next);
}
