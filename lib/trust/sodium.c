/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/trust/sodium.h"

#include "support/base/error.h"
#include "support/system/loader.h"

#include <pthread.h>

static struct {
  int (*init)(void);
  int (*verify)(const unsigned char *signature, const unsigned char *data, unsigned long long size,
                const unsigned char *key);
  int (*sign)(unsigned char *signature, unsigned long long *length, const unsigned char *data,
              unsigned long long size, const unsigned char *key);
  int (*hash)(unsigned char *out, size_t out_size, const unsigned char *data,
              unsigned long long size, const unsigned char *key, size_t key_size);
  bool is_open;
} sodium;

static const struct {
  const char *name;
  void *slot;
} sodium_symbols[] = {{"sodium_init", &sodium.init},
                      {"crypto_sign_ed25519_verify_detached", &sodium.verify},
                      {"crypto_sign_ed25519_detached", &sodium.sign},
                      {"crypto_generichash", &sodium.hash}};

static void load_sodium(void) {
  static const char *const names[] = {"libsodium.so.23", "libsodium.so.26"};
  void *library = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && !library; ++i)
    library = kdl_dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; library && i < sizeof sodium_symbols / sizeof *sodium_symbols; ++i) {
    *(void **)sodium_symbols[i].slot = dlsym(library, sodium_symbols[i].name);
    if (!*(void **)sodium_symbols[i].slot)
      return;
  }
  sodium.is_open = library && sodium.init() >= 0;
}

kdl_status kdl_sodium_open(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_sodium);
  return sodium.is_open ? KDL_OK
                        : kdl_fail(KDL_UNSUPPORTED,
                                   "signatures need libsodium.so.23, which cannot be opened here "
                                   "(Debian: libsodium23)");
}

bool kdl_sodium_verify(const uint8_t signature[KDL_ED25519_SIGNATURE], const void *data,
                       size_t size, const uint8_t key[KDL_ED25519_PUBLIC]) {
  return sodium.verify(signature, data, size, key) == 0;
}

void kdl_sodium_sign(const void *data, size_t size, const uint8_t key[KDL_ED25519_SECRET],
                     uint8_t out_signature[KDL_ED25519_SIGNATURE]) {
  sodium.sign(out_signature, NULL, data, size, key);
}

void kdl_sodium_hash(const void *data, size_t size, uint8_t out_hash[KDL_BLAKE2B_512]) {
  sodium.hash(out_hash, KDL_BLAKE2B_512, data, size, NULL, 0);
}
