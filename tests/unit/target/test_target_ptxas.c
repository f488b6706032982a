/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ptxas as the reference: it compiles PTX for one target to another architecture exactly if our
 * rule lets it run there. Skipped if ptxas is not installed or does not know a target.
 */
#include "target_case.h"

static const char *const targets[] = {"sm_75",  "sm_80",   "sm_86",   "sm_87",   "sm_89",
                                      "sm_90",  "sm_90a",  "sm_100",  "sm_100a", "sm_100f",
                                      "sm_103", "sm_103a", "sm_103f", "sm_110",  "sm_110f",
                                      "sm_120", "sm_120a", "sm_120f", "sm_121",  "sm_121f"};

/* A device of compute capability 9.0 is what -arch=sm_90a compiles for: it has all its features. */
static const char *const parts[] = {"sm_75",   "sm_80",   "sm_86",   "sm_87",   "sm_89",  "sm_90a",
                                    "sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a"};

static bool compiles(const char *directory, const char *target, const char *part) {
  char path[128];
  char command[512];
  snprintf(path, sizeof path, "%s/in.ptx", directory);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, ".version 9.0\n.target %s\n.address_size 64\n.visible .entry k() { ret; }\n",
          target);
  fclose(file);
  snprintf(command, sizeof command, "ptxas -arch=%s %s -o %s/out.cubin >/dev/null 2>&1", part, path,
           directory);
  return system(command) == 0;
}

static bool has_ptxas(void) {
  return system("command -v ptxas >/dev/null") == 0;
}

static void ptx_compiles_where_it_runs(void **state) {
  (void)state;
  if (!has_ptxas()) {
    print_message("skipped: ptxas not found (scripts/cuda-tools.sh build/cuda-tools)\n");
    skip();
  }
  char directory[] = "/tmp/kdl-ptxas-XXXXXX";
  assert_non_null(mkdtemp(directory));
  if (!compiles(directory, "sm_121f", "sm_121a")) {
    print_message("skipped: this ptxas does not know sm_121f\n");
    skip();
  }
  int checked = 0;
  for (size_t p = 0; p < sizeof parts / sizeof *parts; ++p) {
    static image_case image;
    static device_case device;
    char line[64];
    snprintf(line, sizeof line, "cuda %s", parts[p]);
    case_device(&device, line);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; ++t, ++checked) {
      snprintf(line, sizeof line, "ptx %s v9.0", targets[t]);
      case_image(&image, line);
      bool rule = kdl_match_admits(&image.rule, &device.rule);
      if (compiles(directory, targets[t], parts[p]) != rule)
        fail_msg("ptxas -arch=%s on .target %s disagrees: the rule says %d", parts[p], targets[t],
                 rule);
    }
  }
  print_message("%d pairs agree with ptxas\n", checked);
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", directory);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(ptx_compiles_where_it_runs)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return failed ? failed : has_ptxas() ? 0 : 77;
}
