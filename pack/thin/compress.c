/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * --compress: stores the remaining images compressed, where the runtime that reads them can.
 *
 *   NVIDIA   entries of fatbins: LZ4, which every driver reads, or zstd for drivers of CUDA 12.4
 * and later. Only machine code that no linker reads. AMD      complete bundles ("CCOB", version 2),
 * for HIP 6.4 and later.
 *
 * Compressed data is inflated again and compared before it is used. It stays uncompressed where it
 * would not become smaller.
 */
#include "pack/thin/containers.h"

#include "lib/inspect/formats.h"
#include "lib/inspect/libraries.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "tools/common/images/kinds.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { zstd_in_cuda = 12 * 100 + 4, packed_in_hip = 6 * 100 + 4 };

/* ------------------------------------------------------------------------------------------ */
/* Codecs of devices                                                                            */

/* MAJOR.MINOR as a number; 0 where unknown. */
static unsigned long parse_driver_version(const char *text) {
  char *end;
  unsigned long major = strtoul(text ? text : "", &end, 10);
  unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
  return major < 1000 && minor < 100 ? major * 100 + minor : 0;
}

thin_compression thin_compression_for_devices(const cli_devices *devices) {
  unsigned long cuda = ULONG_MAX, hip = ULONG_MAX; /* the oldest drivers */
  for (size_t i = 0; i < devices->count; ++i) {
    kdl_device_info info = {.size = sizeof info};
    bool is_known = kdl_device_get(devices->items[i].device, &info) == KDL_OK;
    unsigned long version = is_known ? parse_driver_version(info.driver) : 0;
    if ((!is_known || strcmp(info.backend, "cuda") == 0) && version < cuda)
      cuda = version;
    if ((!is_known || strcmp(info.backend, "hip") == 0) && version < hip)
      hip = version;
  }
  return (thin_compression){
      .fatbins = cuda != ULONG_MAX && cuda >= zstd_in_cuda ? KDL_CODEC_ZSTD : KDL_CODEC_LZ4,
      .bundles = hip != ULONG_MAX && hip >= packed_in_hip ? KDL_CODEC_ZSTD : KDL_CODEC_NONE};
}

/* ------------------------------------------------------------------------------------------ */
/* Compressing                                                                                  */

/* The caller frees *out_packed, which is NULL where it is not smaller. */
static kdl_status compress_bytes(const thin_input *input, uint64_t offset, kdl_codec codec,
                                 const void *data, size_t size, void **out_packed,
                                 size_t *out_size) {
  void *packed = NULL;
  uint8_t *again = xmalloc(size);
  kdl_status status = kdl_deflate(codec, data, size, NULL, NULL, &packed, out_size);
  if (status == KDL_OK)
    status = kdl_inflate(codec, packed, *out_size, again, size);
  if (status == KDL_OK && memcmp(again, data, size) != 0)
    status = kdl_fail(KDL_UNSUPPORTED, "%s: what was compressed is not what it was",
                      kdl_codec_name(codec));
  free(again);
  if (status != KDL_OK)
    kdl_error_prefix("%s: offset 0x%" PRIx64, input->name, offset);
  if (status != KDL_OK || *out_size >= size) {
    free(packed);
    packed = NULL;
  }
  *out_packed = packed;
  return status;
}

bool thin_entry_compresses(const thin_selection *selection, const thin_container *container,
                           const uint8_t *entry) {
  enum { machine_code = 2, any_codec = 0xf000 };
  return selection->is_packed && container->kind == THIN_FATBIN &&
         kdl_load_u16(entry) == machine_code && !(kdl_load_u64(entry + 40) & any_codec) &&
         kdl_load_u64(entry + 56) == 0 && kdl_load_u64(entry + 8) <= UINT32_MAX;
}

kdl_status thin_entry_compress(const thin_input *input, const thin_selection *selection,
                               const uint8_t *entry, thin_output *out) {
  kdl_codec codec = selection->compression.fatbins;
  uint32_t header = kdl_load_u32(entry + 4);
  uint64_t size = kdl_load_u64(entry + 8);
  void *packed;
  size_t packed_size;
  KDL_TRY(compress_bytes(input, (uint64_t)(entry - input->data), codec, entry + header,
                         (size_t)size, &packed, &packed_size));
  uint64_t room = (packed_size + 7) & ~(uint64_t)7;
  if (!packed || room >= size) {
    thin_output_add(out, entry, header + size);
  } else {
    uint8_t *made = thin_output_add_uninitialized(out, (size_t)(header + room));
    memcpy(made, entry, header);
    kdl_store_u64(made + 8, room);
    kdl_store_u32(made + 16, (uint32_t)packed_size);
    kdl_store_u64(made + 40,
                  kdl_load_u64(entry + 40) | (codec == KDL_CODEC_ZSTD ? 0x8000 : 0x2000));
    kdl_store_u64(made + 56, size);
    memcpy(made + header, packed, packed_size);
    memset(made + header + packed_size, 0, (size_t)room - packed_size);
  }
  free(packed);
  return KDL_OK;
}

kdl_status thin_bundle_compress(const thin_input *input, const thin_selection *selection,
                                const thin_container *container, const thin_output *plain,
                                thin_output *out) {
  enum { header = 24, version = 2, zstd = 1 };
  if (plain->size > UINT32_MAX)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: offset 0x%" PRIx64 ": found a bundle of %" PRIu64
                    " bytes to compress, expected less than 4 GiB",
                    input->name, container->offset, plain->size);
  size_t size = (size_t)plain->size, packed_size;
  uint8_t *bundle = thin_output_bytes(plain);
  void *packed;
  kdl_status status = compress_bytes(input, container->offset, selection->compression.bundles,
                                     bundle, size, &packed, &packed_size);
  if (status == KDL_OK && packed && header + packed_size < size) {
    uint8_t like[header] = {0};
    kdl_store_u32(like, KDL_MAGIC_PACKED_BUNDLE);
    kdl_store_u16(like + 4, version);
    kdl_store_u16(like + 6, zstd);
    thin_compressed_bundle_add(out, like, bundle, size, packed, packed_size);
  } else if (status == KDL_OK) {
    thin_output_add_copy(out, bundle, size);
  }
  free(packed);
  free(bundle);
  return status;
}

kdl_status thin_container_compresses(const thin_input *input, const thin_selection *selection,
                                     const thin_container *container, bool *out_packs) {
  const kdl_stored_image *images = cli_stored_images(input->lib) + container->first;
  *out_packs = false;
  if (!selection->is_packed || container->kept == 0)
    return KDL_OK;
  if (container->kind == THIN_BUNDLE && selection->compression.bundles == KDL_CODEC_NONE)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: offset 0x%" PRIx64
                    ": --compress needs 'driver=6.4' or later behind each AMD device in --for: "
                    "older runtimes refuse compressed bundles of HIP",
                    input->name, container->offset);
  *out_packs = container->kind == THIN_BUNDLE;
  for (size_t i = 0; i < container->count && container->kind == THIN_FATBIN; ++i)
    *out_packs |=
        selection->kept[container->first + i] &&
        thin_entry_compresses(selection, container, input->data + images[i].header_offset);
  return KDL_OK;
}
