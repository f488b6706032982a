/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "process.h"

#include "peers/peer.h"
#include "support/base/error.h"
#include "support/system/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { most_words = 12 };

static char **saved_environment; /* NULL: the environment as it is */

void process_save_environment(void) {
  size_t count = 0;
  while (environ[count])
    ++count;
  saved_environment =
      saved_environment ? saved_environment : calloc(count + 1, sizeof *saved_environment);
  for (size_t i = 0; saved_environment && i < count && !saved_environment[i]; ++i)
    saved_environment[i] = strdup(environ[i]);
}

static bool spawn_child(const char *const words[], const char *const *environment, int input,
                        process *out_process) {
  const char *all[most_words + 4] = {"kdl-bench", "--", "child"}; /* a word may begin with a dash */
  for (size_t i = 0; i < most_words && words[i]; ++i)
    all[i + 3] = words[i];
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return peer_fail("pipe: %s", strerror(errno));
  kdl_process started = {.path = "/proc/self/exe",
                         .arguments = all,
                         .environment = environment,
                         .standard = {input, ends[1], STDERR_FILENO}};
  int error = kdl_process_start(&started, &out_process->id);
  close(ends[1]);
  out_process->from = ends[0];
  out_process->to = -1;
  if (error) {
    close(ends[0]);
    return peer_fail("its process cannot be started: %s", strerror(error));
  }
  return true;
}

bool process_start(const char *const words[], process *out_process) {
  return spawn_child(words, (const char *const *)saved_environment, -1, out_process);
}

static bool is_overridden(const char *const settings[], const char *variable) {
  size_t length = strcspn(variable, "=");
  for (; *settings; ++settings) {
    if (strncmp(*settings, variable, length) == 0 && (*settings)[length] == '=')
      return true;
  }
  return false;
}

bool process_start_interactive(const char *const words[], const char *const settings[],
                               process *out_process) {
  char **old = saved_environment ? saved_environment : environ;
  size_t count = 0, old_count = 0;
  while (old[old_count])
    ++old_count;
  while (settings[count])
    ++count;
  const char **environment = calloc(count + old_count + 1, sizeof *environment);
  int ends[2];
  if (!environment || pipe2(ends, O_CLOEXEC) != 0) {
    free(environment);
    return peer_fail("pipe: %s", strerror(errno));
  }
  memcpy(environment, settings, count * sizeof *environment);
  for (size_t i = 0; i < old_count; ++i) {
    if (!is_overridden(settings, old[i]))
      environment[count++] = old[i];
  }
  bool started = spawn_child(words, environment, ends[0], out_process);
  free(environment);
  close(ends[0]);
  if (started)
    out_process->to = ends[1];
  else
    close(ends[1]);
  return started;
}

bool process_finish(process *what) {
  int status;
  close(what->from);
  if (what->to >= 0)
    close(what->to);
  kdl_process_wait(what->id, &status);
  if (WIFSIGNALED(status))
    return peer_fail("its process died of signal %d (%s)", WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
  return WEXITSTATUS(status) == 0 || peer_fail("its process ended with %d", WEXITSTATUS(status));
}

kdl_status process_collect_results(const char *const words[], bench_results *results) {
  process child = {.from = -1, .to = -1};
  char error[BENCH_ERROR_SIZE] = "";
  if (!process_start(words, &child))
    return kdl_fail(KDL_IO, "%s", peer_error());
  bench_received received = bench_results_receive(results, child.from, error);
  bool ok = process_finish(&child);
  if (received == BENCH_RECEIVED_ERROR)
    return kdl_fail(KDL_DEVICE, "%s", error);
  return received == BENCH_RECEIVED && ok ? KDL_OK : kdl_fail(KDL_DEVICE, "%s", peer_error());
}

int process_result_fd(void) {
  int channel = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (channel >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    close(channel);
    channel = -1;
  }
  return channel;
}
