/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* trust COUNT: how long it takes to see that an image is one whose signature was found right
 * before, as when its file is opened again, and to check a signature; in nanoseconds, of COUNT
 * times. */
#include "lib/inspect/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* RFC 8032, test 1. */
static const uint8_t secret[KDL_ED25519_SECRET] = {
    0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4,
    0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
    0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a,
    0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a};
static const char public_key[] = "untrusted comment: a test's\n"
                                 "RWQxMjM0NTY3ONdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea\n";

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* A folder with the key, which is gone once it was read. */
static int trust_key(const kdl_signed_image *image) {
  char folder[] = "/tmp/kdl-trust-XXXXXX", keys[64], path[96];
  if (!mkdtemp(folder))
    return 1;
  snprintf(keys, sizeof keys, "%s/keys.d", folder);
  snprintf(path, sizeof path, "%s/test.pub", keys);
  FILE *file = mkdir(keys, 0700) == 0 ? fopen(path, "we") : NULL;
  if (file)
    fputs(public_key, file);
  if (file)
    fclose(file);
  setenv("KDL_TRUST", "require", 1);
  setenv("KDL_TRUST_DIR", folder, 1);
  kdl_status status = kdl_trust_check("bench", 0, image);
  unlink(path);
  rmdir(keys);
  rmdir(folder);
  return status != KDL_OK;
}

int main(int argc, char **argv) {
  size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
  static const char digest[] =
      "blake2b-256:43e6e5b1c1d9519a88fbff5c91aa18e3c7d2b2722b93c0f5a0f33b47785f61d1";
  static const char sig[] = "sig=f32 ptr<f32> ptr<f32> u32; block=256x1x1; tile=256x1x1; rev=1";
  kdl_pair pairs[] = {{KDL_TEXT("triple"), KDL_TEXT("x86_64-unknown-linux-gnu")},
                      {KDL_TEXT("arch"), KDL_TEXT("x86-64-v3")},
                      {KDL_TEXT("kdl.kernel.saxpy"), {sig, sizeof sig - 1}},
                      {KDL_TEXT("kdl.digest"), {digest, sizeof digest - 1}},
                      {KDL_TEXT(KDL_SIGNATURE_KEY), {"", 0}}};
  kdl_signed_image image = {1, 1, 0, pairs, 4};
  kdl_secret_key key = {.id = {'1', '2', '3', '4', '5', '6', '7', '8'}};
  kdl_string message;
  kdl_signature signature;
  char line[KDL_SIGNATURE_LINE];
  if (kdl_sodium_open() != KDL_OK) {
    printf("skipped: libsodium.so.23 not found (Debian: libsodium23)\n");
    return 77;
  }
  memcpy(key.key, secret, sizeof secret);
  if (kdl_signed_message(&image, 1, &message) != KDL_OK)
    return 1;
  kdl_signature_make(&key, message, KDL_TEXT("kdl"), &signature);
  kdl_signature_write_line(&signature, line);
  pairs[4].value = kdl_text_of(line);
  image.pair_count = 5;
  if (trust_key(&image) != 0)
    return 1;
  double start = now_ns();
  for (size_t i = 0; i < count; ++i) {
    if (kdl_trust_check("bench", 0, &image) != KDL_OK)
      return 1;
  }
  printf("remembered: %.0f ns\n", (now_ns() - start) / (double)count);
  kdl_public_key reader;
  size_t few = count / 100 + 1;
  if (kdl_public_key_read("key", (kdl_string){public_key, sizeof public_key - 1}, &reader) !=
      KDL_OK)
    return 1;
  start = now_ns();
  for (size_t i = 0; i < few; ++i) {
    if (kdl_trust_check_with_keys(&signature, message, &reader, 1, "") != KDL_OK)
      return 1;
  }
  printf("checked: %.0f ns\n", (now_ns() - start) / (double)few);
  free((char *)message.data);
  return 0;
}
