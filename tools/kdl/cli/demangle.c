/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cli/demangle.h"

#include "base/error.h"
#include "base/text.h"
#include "system/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  longest_name = 32 * 1024,
  longest_text = 64 * 1024,
  milliseconds = 1000, /* for one name */
  most_starts = 8,     /* of the process, which hard names end */
};
#define MEMORY ((rlim_t)256 << 20)

typedef char *demangle_function(const char *name, char *room, size_t *size, int *status);

struct cli_demangler {
  demangle_function *demangle;
  pid_t process; /* 0 where there is none */
  int socket;
  int starts;
  char text[longest_text + 1];
};

/* ------------------------------------------------------------------------------------------ */
/* Messages: a length, and so many bytes                                                        */

static bool send_all(int to, const void *data, size_t size) {
  const char *from = data;
  while (size) {
    ssize_t sent = send(to, from, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    from += sent;
    size -= (size_t)sent;
  }
  return true;
}

static bool receive_all(int from, void *out, size_t size, int timeout) {
  char *to = out;
  while (size) {
    struct pollfd ready = {.fd = from, .events = POLLIN};
    int count = poll(&ready, 1, timeout);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    ssize_t got = recv(from, to, size, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    to += got;
    size -= (size_t)got;
  }
  return true;
}

static bool send_message(int to, const char *data, uint32_t size) {
  return send_all(to, &size, sizeof size) && send_all(to, data, size);
}

static bool receive_message(int from, char *out, uint32_t most, uint32_t *out_size, int timeout) {
  return receive_all(from, out_size, sizeof *out_size, timeout) && *out_size <= most &&
         receive_all(from, out, *out_size, timeout);
}

/* ------------------------------------------------------------------------------------------ */
/* The process                                                                                  */

/* An empty answer: it has no other name. */
static void serve(const cli_demangler *demangler, int socket) {
  static char name[longest_name + 1];
  const struct rlimit memory = {MEMORY, MEMORY}, none = {0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &none);
  uint32_t size;
  while (receive_message(socket, name, longest_name, &size, -1)) {
    int status;
    name[size] = '\0';
    char *text = demangler->demangle(name, NULL, NULL, &status);
    size_t length = text ? strlen(text) : 0;
    if (!send_message(socket, text, length <= longest_text ? (uint32_t)length : 0))
      break;
    free(text);
  }
  _exit(0);
}

static bool start(cli_demangler *demangler) {
  int ends[2];
  if (demangler->starts == most_starts ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return false;
  ++demangler->starts;
  pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    serve(demangler, ends[1]);
  }
  close(ends[1]);
  if (process < 0) {
    close(ends[0]);
    return false;
  }
  demangler->process = process;
  demangler->socket = ends[0];
  return true;
}

static void end(cli_demangler *demangler) {
  if (!demangler->process)
    return;
  close(demangler->socket);
  kill(demangler->process, SIGKILL);
  while (waitpid(demangler->process, NULL, 0) < 0 && errno == EINTR) {
  }
  demangler->process = 0;
}

kdl_status cli_demangler_start(cli_demangler **out_demangler) {
  static const char library[] = "libstdc++.so.6";
  void *handle = kdl_dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void *symbol = handle ? dlsym(handle, "__cxa_demangle") : NULL;
  if (!symbol) {
    const char *reason = dlerror();
    return kdl_fail(KDL_UNSUPPORTED, "--demangle: needs %s, which is not installed (dlopen: %s)",
                    library, reason ? reason : "no reason given");
  }
  cli_demangler *demangler = calloc(1, sizeof *demangler);
  if (!demangler)
    return kdl_fail(KDL_NO_MEMORY, "--demangle: out of memory");
  memcpy(&demangler->demangle, &symbol, sizeof symbol);
  *out_demangler = demangler;
  return KDL_OK;
}

void cli_demangler_stop(cli_demangler *demangler) {
  if (demangler)
    end(demangler);
  free(demangler);
}

kdl_string cli_demangle(cli_demangler *demangler, kdl_string name) {
  uint32_t size;
  if (!demangler || !kdl_text_starts(name, "_Z") || name.length > longest_name ||
      memchr(name.data, '\0', name.length) || (!demangler->process && !start(demangler)))
    return name;
  if (!send_message(demangler->socket, name.data, (uint32_t)name.length) ||
      !receive_message(demangler->socket, demangler->text, longest_text, &size, milliseconds)) {
    end(demangler);
    return name;
  }
  demangler->text[size] = '\0';
  return size ? (kdl_string){demangler->text, size} : name;
}
