/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Preloaded into a program, records when calls of libcuda, liboffload, the CUDA runtime, MLIR's
 * CUDA wrapper and OpenCL begin and end, and the system calls below them:
 * LD_PRELOAD=libkdl_flame.so KDL_FLAME=FILE PROGRAM.
 *
 * The libraries are found by dlsym and cuGetProcAddress, so both hand out stubs in place of the
 * functions; MLIR's wrapper is linked with libcuda, so its table of imported functions gets them.
 * A stub keeps the return address and puts its own there: it knows no signature.
 * System calls are those that libraries make through libc's functions; those that libc makes for
 * itself (the loader's mappings, fopen) are not seen. x86-64 alone.
 */
#include "flame/marks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SHIM_EXPORT __attribute__((visibility("default")))

/* ------------------------------------------------------------------------------------------ */
/* Records                                                                                      */

enum { most_records = 1 << 20, most_files = 1024 };

typedef struct {
  int64_t ns;
  const char *name; /* NULL: the end of the thread's innermost call */
  uint32_t thread;
  int32_t file; /* of an ioctl: its descriptor's path; else -1 */
  uint64_t request;
} shim_record;

static shim_record records[most_records];
static atomic_uint record_count;
static char *_Atomic file_names[most_files];
static _Thread_local uint32_t own_thread __attribute__((tls_model("initial-exec")));

static int64_t now_ns(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static void record(const char *name, int32_t file, uint64_t request) {
  unsigned index = atomic_fetch_add_explicit(&record_count, 1, memory_order_relaxed);
  if (index >= most_records)
    return;
  if (!own_thread)
    own_thread = (uint32_t)syscall(SYS_gettid);
  records[index] = (shim_record){0, name, own_thread, file, request};
  records[index].ns = now_ns();
}

void kdl_flame_begin(const char *name) {
  record(name, -1, 0);
}

void kdl_flame_end(void) {
  record(NULL, -1, 0);
}

/* Lines of "THREAD NS NAME", or "THREAD NS" where the innermost call ends. Last of all: drivers
 * take their time when a process ends. */
__attribute__((destructor)) static void write_records(void) {
  const char *path = getenv("KDL_FLAME");
  unsigned count = atomic_exchange(&record_count, most_records);
  FILE *file = path ? fopen(path, "we") : NULL;
  if (!file)
    return;
  for (unsigned i = 0; i < count && i < most_records; ++i) {
    const shim_record *at = &records[i];
    fprintf(file, "%u %lld", at->thread, (long long)at->ns);
    if (at->name)
      fprintf(file, " %s", at->name);
    if (at->name && at->request)
      fprintf(file, " %s 0x%llx",
              at->file >= 0 && file_names[at->file] ? file_names[at->file] : "?",
              (unsigned long long)at->request);
    putc('\n', file);
  }
  fclose(file);
}

/* ------------------------------------------------------------------------------------------ */
/* System calls                                                                                 */

static void name_file(long descriptor, const char *path) {
  if (descriptor < 0 || descriptor >= most_files)
    return;
  char *old = atomic_exchange(&file_names[descriptor], strdup(path));
  (void)old; /* another thread may be reading it */
}

static long finish(long result) {
  record(NULL, -1, 0);
  return result;
}

static int open_recorded(int folder, const char *path, int flags, mode_t mode) {
  record("open()", -1, 0);
  long result = finish(syscall(SYS_openat, folder, path, flags, mode));
  name_file(result, path);
  return (int)result;
}

#define SHIM_MODE(flags, mode)                                                                     \
  mode_t mode = 0;                                                                                 \
  if ((flags) & (O_CREAT | O_TMPFILE)) {                                                           \
    va_list rest;                                                                                  \
    va_start(rest, flags);                                                                         \
    mode = va_arg(rest, mode_t);                                                                   \
    va_end(rest);                                                                                  \
  }

SHIM_EXPORT int open(const char *path, int flags, ...) {
  SHIM_MODE(flags, mode)
  return open_recorded(AT_FDCWD, path, flags, mode);
}

SHIM_EXPORT int open64(const char *path, int flags, ...) {
  SHIM_MODE(flags, mode)
  return open_recorded(AT_FDCWD, path, flags, mode);
}

SHIM_EXPORT int openat(int folder, const char *path, int flags, ...) {
  SHIM_MODE(flags, mode)
  return open_recorded(folder, path, flags, mode);
}

SHIM_EXPORT int close(int descriptor) {
  record("close()", -1, 0);
  return (int)finish(syscall(SYS_close, descriptor));
}

SHIM_EXPORT int ioctl(int descriptor, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  record("ioctl()", descriptor >= 0 && descriptor < most_files ? descriptor : -1, request);
  return (int)finish(syscall(SYS_ioctl, descriptor, request, argument));
}

static void *map_recorded(void *at, size_t size, int protection, int flags, int file,
                          off_t offset) {
  record("mmap()", -1, 0);
  return (void *)finish(syscall(SYS_mmap, at, size, protection, flags, file, offset));
}

SHIM_EXPORT void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
  return map_recorded(at, size, protection, flags, file, offset);
}

SHIM_EXPORT void *mmap64(void *at, size_t size, int protection, int flags, int file, off_t offset) {
  return map_recorded(at, size, protection, flags, file, offset);
}

SHIM_EXPORT int munmap(void *at, size_t size) {
  record("munmap()", -1, 0);
  return (int)finish(syscall(SYS_munmap, at, size));
}

SHIM_EXPORT ssize_t read(int descriptor, void *to, size_t size) {
  record("read()", -1, 0);
  return finish(syscall(SYS_read, descriptor, to, size));
}

SHIM_EXPORT int poll(struct pollfd *files, nfds_t count, int milliseconds) {
  record("poll()", -1, 0);
  return (int)finish(syscall(SYS_poll, files, count, milliseconds));
}

/* ------------------------------------------------------------------------------------------ */
/* Stubs                                                                                        */

enum { most_stubs = 2048, stub_size = 16, most_nested = 64 };

static struct {
  const char *name;
  void *function;
} stubs[most_stubs];
static size_t stub_count;
static pthread_mutex_t stub_lock = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local void *returns[most_nested] __attribute__((tls_model("initial-exec")));
static _Thread_local unsigned nested __attribute__((tls_model("initial-exec")));

extern char kdl_flame_stubs[];
extern char kdl_flame_return[];

/* Called by a stub: keeps where the call returns to, and returns the function to jump to. */
__attribute__((used, noinline)) static void *kdl_flame_enter(size_t index, void **return_address) {
  if (nested < most_nested) {
    returns[nested++] = *return_address;
    *return_address = kdl_flame_return;
    record(stubs[index].name, -1, 0);
  }
  return stubs[index].function;
}

__attribute__((used, noinline)) static void *kdl_flame_leave(void) {
  record(NULL, -1, 0);
  return returns[--nested];
}

/* A stub is `push index; jmp enter`. Registers that hold arguments survive, and those of results.
 */
__asm__(".text\n"
        ".balign 16\n"
        "kdl_flame_stubs:\n"
        ".set index, 0\n"
        ".rept 2048\n"
        ".balign 16\n"
        "  pushq $index\n"
        "  jmp kdl_flame_jump\n"
        ".set index, index + 1\n"
        ".endr\n"
        ".balign 16\n"
        "kdl_flame_jump:\n"
        "  push %rax\n  push %rdi\n  push %rsi\n  push %rdx\n"
        "  push %rcx\n  push %r8\n  push %r9\n  push %r10\n"
        "  sub $128, %rsp\n"
        "  movups %xmm0, (%rsp)\n  movups %xmm1, 16(%rsp)\n"
        "  movups %xmm2, 32(%rsp)\n  movups %xmm3, 48(%rsp)\n"
        "  movups %xmm4, 64(%rsp)\n  movups %xmm5, 80(%rsp)\n"
        "  movups %xmm6, 96(%rsp)\n  movups %xmm7, 112(%rsp)\n"
        "  mov 192(%rsp), %rdi\n"
        "  lea 200(%rsp), %rsi\n"
        "  call kdl_flame_enter\n"
        "  mov %rax, %r11\n"
        "  movups (%rsp), %xmm0\n  movups 16(%rsp), %xmm1\n"
        "  movups 32(%rsp), %xmm2\n  movups 48(%rsp), %xmm3\n"
        "  movups 64(%rsp), %xmm4\n  movups 80(%rsp), %xmm5\n"
        "  movups 96(%rsp), %xmm6\n  movups 112(%rsp), %xmm7\n"
        "  add $128, %rsp\n"
        "  pop %r10\n  pop %r9\n  pop %r8\n  pop %rcx\n"
        "  pop %rdx\n  pop %rsi\n  pop %rdi\n  pop %rax\n"
        "  add $8, %rsp\n"
        "  jmp *%r11\n"
        "kdl_flame_return:\n"
        "  sub $8, %rsp\n"
        "  push %rax\n  push %rdx\n"
        "  sub $24, %rsp\n"
        "  movups %xmm0, (%rsp)\n"
        "  call kdl_flame_leave\n"
        "  mov %rax, 40(%rsp)\n"
        "  movups (%rsp), %xmm0\n"
        "  add $24, %rsp\n"
        "  pop %rdx\n  pop %rax\n"
        "  ret\n");

static void *stub_of(const char *name, void *function) {
  void *stub = function;
  pthread_mutex_lock(&stub_lock);
  size_t i = 0;
  while (i < stub_count && stubs[i].function != function)
    ++i;
  if (i == stub_count && i < most_stubs) {
    stubs[i].name = strdup(name);
    stubs[i].function = function;
    ++stub_count;
  }
  if (i < stub_count)
    stub = kdl_flame_stubs + i * stub_size;
  pthread_mutex_unlock(&stub_lock);
  return stub;
}

static bool begins_call(const char *name, const char *prefix) {
  size_t length = strlen(prefix);
  return strncmp(name, prefix, length) == 0 && name[length] >= 'A' && name[length] <= 'Z';
}

static bool is_recorded(const char *name) {
  return begins_call(name, "cu") || begins_call(name, "cuda") || begins_call(name, "__cuda") ||
         begins_call(name, "ol") || begins_call(name, "cl") || begins_call(name, "mgpu");
}

typedef int get_address(const char *name, void **function, int version, uint64_t flags,
                        void *status);
static get_address *real_get_address;

/* cuGetProcAddress has one parameter fewer than its second version, which does no harm. */
static int get_stub(const char *name, void **function, int version, uint64_t flags, void *status) {
  int result = real_get_address(name, function, version, flags, status);
  if (result == 0 && function && *function) {
    if (strcmp(name, "cuGetProcAddress") == 0)
      *function = (void *)(uintptr_t)get_stub;
    else if (is_recorded(name))
      *function = stub_of(name, *function);
  }
  return result;
}

typedef void *look_up(void *, const char *);

/* Puts stubs into the slots of the functions of libcuda that an object is linked with. */
static void record_imports(void *object, look_up *real) {
  struct link_map *map;
  if (dlinfo(object, RTLD_DI_LINKMAP, &map) != 0)
    return;
  const ElfW(Sym) *symbols = NULL;
  const ElfW(Rela) *slots = NULL;
  const char *names = NULL;
  size_t size = 0;
  for (const ElfW(Dyn) *at = map->l_ld; at->d_tag != DT_NULL; ++at) {
    const void *address = (const void *)at->d_un.d_ptr;
    symbols = at->d_tag == DT_SYMTAB ? address : symbols;
    names = at->d_tag == DT_STRTAB ? address : names;
    slots = at->d_tag == DT_JMPREL ? address : slots;
    size = at->d_tag == DT_PLTRELSZ ? at->d_un.d_val : size;
  }
  for (size_t i = 0; symbols && names && slots && i < size / sizeof *slots; ++i) {
    const char *name = names + symbols[ELF64_R_SYM(slots[i].r_info)].st_name;
    void *function = begins_call(name, "cu") ? real(object, name) : NULL;
    if (function)
      *(void **)(map->l_addr + slots[i].r_offset) = stub_of(name, function);
  }
}

SHIM_EXPORT void *dlsym(void *restrict object, const char *restrict name) {
  static look_up *_Atomic real_dlsym;
  if (!real_dlsym) {
    void *found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    found = found ? found : dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    real_dlsym = (look_up *)(uintptr_t)found;
  }
  look_up *real = real_dlsym;
  if (!is_recorded(name))
    return real(object, name); /* a jump, as it is optimised: RTLD_NEXT depends on the caller */
  void *function = real(object, name);
  if (!function)
    return NULL;
  if (begins_call(name, "mgpu"))
    record_imports(object, real);
  if (strncmp(name, "cuGetProcAddress", strlen("cuGetProcAddress")) == 0) {
    real_get_address = (get_address *)(uintptr_t)stub_of(name, function);
    return (void *)(uintptr_t)get_stub;
  }
  return stub_of(name, function);
}
