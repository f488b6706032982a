/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * AArch64. An image may run where the kernel reports every feature the image was built with. Of two
 * that run, the highest feature that exactly one of them needs decides, in the order of the Arm C
 * Language Extensions; with the bits in that order, that is a comparison of numbers. Sources:
 * docs/targets.md, section AArch64.
 */
#include "lib/inspect/targets.h"

#include "lib/target/families/cpu.h"
#include "lib/target/requirements.h"

/* First and second word of a set. */
#define A(id) ((uint64_t)1 << KDL_AARCH64_##id)
#define B(id) ((uint64_t)1 << (KDL_AARCH64_##id - 64))

/* The mandatory features of each version, of those that have a token. BTI is not included: its
 * instructions are hints, which other CPUs ignore. */
#define V80_A (A(FP) | A(SIMD))
#define V81_A (V80_A | A(CRC) | A(LSE) | A(RDM))
#define V82_A (V81_A | A(DPB))
#define V83_A (V82_A | A(FCMA) | A(JSCVT) | A(RCPC))
#define V83_B B(PAUTH)
#define V84_A (V83_A | A(DOTPROD) | A(DIT) | A(FLAGM) | A(RCPC2))
#define V84_B (V83_B | B(LSE2))
#define V85_A (V84_A | A(SB) | A(SSBS) | A(FRINTTS) | A(FLAGM2) | A(DPB2))
#define V86_A (V85_A | A(BF16) | A(I8MM))
#define V87_A (V86_A | A(WFXT))
#define V88_A (V87_A | A(MOPS))
#define V88_B (V84_B | B(HBC))
#define V89_A (V88_A | A(CSSC))
#define V9_A (A(FP16) | A(SVE) | A(SVE2))
#define CRYPTO_A (A(AES) | A(SHA2))

#define N1_A (V82_A | CRYPTO_A | A(DOTPROD) | A(FP16) | A(RCPC) | A(SSBS))
#define V1_A                                                                                       \
  (V84_A | CRYPTO_A | A(SHA3) | A(SM4) | A(BF16) | A(I8MM) | A(FP16) | A(FP16FML) | A(DPB2) |      \
   A(RNG) | A(SSBS) | A(SVE))
#define N2_A (V85_A | V9_A | A(BF16) | A(I8MM) | A(FP16FML) | A(MEMTAG) | A(SVE2_BITPERM))
#define N3_A (N2_A | V87_A | A(RNG))
#define AMPERE1_A (V86_A | CRYPTO_A | A(SHA3) | A(FP16) | A(FP16FML) | A(RNG))

/* Arm ARM, "Armv8-A and Armv9-A architecture extensions"; CPUs: what clang and gcc may use with
 * -mcpu=NAME. Versions with mandatory features that have no token are omitted, so that images for
 * them are refused. */
/* NOLINTBEGIN(misc-redundant-expression): sets that are joined may overlap. */
static const kdl_cpu_base bases[] = {
    {"armv8-a", {{V80_A, 0}}},
    {"armv8.1-a", {{V81_A, 0}}},
    {"armv8.2-a", {{V82_A, 0}}},
    {"armv8.3-a", {{V83_A, V83_B}}},
    {"armv8.4-a", {{V84_A, V84_B}}},
    {"armv8.5-a", {{V85_A, V84_B}}},
    {"armv8.6-a", {{V86_A, V84_B}}},
    {"armv8.7-a", {{V87_A, V84_B}}},
    {"armv8.8-a", {{V88_A, V88_B}}},
    {"armv8.9-a", {{V89_A, V88_B}}},
    {"armv9-a", {{V85_A | V9_A, V84_B}}},
    {"armv9.1-a", {{V86_A | V9_A, V84_B}}},
    {"armv9.2-a", {{V87_A | V9_A, V84_B}}},
    {"armv9.3-a", {{V88_A | V9_A, V88_B}}},
    {"armv9.4-a", {{V89_A | V9_A, V88_B | B(SVE2P1)}}},
    {"cortex-a53", {{V80_A | A(CRC) | CRYPTO_A, 0}}},
    {"cortex-a57", {{V80_A | A(CRC) | CRYPTO_A, 0}}},
    {"cortex-a72", {{V80_A | A(CRC) | CRYPTO_A, 0}}},
    {"cortex-a76", {{N1_A, 0}}},
    {"cortex-a78", {{N1_A, 0}}},
    {"cortex-x1", {{N1_A, 0}}},
    {"cortex-x2", {{N2_A, V84_B}}},
    {"cortex-x3", {{N2_A, V84_B}}},
    {"cortex-x4", {{N2_A | V87_A, V84_B}}},
    {"cortex-x925", {{N2_A | V87_A, V84_B}}},
    {"neoverse-e1", {{N1_A, 0}}},
    {"neoverse-n1", {{N1_A, 0}}},
    {"neoverse-n2", {{N2_A, V84_B}}},
    {"cobalt-100", {{N2_A, V84_B}}},
    {"neoverse-n3", {{N3_A, V84_B}}},
    {"neoverse-512tvb", {{V1_A, V84_B}}},
    {"neoverse-v1", {{V1_A, V84_B}}},
    {"neoverse-v2", {{N2_A | A(RNG), V84_B}}},
    {"grace",
     {{N2_A | CRYPTO_A | A(SHA3) | A(SM4) | A(SVE2_AES) | A(SVE2_SHA3) | A(SVE2_SM4), V84_B}}},
    {"neoverse-v3", {{N3_A, V84_B}}},
    {"a64fx", {{V82_A | CRYPTO_A | A(FCMA) | A(FP16) | A(SVE), 0}}},
    {"ampere1", {{AMPERE1_A, V84_B}}},
    {"ampere1a", {{AMPERE1_A | A(SM4) | A(MEMTAG), V84_B}}},
    {"ampere1b", {{AMPERE1_A | V87_A | A(SM4) | A(MEMTAG) | A(CSSC), V84_B}}},
    {"aarch64", {{V80_A, 0}}},
    {"generic", {{V80_A, 0}}},
    {"", {{V80_A, 0}}},
};
/* NOLINTEND(misc-redundant-expression) */

enum { base_count = sizeof bases / sizeof *bases };

const char *kdl_aarch64_base_at(size_t index) {
  return index < base_count ? bases[index].name : NULL;
}

static bool add_crypto(kdl_string name, kdl_feature_set *set) {
  if (!kdl_text_is(name, "crypto"))
    return false;
  set->word[0] |= CRYPTO_A;
  return true;
}

bool kdl_aarch64_parse(kdl_string text, kdl_feature_set *out_set, kdl_parse_error *out_error) {
  static const kdl_cpu_syntax syntax = {
      .features = KDL_CLASS_AARCH64,
      .bases = bases,
      .base_count = base_count,
      .marks = "+",
      .add_other = add_crypto,
      .expected_base = "armv8-a to armv9.4-a or a CPU, then +features",
      .expected_feature = "an AArch64 feature, as in +sve2",
  };
  return kdl_cpu_read(&syntax, text, out_set, out_error);
}

void kdl_out_aarch64(kdl_out *out, kdl_feature_set set) {
  kdl_out_format(out, "armv8-a");
  kdl_feature_set more = kdl_feature_tokens(KDL_CLASS_AARCH64, set);
  more.word[0] &= ~V80_A;
  if (kdl_feature_any(more)) {
    kdl_out_format(out, "+");
    kdl_out_features(out, KDL_CLASS_AARCH64, more);
  }
}

void kdl_aarch64_image(const kdl_image_desc *desc, kdl_image_rule *rule) {
  kdl_cpu_image(desc, KDL_FAMILY_AARCH64, kdl_aarch64_parse, rule);
}

bool kdl_aarch64_device(const kdl_device_desc *desc, kdl_device_rule *rule, kdl_feature_set *has,
                        kdl_parse_error *out_error) {
  return kdl_cpu_device(desc, KDL_FAMILY_AARCH64, kdl_aarch64_parse, rule, has, out_error);
}
