/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl-registry: the registry access of `kdl push` and `kdl pull`. Users do not call it;
 * docs/registries.md describes the commands. */
#include "pack/oci/digest.h"
#include "pack/registry/transfer.h"
#include "support/base/error.h"
#include "tools/common/progress.h"
#include "tools/common/report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Ends when the parent process ends. */
static kdl_status exit_with_parent(const char *text) {
  long parent = text ? strtol(text, NULL, 10) : 0;
  if (parent <= 1)
    return KDL_OK;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    return kdl_fail(KDL_IO, "cannot ask to end with kdl: %s", strerror(errno));
  return getppid() == (pid_t)parent ? KDL_OK : kdl_fail(KDL_IO, "kdl has ended");
}

static kdl_status run_operation(const cli_args *args, registry_session *session) {
  const char *what = cli_args_value(args, "work"), *list = cli_args_value(args, "list");
  const char *folder = cli_args_value(args, "folder"), *file = cli_args_value(args, "file");
  const char *reference = cli_args_value(args, "reference");
  const char *digest = cli_args_value(args, "manifest"), *size = cli_args_value(args, "size");
  if (strcmp(what, "manifest") == 0 && reference && file)
    return fetch_manifest(session, reference, file);
  if (strcmp(what, "fetch") == 0 && list && folder)
    return fetch_blobs(session, list, folder);
  if (strcmp(what, "push") == 0 && list && folder && reference && digest && size &&
      oci_digest_is_valid(digest))
    return send_blobs_and_manifest(session, list, folder, reference, digest,
                                   strtoull(size, NULL, 10));
  return kdl_fail(KDL_BAD_CALL,
                  "--work: bad value '%s': use manifest, fetch or push, with what it needs", what);
}

static int run_registry(const cli_args *args) {
  registry_session session = {.scheme = cli_args_value(args, "scheme"),
                              .host = cli_args_value(args, "host"),
                              .name = cli_args_value(args, "name"),
                              .allows_plain_http = cli_args_has(args, "plain-http")};
  const char *what = cli_args_value(args, "work"), *protocol = cli_args_value(args, "protocol");
  kdl_status status = KDL_OK;
  if (!protocol || strcmp(protocol, "1") != 0 || !what || !session.scheme || !session.host ||
      !session.name)
    status =
        kdl_fail(KDL_BAD_CALL, "the caller is another version of kdl: use one of this version");
  if (status == KDL_OK) {
    session.needs_push_scope = strcmp(what, "push") == 0;
    status = exit_with_parent(cli_args_value(args, "parent"));
  }
  if (status == KDL_OK)
    status = session_open(&session);
  if (cli_args_has(args, "progress")) {
    signal(SIGTTOU, SIG_IGN); /* it is no process of the terminal's foreground group */
    cli_progress_begin("pulling", 4);
  }
  if (status == KDL_OK)
    status = run_operation(args, &session);
  cli_progress_end();
  int code = cli_report_status(status);
  session_close(&session);
  return code;
}

static const cli_command registry_command = {
    .name = "kdl-registry",
    .usage = "kdl-registry --protocol=1 --work=manifest|fetch|push [OPTION...]",
    .summary = "speaks to registries for kdl push and kdl pull",
    .options =
        (const cli_option[]){
            {"protocol", 0, CLI_ONCE, "N", "of what this program is told"},
            {"parent", 0, CLI_ONCE, "PID", "the program to end with"},
            {"work", 0, CLI_ONCE, "WORK", "what to do"},
            {"scheme", 0, CLI_ONCE, "SCHEME", "http or https"},
            {"host", 0, CLI_ONCE, "HOST", "the registry, with its port"},
            {"name", 0, CLI_ONCE, "NAME", "the repository"},
            {"reference", 0, CLI_ONCE, "REF", "a tag or a digest"},
            {"plain-http", 0, CLI_FLAG, NULL, "http, where a host is not this machine"},
            {"file", 0, CLI_ONCE, "FILE", "manifest: where it goes"},
            {"list", 0, CLI_ONCE, "FILE", "fetch, push: digests and sizes of blobs"},
            {"folder", 0, CLI_ONCE, "DIR", "fetch, push: where blobs are"},
            {"manifest", 0, CLI_ONCE, "DIGEST", "push: what to send at the end"},
            {"size", 0, CLI_ONCE, "BYTES", "push: and how large it is"},
            {"progress", 0, CLI_FLAG, NULL, "fetch: show how far it is on descriptor 4"},
            {.name = NULL},
        },
    .min_operands = 0,
    .max_operands = 0,
    .run = run_registry,
};

int main(int argc, char **argv) {
  cli_program_begin();
  cli_report_set_name("kdl-registry", NULL);
  return cli_program_end(cli_program_run(&registry_command, argc - 1, argv + 1));
}
