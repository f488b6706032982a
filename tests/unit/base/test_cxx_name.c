/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What can be read from a C++ name without a demangler. */
#include "support.h"

#include "support/base/cxx_name.h"

static kdl_string text_of(const char *text) {
  return (kdl_string){text, strlen(text)};
}

static void names_are_read(void **state) {
  (void)state;
  static const struct {
    const char *mangled, *plain;
  } rows[] = {
      {"_Z5saxpyfPf", "saxpy"},
      {"_Z5saxpyIfEvT_", "saxpy<...>"},
      {"_ZN3gpu5saxpyIfEEvT_", "gpu::saxpy<...>"},
      {"_ZN7cutlass6KernelI4GemmEEvNT_6ParamsE", "cutlass::Kernel<...>"},
      {"_ZN12_GLOBAL__N_13runEv", "run"},
      {"_ZN2at6native12_GLOBAL__N_13sumEv", "at::native::sum"},
      {"_ZL5saxpyfPf", "saxpy"},
      {"_ZN12rocrand_host6detailL19init_engines_kernelEPjj",
       "rocrand_host::detail::init_engines_kernel"},
      {"_ZN3gpuL5saxpyIfEEvT_", "gpu::saxpy<...>"},
      {"_ZN3gpuL", "gpu"},
      {"saxpy", NULL},
      {"_Z", NULL},
      {"_Z9", NULL},
      {"_Z99999999999999999999999999k", NULL},
      {"_ZN", NULL},
      {"_ZN0E", NULL},
      {"", NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char plain[64] = "unchanged";
    bool read = kdl_cxx_name(text_of(rows[i].mangled), plain, sizeof plain);
    assert_int_equal(read, rows[i].plain != NULL);
    if (read)
      assert_string_equal(plain, rows[i].plain);
  }
}

static void text_is_cut(void **state) {
  (void)state;
  char plain[6];
  assert_true(kdl_cxx_name(text_of("_ZN7cutlass6KernelEv"), plain, sizeof plain));
  assert_string_equal(plain, "cutla");
}

static void parts_are_found(void **state) {
  (void)state;
  static const struct {
    const char *mangled, *text;
    bool found;
  } rows[] = {
      {"_ZN3gpu5saxpyIfEEvT_", "gpu::saxpy", true},
      {"_ZN3gpu5saxpyIfEEvT_", "gpu::sax", true},
      {"_ZN3gpu5saxpyIfEEvT_", "saxpy<float>", true},
      {"_ZN3gpu5saxpyIfEEvT_", "gpu :: saxpy (float)", true},
      {"_ZN3gpu5saxpyIfEEvT_", "gpu::x", true},
      {"_ZN3gpu5saxpyIfEEvT_", "gp::saxpy", false},
      {"_ZN3gpu5saxpyIfEEvT_", "saxpy::gpu", false},
      {"_ZN3gpu5saxpyIfEEvT_", "gpu::daxpy", false},
      {"_ZN7cutlass6KernelI4GemmEEv", "Kernel<Gemm>", true},
      {"_ZN7cutlass6KernelI4GemmEEv", "Kernel<Gemm, 8>", true},
      {"gpu_saxpy", "gpu::saxpy", false},
      {"_Z5saxpyfPf", "::", false},
      {"_Z5saxpyfPf", "", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (kdl_cxx_name_has(text_of(rows[i].mangled), text_of(rows[i].text)) != rows[i].found)
      fail_msg("%s in %s", rows[i].text, rows[i].mangled);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_read),
      cmocka_unit_test(text_is_cut),
      cmocka_unit_test(parts_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
