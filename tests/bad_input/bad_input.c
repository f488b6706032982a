/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * bad_input SOURCES EXAMPLES WORK: the program that this file is linked into, by each of its ways
 * to take a file, on each kind of bad input, by path and by pipe. One process forks for each case.
 * A case fails where the program ends by a signal, with a sanitizer's report, with an exit code
 * that is not documented, not at all, without a message where the exit code is not 0, with an exit
 * code of 0 where the input can be nothing, or leaves an output where it fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names, and the sanitizers' */
int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);
const char *__asan_default_options(void);
const char *__lsan_default_options(void);
const char *__ubsan_default_options(void);

/* What a sanitizer ends a process with, and limits. Looking for leaks takes longer than all else in
 * a case: it is done in one of so many. */
enum {
  reported = 86,
  highest_code = 4,
  longest_run_s = 60,
  most_words = 16,
  most_problems = 20,
  leaks_each = 5
};

const char *__asan_default_options(void) {
  return "exitcode=86";
}
const char *__lsan_default_options(void) {
  return "exitcode=86";
}
const char *__ubsan_default_options(void) {
  return "exitcode=86:halt_on_error=1";
}

/* ------------------------------------------------------------------------------------------ */
/* Calls                                                                                        */

enum {
  takes_any = 1,  /* any bytes are an input */
  prints = 2,     /* findings go to standard output */
  containers = 4, /* what is read is a container or an image: those cut short are tried, too */
};

/* Words with blanks between them. '%' stands for the input, SRC for the sources, EX for the built
 * examples. A word in capitals before the program's name is set in the environment. */
typedef struct {
  const char *words;
  unsigned flags;
} call;

static const call calls[] = {
    {"kdl ls --kernels --long --demangle %", containers},
    {"kdl ls --json %", containers},
    {"kdl ls --archs %", 0},
    {"kdl verify --verbose %", containers | prints},
    {"kdl verify --json --key=% EX/saxpy.offload", prints},
    {"kdl verify --key=pub --signature=% EX/saxpy.offload", prints},
    {"kdl extract % -o out", containers},
    {"kdl extract % --for=h200 -o out", 0},
    {"kdl annotate % --image=0 a=b -o out", 0},
    {"kdl sign % --key=secret -o out", 0},
    {"kdl sign EX/saxpy.offload --key=% -o out", 0},
    {"kdl sign EX/saxpy.offload --attach=% --image=0 -o out", 0},
    {"kdl push % oci:out", 0},
    {"kdl pull oci:% -o out", 0},
    {"kdl merge -o out EX/saxpy.offload %", containers},
    {"kdl thin % --for=h200,mi300x -o out", containers},
    {"kdl thin % --for=h200 --dry-run --json", 0},
    {"kdl split % --dry-run", containers},
    {"kdl link % --for=h200 -o out", 0},
    {"kdl link EX/saxpy.offload --ukernels=% --for=h200 -o out", takes_any},
    {"kdl pack --index --digest --image=file=% -o out", takes_any | containers},
    {"kdl embed % -o out", containers},
    {"kdl devices --runs --device=@%", 0},
    {"kdl explain % --device=h200", containers | prints},
    {"kdl explain % k --device=host --json", prints},
    {"kdl which % k --device=h200", containers},
    {"kdl which EX/saxpy.offload saxpy --device=@%", 0},
    {"kdl check % --device=h200", containers | takes_any | prints},
    {"kdl run % k --device=host --grid=1", containers},
    {"kdl run --sequence=%", 0},
    {"kdl run --sequence=SRC/tests/golden/sequence/steps.offload --library=%", 0},
    {"kdl run EX/saxpy.offload saxpy --device=host --items=1 --arg=f32:1 --arg=buf:f32[1]=@% "
     "--arg=buf:f32[1] --arg=u32:1",
     0},
    {"kdl run EX/saxpy.offload saxpy --device=host --items=1 --arg=f32:1 --arg=buf:f32[1] "
     "--arg=buf:f32[1] --arg=u32:1 --check=arg2:@%",
     0},
    {"kdl cc % -x c --targets=x86-64-v3 --clang=/nonexistent -o out", 0},
    {"kdl cc @%", 0},
    {"kdl cache warm % --for=h200", 0},
    {"kdl cache import %", 0},
    {"KDL_CACHE_DIR=% kdl cache verify", takes_any},
    {"kdl trace report %", 0},
    {"kdl trace fold % -o out", 0},
    {"KDL_DEVICE=@% kdl which EX/saxpy.offload saxpy", 0},
    {"KDL_PRELOAD=% kdl run EX/saxpy.offload saxpy --device=host --items=1", 0},
    {"llvm-offload-binary %", containers | takes_any}, /* as LLVM's */
    {"llvm-offload-binary -o out --image=file=%,triple=t,arch=a", takes_any},
    {"llvm-offload-binary @%", takes_any},
    {"kdl-bench compare % %", 0},
    {"kdl-bench page % --html=out", 0},
    {"kdl-bench launch % k --device=host", 0},
    {"kdl-ld --protocol=1 --no-builtin --caller=% --for=haswell --output=out", 0},
    {"kdl-ld --protocol=1 --no-builtin --caller=SRC/tests/golden/images/host.bc --ukernels=% "
     "--for=haswell --output=out",
     0},
    {"kdl-ld --portable --caller=%", 0},
    {"kdl-ld --portable --caller=% --output=out --kernel=k=64,1,1,64,1,1,-1", 0},
    {"kdl-ld --protocol=1 --caller=% --for=h200 --emit=asm --output=out", 0},
    {"kdl-ld --groups --caller=% --output=out --kernel=k=64,1,1", 0},
    {"kdl-registry --protocol=1 --work=fetch --scheme=http --host=127.0.0.1:1 --name=n --list=% "
     "--folder=.",
     takes_any}, /* an empty list asks for nothing */
};
enum { call_count = sizeof calls / sizeof *calls };

/* ------------------------------------------------------------------------------------------ */
/* Inputs                                                                                       */

/* Good files, one of each format; of those of a fuzzer the first `skip` bytes are its own. */
static const struct {
  const char *path;
  size_t skip;
} good[] = {
    {"tests/golden/offload/v1_three.offload", 0},
    {"tests/golden/offload/v2_three.offload", 0},
    {"tests/golden/offload/v3_zstd.offload", 0},
    {"tests/golden/offload/v3_zlib.offload", 0},
    {"tests/golden/sequence/steps.offload", 0},
    {"tests/golden/bundle/plain.hipfb", 0},
    {"tests/golden/bundle/v3.ccob", 0},
    {"tests/golden/fatbin/archs.fatbin", 0},
    {"tests/golden/fatbin/zstd.fatbin", 0},
    {"tests/golden/fatbin/lz4.fatbin", 0},
    {"tests/golden/kpack/zstd.kpack", 0},
    {"tests/golden/images/sm_90a.cubin", 0},
    {"tests/golden/images/gfx90a.hsaco", 0},
    {"tests/golden/images/params.zebin", 0},
    {"tests/golden/images/params.spv", 0},
    {"tests/golden/images/nvcc.ptx", 0},
    {"tests/golden/images/host.bc", 0},
    {"tests/golden/images/portable.bc", 0},
    {"tests/golden/images/x86_64_v3.so", 0},
    {"tests/golden/devices/h200.json", 0},
    {"tests/fuzz/corpus/fuzz_archive/gnu.a", 0},
    {"tests/fuzz/corpus/fuzz_coff/object", 0},
    {"tests/fuzz/corpus/fuzz_elf/clang_embedded.o", 0},
    {"tests/fuzz/corpus/fuzz_thin/lib3-0a", 1},
    {"tests/fuzz/corpus/fuzz_thin/sycl", 1},
    {"tests/fuzz/corpus/fuzz_thin_zip/w.whl", 0},
    {"tests/fuzz/corpus/fuzz_split/manifest", 0},
    {"tests/fuzz/corpus/fuzz_trace_reader/whole.json", 0},
};
enum { good_count = sizeof good / sizeof *good };

/* Where an input is, and whether it goes through a pipe. */
typedef struct {
  const char *path;
  bool is_pipe, is_cut, is_refused; /* refused: not even the owner may read it */
} input;

static const input plain_inputs[] = {
    {.path = "empty"},
    {.path = "garbage"},
    {.path = "text"},
    {.path = "zeros"},
    {.path = "folder"},
    {.path = "missing"},
    {.path = "refused", .is_refused = true},
    {.path = "/dev/null"},
    {.path = "empty", .is_pipe = true},
    {.path = "garbage", .is_pipe = true},
    {.path = "text", .is_pipe = true},
};
enum { plain_count = sizeof plain_inputs / sizeof *plain_inputs };

static const char *sources, *examples, *work, *program;

static _Noreturn void stop(const char *what) {
  perror(what);
  exit(2);
}

static void write_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wbe");
  if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
    stop(path);
}

static char *read_file(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rbe");
  size_t size = 0, room = 1 << 20;
  char *data = malloc(room);
  if (!file || !data)
    stop(path);
  size = fread(data, 1, room, file);
  if (size == room)
    stop("a file of more than 1 MiB");
  fclose(file);
  *out_size = size;
  return data;
}

static void make_inputs(void) {
  static const char text[] = "This is no kernel.\n\n# [1] {\"a\": 2}\n";
  unsigned char bytes[4096] = {0};
  write_file("empty", "", 0);
  write_file("zeros", bytes, sizeof bytes);
  uint64_t state = 1;
  for (size_t i = 0; i < sizeof bytes; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    bytes[i] = (unsigned char)(state >> 56);
  }
  write_file("garbage", bytes, sizeof bytes);
  write_file("text", text, sizeof text - 1);
  write_file("refused", text, sizeof text - 1);
  if (chmod("refused", 0) != 0 || mkdir("folder", 0700) != 0)
    stop("refused, folder");
#define ZEROS_21 "AAAAAAAAAAAAAAAAAAAAA"
#define ZEROS_43 ZEROS_21 "A" ZEROS_21
  static const char secret[] = "untrusted comment: a test's\nRWQAAEIy" ZEROS_43 ZEROS_21
                               "MTIzNDU2NzidYbGd7/1aYLqESvSS7CzEREnFaXsyaRlwO6wDHK5/"
                               "YNdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea" ZEROS_43 "=\n";
  static const char public[] = "untrusted comment: a test's\n"
                               "RWQxMjM0NTY3ONdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea\n";
  write_file("secret", secret, sizeof secret - 1);
  write_file("pub", public, sizeof public - 1);
  for (size_t i = 0; i < good_count; ++i) {
    char path[4096], name[32];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", sources, good[i].path);
    char *data = read_file(path, &size);
    size -= good[i].skip;
    snprintf(name, sizeof name, "half%zu", i);
    write_file(name, data + good[i].skip, size / 2);
    snprintf(name, sizeof name, "last%zu", i);
    write_file(name, data + good[i].skip, size - 1);
    free(data);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Cases                                                                                        */

typedef struct {
  char *items[most_words];
  int count;
} words_list;

/* The word with what its placeholders stand for; the caller frees it. */
static char *expand(const char *word, size_t length, const char *path) {
  char *made = NULL;
  size_t size;
  FILE *out = open_memstream(&made, &size);
  if (!out)
    stop("out of memory");
  for (size_t i = 0; i < length; ++i) {
    if (word[i] == '%')
      fputs(path, out);
    else if (length - i >= 4 && memcmp(word + i, "SRC/", 4) == 0)
      i += 2, fputs(sources, out);
    else if (length - i >= 3 && memcmp(word + i, "EX/", 3) == 0)
      i += 1, fputs(examples, out);
    else
      fputc(word[i], out);
  }
  fclose(out);
  return made;
}

static words_list split(const char *text, const char *path) {
  words_list list = {.count = 0};
  while (*text) {
    size_t length = strcspn(text, " ");
    if (list.count == most_words - 1)
      abort();
    list.items[list.count++] = expand(text, length, path);
    text += length + (text[length] == ' ');
  }
  return list;
}

static void free_words(words_list *list) {
  for (int i = 0; i < list->count; ++i)
    free(list->items[i]);
}

static void give_up_rights(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {{0}, {0}};
  if (syscall(SYS_capset, &header, none) != 0)
    stop("capset");
}

static int open_output(const char *path) {
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0)
    stop(path);
  return fd;
}

/* A process that writes the file into a pipe; the end to read is standard input from then on. */
static void pipe_from(const char *path) {
  int ends[2];
  size_t size;
  char *data = read_file(path, &size);
  if (pipe2(ends, O_CLOEXEC) != 0)
    stop("pipe");
  pid_t writer = fork();
  if (writer < 0)
    stop("fork");
  if (writer == 0) {
    signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    for (size_t at = 0; at < size;) {
      ssize_t wrote = write(ends[1], data + at, size - at);
      if (wrote <= 0)
        break;
      at += (size_t)wrote;
    }
    _exit(0);
  }
  free(data);
  if (dup2(ends[0], STDIN_FILENO) < 0)
    stop("dup2");
  close(ends[0]);
  close(ends[1]);
}

static _Noreturn void run(const call *called, const input *in, bool looks_for_leaks) {
  words_list words = split(called->words, in->is_pipe ? "-" : in->path);
  int first = 0;
  for (char *equals; (equals = strchr(words.items[first], '=')); ++first) {
    *equals = '\0';
    setenv(words.items[first], equals + 1, 1);
  }
  if (in->is_pipe)
    pipe_from(in->path);
  if (in->is_refused)
    give_up_rights();
  alarm(longest_run_s);
  dup2(open_output("stdout"), STDOUT_FILENO);
  dup2(open_output("stderr"), STDERR_FILENO);
  int code = __real_main(words.count - first, words.items + first);
  free_words(&words);
  if (looks_for_leaks)
    exit(code);
  fflush(NULL);
  _exit(code);
}

/* What is wrong with how it ended, or NULL. */
static const char *problem(const call *called, const input *in, int status) {
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGALRM ? "no end" : strsignal(WTERMSIG(status));
  int code = WEXITSTATUS(status);
  struct stat out, err, left;
  if (code == reported)
    return "a sanitizer's report";
  if (code > highest_code)
    return "an exit code that is not documented";
  if (stat("stdout", &out) != 0 || stat("stderr", &err) != 0)
    stop("stdout, stderr");
  bool is_left = lstat("out", &left) == 0;
  if (code == 0)
    return in->is_cut || called->flags & takes_any ? NULL : "an exit code of 0";
  if (is_left)
    return "an error, and an output";
  return err.st_size || (called->flags & prints && out.st_size) ? NULL
                                                                : "an error without a message";
}

static void show(const char *name) {
  size_t size;
  char *text = read_file(name, &size);
  printf("%.*s", (int)size, text);
  free(text);
}

static unsigned problems, cases;

static void try_case(const call *called, const input *in) {
  fflush(NULL);
  pid_t child = fork();
  int status;
  if (child < 0)
    stop("fork");
  if (child == 0)
    run(called, in, cases % leaks_each == 0);
  if (waitpid(child, &status, 0) != child)
    stop("waitpid");
  ++cases;
  const char *found = problem(called, in, status);
  if (found) {
    ++problems;
    printf("%s\n  with %s%s: %s, status 0x%x\n", called->words, in->path,
           in->is_pipe ? " by a pipe" : "", found, (unsigned)status);
    show("stdout");
    show("stderr");
  }
  unlink("out");
}

/* Half of each format by path, or all but its last byte by pipe: the other way with the next call.
 */
static void try_cut(const call *called) {
  for (size_t i = 0; i < good_count; ++i) {
    char name[32];
    bool is_pipe = (i + (size_t)(called - calls)) % 2 == 0;
    snprintf(name, sizeof name, "%s%zu", is_pipe ? "last" : "half", i);
    try_case(called, &(input){.path = name, .is_cut = true, .is_pipe = is_pipe});
  }
}

static bool is_of_program(const call *called) {
  const char *at = called->words;
  while (strcspn(at, "=") < strcspn(at, " "))
    at += strcspn(at, " ") + 1;
  size_t length = strcspn(at, " ");
  bool is_kdl = strcmp(program, "kdl") == 0;
  return (strlen(program) == length && memcmp(at, program, length) == 0) ||
         (is_kdl && length == strlen("llvm-offload-binary") && at[0] == 'l');
}

int __wrap_main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
  sources = argv[1], examples = argv[2], work = argv[3];
  if (chdir(work) != 0)
    stop(work);
  setenv("KDL_LD", "/nonexistent", 1);
  setenv("KDL_CACHE_DIR", "cache", 1);
  signal(SIGPIPE, SIG_IGN);
  make_inputs();
  for (size_t i = 0; i < call_count && problems < most_problems; ++i) {
    if (!is_of_program(&calls[i]))
      continue;
    for (size_t k = 0; k < plain_count; ++k)
      try_case(&calls[i], &plain_inputs[k]);
    if (calls[i].flags & containers)
      try_cut(&calls[i]);
  }
  printf("%u cases, %u problems\n", cases, problems);
  return problems != 0 || cases == 0;
}
/* NOLINTEND(bugprone-reserved-identifier) */
