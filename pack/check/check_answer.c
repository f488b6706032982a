/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The answer for a library on a device; docs/cli.md has the rule. */
#include "pack/check/check.h"

check_counts check_count(const check_verdict *verdict) {
  const kdl_coverage *coverage = &verdict->coverage;
  if (!coverage->kernels)
    return (check_counts){coverage->modules_run, coverage->modules - coverage->modules_run, 0};
  size_t missing = coverage->kernels - coverage->kernels_run - coverage->kernels_other;
  return (check_counts){coverage->kernels_run, missing, coverage->kernels_other};
}

/* A vendor's library may have kernels of its own for each generation, with other names: then even
 * the best-served device runs less than 0.6 of them. */
static bool has_kernels_by_generation(const check_verdict *verdict) {
  const kdl_coverage *coverage = &verdict->coverage;
  size_t kernels =
      coverage->kernels ? coverage->kernels - coverage->kernels_foreign : coverage->modules;
  return verdict->best * 10 < kernels * 6;
}

bool check_runs_what_is_expected(const check_verdict *verdict) {
  check_counts counts = check_count(verdict);
  size_t own = counts.run + counts.missing, hollow = verdict->coverage.kernels_hollow;
  bool by_generation =
      has_kernels_by_generation(verdict) && hollow * 10 <= (counts.run + hollow) * 2;
  size_t measure = by_generation ? verdict->middle : verdict->best;
  size_t expected = measure < own ? measure : own;
  return counts.run * 10 >= expected * 8;
}

static bool is_well_served(const check_verdict *verdict) {
  return check_runs_what_is_expected(verdict) && check_count(verdict).run * 2 >= verdict->best;
}

check_answer check_answer_of(const check *c, const check_library *library, size_t device) {
  const check_verdict *verdict = &library->verdicts[device];
  if (!verdict->coverage.kernels && !verdict->coverage.unreadable)
    return CHECK_EMPTY;
  if (verdict->has_better_alternative)
    return CHECK_OTHER;
  if (verdict->conflict)
    return CHECK_PARTLY;
  switch (verdict->outcome) {
  case CHECK_NATIVE:
  case CHECK_JIT:
    return CHECK_YES;
  case CHECK_PARTIAL: /* all listed kernels of --only must run */
    return !c->only && is_well_served(verdict) ? CHECK_YES : CHECK_PARTLY;
  case CHECK_NONE:
    return verdict->is_covered_by_sibling ? CHECK_OTHER : CHECK_NO;
  case CHECK_OTHER_VENDOR:
    break;
  }
  return c->is_targeted[device] ? CHECK_OTHER : CHECK_NO;
}

const char *check_answer_name(check_answer answer) {
  static const char *const names[] = {"yes", "partly", "no", "other", "empty"};
  return names[answer];
}

/* What of a package runs is answered with partly where one of its libraries does not. */
bool check_fails(const check *c, const check_library *library, size_t device) {
  check_answer answer = check_answer_of(c, library, device);
  bool is_allowed = c->allows_partly && library->verdicts[device].package_runs;
  return (answer == CHECK_PARTLY || answer == CHECK_NO) && !is_allowed;
}

bool check_any_fails(const check *c) {
  for (size_t i = 0; i < c->library_count; ++i) {
    for (size_t device = 0; device < c->devices.count; ++device) {
      if (check_fails(c, &c->libraries[i], device))
        return true;
    }
  }
  return false;
}
