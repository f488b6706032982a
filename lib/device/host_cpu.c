/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The CPU that this process runs on: its features, and which of them the operating system enables.
 *
 * CPUID alone is not enough: registers that the system does not save are unusable, and XCR0 lists
 * those that it saves. AMX is listed if XCR0 has it; the kernel's permission is requested later,
 * before its use.
 */
#include "lib/device/host_cpu.h"

#include "lib/inspect/targets.h"
#include "lib/target/families/cpu.h"
#include "support/base/error.h"
#include "support/system/environment.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#elif defined(__riscv)
#include <sys/auxv.h>
#include <sys/syscall.h>
#endif

/* Removes features whose base is missing: some hypervisors announce AVX-512 and hide AVX2. A spec
 * with such a feature would imply more than the CPU has. */
static kdl_feature_set drop_inconsistent(kdl_feature_class which, kdl_feature_set set) {
  kdl_feature_set kept = {{0, 0}};
  for (unsigned bit = 0; bit < 128; ++bit) {
    if (!kdl_feature_has(set, bit))
      continue;
    kdl_feature_set needed = {{0, 0}};
    kdl_feature_add(&needed, bit);
    kdl_feature_close(which, &needed);
    if (!(needed.word[0] & ~set.word[0]) && !(needed.word[1] & ~set.word[1]))
      kdl_feature_add(&kept, bit);
  }
  return kept;
}

/* ------------------------------------------------------------------------------------------ */
/* x86-64                                                                                       */

enum { reg_a, reg_b, reg_c, reg_d };
enum { osxsave_bit = 27 };

/* Whether the leaf exists: one beyond the highest of its range returns another leaf's data. */
static bool has_leaf(const kdl_x86_cpuid_ops *cpu, uint32_t leaf, uint32_t subleaf) {
  uint32_t out[4];
  cpu->cpuid(cpu->user, leaf & 0x80000000, 0, out);
  if (out[reg_a] < leaf)
    return false;
  if (subleaf == 0 || leaf == 0xd)
    return true;
  cpu->cpuid(cpu->user, leaf, 0, out);
  return out[reg_a] >= subleaf;
}

/* The version in leaf 0x24 of an AVX10 token; 0 for other tokens. */
static uint32_t avx10_version(unsigned feature) {
  return feature == KDL_X86_AVX10_1 ? 1 : feature == KDL_X86_AVX10_2 ? 2 : 0;
}

/* CPUID may trap into a hypervisor, so each leaf is queried once. */
typedef struct {
  const kdl_x86_cpuid_ops *cpu;
  size_t count;
  struct {
    uint32_t leaf, subleaf;
    uint32_t regs[4]; /* all 0 where the leaf does not exist */
  } leaves[16];
} leaf_cache;

static uint32_t cached_cpuid(leaf_cache *cache, uint32_t leaf, uint32_t subleaf, char reg) {
  size_t i = 0;
  while (i < cache->count && (cache->leaves[i].leaf != leaf || cache->leaves[i].subleaf != subleaf))
    ++i;
  if (i == sizeof cache->leaves / sizeof *cache->leaves)
    cache->count = --i;
  if (i == cache->count) {
    ++cache->count;
    memset(&cache->leaves[i], 0, sizeof cache->leaves[i]);
    cache->leaves[i].leaf = leaf;
    cache->leaves[i].subleaf = subleaf;
    if (has_leaf(cache->cpu, leaf, subleaf))
      cache->cpu->cpuid(cache->cpu->user, leaf, subleaf, cache->leaves[i].regs);
  }
  return cache->leaves[i].regs[reg - 'a'];
}

static void find_features(const kdl_x86_cpuid_ops *cpu, kdl_feature_set *out_usable,
                          kdl_feature_set *out_off) {
  leaf_cache cache = {.cpu = cpu};
  bool has_xgetbv = cached_cpuid(&cache, 1, 0, 'c') >> osxsave_bit & 1;
  uint64_t xcr0 = has_xgetbv ? cpu->xcr0(cpu->user) : 0;
  uint32_t avx10 = cached_cpuid(&cache, 0x24, 0, 'b') & 0xff;
  size_t count;
  const kdl_x86_probe *probes = kdl_x86_probes(&count);
  for (size_t i = 0; i < count; ++i) {
    const kdl_x86_probe *probe = &probes[i];
    bool there = cached_cpuid(&cache, probe->leaf, probe->subleaf, probe->reg) >> probe->bit & 1;
    if (!there || avx10_version(probe->feature) > avx10)
      continue;
    bool enabled = (xcr0 & probe->xcr0) == probe->xcr0;
    kdl_feature_add(enabled ? out_usable : out_off, probe->feature);
  }
}

static void brand_string(const kdl_x86_cpuid_ops *cpu, kdl_device_spec *spec) {
  if (!has_leaf(cpu, 0x80000004, 0))
    return;
  uint32_t regs[3][4];
  for (uint32_t i = 0; i < 3; ++i)
    cpu->cpuid(cpu->user, 0x80000002 + i, 0, regs[i]);
  char text[sizeof regs + 1];
  memcpy(text, regs, sizeof regs);
  text[sizeof regs] = '\0';
  kdl_spec_set_text(spec->name, sizeof spec->name, text, strlen(text));
}

void kdl_cpu_describe_x86(const kdl_x86_cpuid_ops *source, kdl_device_spec *spec) {
  kdl_feature_set usable = {{0, 0}};
  kdl_feature_set off = {{0, 0}};
  find_features(source, &usable, &off);
  kdl_out_x86(&(kdl_out){spec->arch, sizeof spec->arch, 0},
              drop_inconsistent(KDL_CLASS_X86, usable));
  kdl_out_features(&(kdl_out){spec->os_off, sizeof spec->os_off, 0}, KDL_CLASS_X86, off);
  brand_string(source, spec);
}

/* ------------------------------------------------------------------------------------------ */
/* AArch64                                                                                      */

void kdl_cpu_describe_aarch64(uint64_t hwcap, uint64_t hwcap2, unsigned vector_bits,
                              kdl_device_spec *spec) {
  static const struct {
    unsigned bits;
    unsigned feature;
  } lengths[] = {{256, KDL_AARCH64_SVE_VL_256},
                 {512, KDL_AARCH64_SVE_VL_512},
                 {1024, KDL_AARCH64_SVE_VL_1024},
                 {2048, KDL_AARCH64_SVE_VL_2048}};
  kdl_feature_set set = {{0, 0}};
  size_t count;
  const kdl_aarch64_probe *probes = kdl_aarch64_probes(&count);
  for (size_t i = 0; i < count; ++i) {
    uint64_t word = probes[i].hwcap == 1 ? hwcap : probes[i].hwcap == 2 ? hwcap2 : 0;
    if (word >> probes[i].bit & 1)
      kdl_feature_add(&set, probes[i].feature);
  }
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    if (vector_bits >= lengths[i].bits)
      kdl_feature_add(&set, lengths[i].feature);
  }
  kdl_out_aarch64(&(kdl_out){spec->arch, sizeof spec->arch, 0},
                  drop_inconsistent(KDL_CLASS_AARCH64, set));
}

/* Decodes the main ID register: implementer and part number. */
void kdl_cpu_name_aarch64(uint64_t midr, kdl_device_spec *spec) {
  static const struct {
    uint8_t implementer;
    uint16_t part;
    const char *name;
  } cpus[] = {
      {0x41, 0xd03, "Arm Cortex-A53"},    {0x41, 0xd07, "Arm Cortex-A57"},
      {0x41, 0xd08, "Arm Cortex-A72"},    {0x41, 0xd0b, "Arm Cortex-A76"},
      {0x41, 0xd0c, "Arm Neoverse N1"},   {0x41, 0xd40, "Arm Neoverse V1"},
      {0x41, 0xd41, "Arm Cortex-A78"},    {0x41, 0xd42, "Arm Cortex-A78AE"},
      {0x41, 0xd49, "Arm Neoverse N2"},   {0x41, 0xd4f, "Arm Neoverse V2"},
      {0x41, 0xd83, "Arm Neoverse V3AE"}, {0x41, 0xd84, "Arm Neoverse V3"},
      {0x41, 0xd8e, "Arm Neoverse N3"},   {0x46, 0x001, "Fujitsu A64FX"},
      {0x48, 0xd01, "HiSilicon TSV110"},  {0xc0, 0xac3, "Ampere-1"},
      {0xc0, 0xac4, "Ampere-1A"},         {0xc0, 0xac5, "Ampere-1B"},
  };
  for (size_t i = 0; i < sizeof cpus / sizeof *cpus; ++i) {
    if (cpus[i].implementer == (midr >> 24 & 0xff) && cpus[i].part == (midr >> 4 & 0xfff))
      snprintf(spec->name, sizeof spec->name, "%s", cpus[i].name);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* RISC-V                                                                                       */

void kdl_cpu_describe_riscv(uint64_t hwcap, uint64_t extensions, kdl_device_spec *spec) {
  static const char letters[] = "imafdc";
  kdl_feature_set set = kdl_riscv_probed(extensions);
  for (const char *letter = letters; *letter; ++letter) {
    if (!(hwcap >> (*letter - 'a') & 1))
      return; /* less than rv64gc, which no image is for */
  }
  if (hwcap >> ('v' - 'a') & 1)
    kdl_feature_add(&set, KDL_RISCV_V);
  kdl_out_riscv(&(kdl_out){spec->arch, sizeof spec->arch, 0},
                drop_inconsistent(KDL_CLASS_RISCV, set));
}

/* ------------------------------------------------------------------------------------------ */
/* This CPU                                                                                     */

static bool read_sysfs_line(const char *path, char *line, size_t size) {
  FILE *file = fopen(path, "re");
  bool read = file && fgets(line, (int)size, file) != NULL;
  if (file)
    fclose(file);
  if (read)
    line[strcspn(line, "\n")] = '\0';
  return read;
}

#if defined(__x86_64__)

static void real_cpuid(void *user, uint32_t leaf, uint32_t subleaf, uint32_t out[4]) {
  (void)user;
  uint32_t a, b, c, d;
  __cpuid_count(leaf, subleaf, a, b, c, d);
  out[reg_a] = a;
  out[reg_b] = b;
  out[reg_c] = c;
  out[reg_d] = d;
}

static uint64_t real_xcr0(void *user) {
  (void)user;
  uint32_t low;
  uint32_t high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

static bool describe_native(kdl_device_spec *spec) {
  kdl_cpu_describe_x86(&(kdl_x86_cpuid_ops){real_cpuid, real_xcr0, NULL}, spec);
  return true;
}

#elif defined(__aarch64__)

static bool describe_native(kdl_device_spec *spec) {
  unsigned long hwcap = getauxval(AT_HWCAP);
  int length = prctl(PR_SVE_GET_VL);
  unsigned bits = length < 0 ? 0 : (unsigned)(length & PR_SVE_VL_LEN_MASK) * 8;
  kdl_cpu_describe_aarch64(hwcap, getauxval(AT_HWCAP2), bits, spec);
  char line[32];
  if (read_sysfs_line("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", line,
                      sizeof line))
    kdl_cpu_name_aarch64(strtoull(line, NULL, 16), spec);
  return true;
}

#elif defined(__riscv) && __riscv_xlen == 64

/* Linux 6.4 and later report extensions without a letter; earlier ones do not. */
static uint64_t probe_extensions(void) {
  enum { number = 258, ima_ext_0 = 4 }; /* Linux, arch/riscv/include/uapi/asm/hwprobe.h */
  struct {
    int64_t key;
    uint64_t value;
  } pair = {ima_ext_0, 0};
  return syscall(number, &pair, 1, 0, NULL, 0) == 0 && pair.key == ima_ext_0 ? pair.value : 0;
}

static bool describe_native(kdl_device_spec *spec) {
  kdl_cpu_describe_riscv(getauxval(AT_HWCAP), probe_extensions(), spec);
  return *spec->arch;
}

#else

static bool describe_native(kdl_device_spec *spec) {
  (void)spec;
  return false;
}

#endif

/* Linux prints "48K" and "105M". */
static uint64_t cache_size(const char *text) {
  uint32_t number;
  size_t at = 0;
  if (!kdl_text_parse_number(kdl_text_of(text), &at, &number))
    return 0;
  return text[at] == 'K'   ? (uint64_t)number << 10
         : text[at] == 'M' ? (uint64_t)number << 20
                           : number;
}

static void describe_caches(kdl_device_spec *spec) {
  for (int i = 0; i < 8; ++i) {
    static const char folder[] = "/sys/devices/system/cpu/cpu0/cache/index";
    char path[sizeof folder + 32];
    char level[8];
    char type[32];
    char size[32];
    snprintf(path, sizeof path, "%s%d/level", folder, i);
    if (!read_sysfs_line(path, level, sizeof level))
      break;
    snprintf(path, sizeof path, "%s%d/type", folder, i);
    bool has_type = read_sysfs_line(path, type, sizeof type);
    snprintf(path, sizeof path, "%s%d/size", folder, i);
    if (!has_type || strcmp(type, "Instruction") == 0 || !read_sysfs_line(path, size, sizeof size))
      continue;
    uint64_t *fields[] = {&spec->l1d, &spec->l2, &spec->l3};
    if (level[0] >= '1' && level[0] <= '3' && !level[1])
      *fields[level[0] - '1'] = cache_size(size);
  }
}

static void describe_machine(kdl_device_spec *spec) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    spec->units = (uint32_t)CPU_COUNT(&allowed);
  long pages = sysconf(_SC_PHYS_PAGES);
  long page_size = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_size > 0)
    spec->memory = (uint64_t)pages * (uint64_t)page_size;
  describe_caches(spec);
}

kdl_status kdl_cpu_describe(kdl_device_spec *spec) {
  if (!describe_native(spec))
    return kdl_fail(KDL_UNSUPPORTED, "images for this CPU's architecture are not supported");
  describe_machine(spec);
  const char *setting = kdl_environment(KDL_VARIABLE_CPU);
  return setting ? kdl_cpu_lower(setting, spec) : KDL_OK;
}

kdl_status kdl_cpu_check_setting(void) {
  kdl_device_spec spec = {.backend = KDL_BACKEND_HOST};
  kdl_status status = kdl_environment(KDL_VARIABLE_CPU) ? kdl_cpu_describe(&spec) : KDL_OK;
  return status == KDL_UNSUPPORTED ? KDL_OK : status;
}
