/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* KDL_TRUST=require: each bit of a small signed library is changed in turn. If the image, its
 * metadata or its signature changed, the image never reaches the (fake) driver. */
#include "cuda_support.h"
#include "trust_support.h"

static const kdl_pair keys[] = {{KDL_TEXT_ROW("triple"), KDL_TEXT_ROW("nvptx64-nvidia-cuda")},
                                {KDL_TEXT_ROW("arch"), KDL_TEXT_ROW("sm_80")},
                                {KDL_TEXT_ROW("kdl.kernel.saxpy"),
                                 KDL_TEXT_ROW("sig=f32 ptr<f32> ptr<f32> u32; block=128x1x1")}};

static uint8_t *file;
static size_t file_size;

static unsigned loads(void) {
  return calls_of("cuModuleLoadDataEx") + calls_of("cuModuleLoadData") +
         calls_of("cuLibraryLoadData") + calls_of("cuLinkAddData_v2");
}

/* Whether the library is what was signed: bits may have changed that are neither of the image nor
 * of its metadata. */
static bool is_as_signed(kdl_library *lib) {
  kdl_image_info info = {.size = sizeof info};
  const void *data;
  size_t size;
  if (kdl_image_count(lib) != 1 || kdl_image_get(lib, 0, &info) != KDL_OK ||
      kdl_image_bytes(lib, 0, &data, &size) != KDL_OK || size != sizeof good_ptx - 1 ||
      memcmp(data, good_ptx, size) != 0 || info.pair_count != sizeof keys / sizeof *keys + 2)
    return false;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
    const kdl_string *value = kdl_image_value(lib, 0, keys[i].key.data);
    if (!value || !kdl_text_equal(*value, keys[i].value))
      return false;
  }
  return true;
}

static kdl_status load(kdl_library *lib) {
  kdl_device *device;
  kdl_kernel *saxpy;
  kdl_status status = kdl_device_find("cuda:0", &device);
  if (status == KDL_OK)
    status = kdl_sym(lib, device, "saxpy", NULL, &saxpy);
  return status == KDL_OK ? kdl_prefetch(saxpy) : status;
}

/* Whether it is loaded as it is now. */
static bool try_file(bool *out_is_as_signed) {
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  *out_is_as_signed = false;
  if (kdl_open_memory(file, file_size, &opts, &lib) != KDL_OK)
    return false;
  bool is_loaded = load(lib) == KDL_OK;
  *out_is_as_signed = is_as_signed(lib);
  kdl_close(lib);
  return is_loaded;
}

static void every_changed_bit_is_refused_before_the_driver(void **state) {
  (void)state;
  bool as_signed = false;
  size_t unsigned_bits = 0;
  start_log();
  assert_true(try_file(&as_signed) && as_signed);
  assert_int_equal(loads(), 1);
  for (size_t bit = 0; bit < file_size * 8; ++bit) {
    clear_log();
    file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    bool is_loaded = try_file(&as_signed);
    file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    if (is_loaded && !as_signed)
      fail_msg("bit %zu of byte %zu: what was not signed is loaded", bit % 8, bit / 8);
    if (!is_loaded && loads())
      fail_msg("bit %zu of byte %zu: refused, and the driver was given it", bit % 8, bit / 8);
    unsigned_bits += is_loaded;
  }
  printf("%zu bits changed, %zu of them of headers and padding that say nothing of the image\n",
         file_size * 8, unsigned_bits);
  assert_true(unsigned_bits < file_size);
}

static int make_file(void **state) {
  (void)state;
  trust_begin("require");
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = kdl_llvm_image_kind(KDL_IMAGE_PTX),
                            .offload_kind = KDL_OFFLOAD_CUDA,
                            .pairs = keys,
                            .pair_count = sizeof keys / sizeof *keys,
                            .data = good_ptx,
                            .data_size = sizeof good_ptx - 1};
  kdl_writer *writer;
  void *data;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  trust_add(writer, &image, TRUST_SIGNED);
  assert_ok(kdl_writer_finish(writer, &data, &file_size));
  kdl_writer_destroy(writer);
  file = data;
  return 0;
}

static int remove_files(void **state) {
  (void)state;
  free(file);
  trust_end();
  return 0;
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_changed_bit_is_refused_before_the_driver),
  };
  return cmocka_run_group_tests(tests, make_file, remove_files);
}
