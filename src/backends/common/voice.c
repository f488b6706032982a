/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "backends/common/voice.h"

#include <stdio.h>

enum { call_size = 1024, words_size = 256 };

kdl_status kdl_voice_fail(const kdl_voice *voice, uint32_t ordinal, int error, const char *format,
                          va_list args) {
  char call[call_size];
  char words[words_size];
  vsnprintf(call, sizeof call, format, args);
  voice->describe(error, words, sizeof words);
  return (*voice->host)
      ->fail(voice->status(error), error, "%s:%u: %s: %s", voice->backend, ordinal, call, words);
}

void kdl_voice_note(const kdl_voice *voice, uint32_t ordinal, int error, const char *call) {
  char words[words_size];
  voice->describe(error, words, sizeof words);
  (*voice->host)->log("%s:%u: %s: %s", voice->backend, ordinal, call, words);
}

kdl_status kdl_voice_no_start(const kdl_voice *voice, const char *library, const char *call,
                              int error) {
  char words[words_size];
  voice->describe(error, words, sizeof words);
  return (*voice->host)->fail(KDL_DEVICE, error, "%s: %s: %s", library, call, words);
}
