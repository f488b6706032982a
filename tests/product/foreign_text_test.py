# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/foreign_text.py finds who prints text from files on the terminal, however the stream is named: foreign_text_test.py SCRIPT."""
import pathlib
import subprocess
import sys
import tempfile

PLANTED = {
    "tools/a.c": r'''
typedef struct sink {
  FILE *sink_file;
} sink;
static FILE *log_file;
static void put(FILE *out, const char *name) {
  fprintf(out, "%s\n", name);
  fputs("words", out);
}
static void put_more(int n, FILE *to) {
  put(to, "x");
  FILE *other = n ? to : NULL;
  fputs(in_branch ? "none" : text, other);
}
static void save(FILE *file, const char *name) {
  fprintf(file, "%s\n", name);
}
int main(void) {
  sink s = {.sink_file = stderr};
  put_more(1, stdout);
  save(fopen("x", "w"), "y");
  printf("%*d %.*s %" PRIu64 "\n", 3, 4, 5, of_a_file, 6);
  putchar(letter);
  fputc('x', stdout); /* printf("%s", in_a_comment) */
  log_file = stderr;
  fwrite(bytes, 1, 2, log_file);
}
''',
    "tools/b.c": r'''
static void member(const sink *s) {
  fprintf(s->sink_file, "%c", one);
}
static FILE *hidden(void) {
  return stdout;
}
''',
    "mlir/tool/c.cpp": r'''
int main(int argc, char **argv) {
  llvm::errs() << "found; " << argv[1] << "\n";
  llvm::errs().write_escaped(argv[1]) << "\n";
}
''',
}
FOUND = """tools/a.c:7: prints name
tools/a.c:13: prints text
tools/a.c:22: prints of_a_file
tools/a.c:23: prints letter
tools/a.c:26: prints bytes
tools/b.c:3: prints one
tools/b.c:6: who prints to stdout is not seen
mlir/tool/c.cpp:3: prints argv[1]
"""
with tempfile.TemporaryDirectory() as root:
    for name, text in PLANTED.items():
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    ran = subprocess.run([sys.executable, sys.argv[1], root], stdout=subprocess.PIPE, text=True, check=False)
    found = "".join(line for line in ran.stdout.splitlines(True) if line.split(":")[0] in PLANTED)
    if ran.returncode != 1 or found != FOUND:
        sys.exit(f"exit code {ran.returncode}, found:\n{found}expected:\n{FOUND}")
