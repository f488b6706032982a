/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The shipped table of devices, row by row, and what users may write for a device. */
#include "device_support.h"
#include "same_spec.h"

#include "lib/device/named_devices.h"

#include <unistd.h>

/* Name, backend and arch as the vendors' product pages and compiler documentation have them. */
static const struct {
  const char *name, *arch;
  kdl_device_class device_class;
} expected[] = {
    {"p100", "cuda:sm_60", KDL_DEVICE_DISCRETE},
    {"v100", "cuda:sm_70", KDL_DEVICE_DISCRETE},
    {"t4", "cuda:sm_75", KDL_DEVICE_DISCRETE},
    {"gtx1650", "cuda:sm_75", KDL_DEVICE_DISCRETE},
    {"a100", "cuda:sm_80", KDL_DEVICE_DISCRETE},
    {"a10", "cuda:sm_86", KDL_DEVICE_DISCRETE},
    {"rtx3090", "cuda:sm_86", KDL_DEVICE_DISCRETE},
    {"l4", "cuda:sm_89", KDL_DEVICE_DISCRETE},
    {"l40s", "cuda:sm_89", KDL_DEVICE_DISCRETE},
    {"rtx4090", "cuda:sm_89", KDL_DEVICE_DISCRETE},
    {"h100", "cuda:sm_90", KDL_DEVICE_DISCRETE},
    {"h200", "cuda:sm_90", KDL_DEVICE_DISCRETE},
    {"gh200", "cuda:sm_90", KDL_DEVICE_DISCRETE},
    {"b200", "cuda:sm_100", KDL_DEVICE_DISCRETE},
    {"b300", "cuda:sm_103", KDL_DEVICE_DISCRETE},
    {"rtx5090", "cuda:sm_120", KDL_DEVICE_DISCRETE},
    {"rtxpro6000", "cuda:sm_120", KDL_DEVICE_DISCRETE},
    {"gb10", "cuda:sm_121", KDL_DEVICE_INTEGRATED},
    {"xavier", "cuda:sm_72", KDL_DEVICE_INTEGRATED},
    {"orin", "cuda:sm_87", KDL_DEVICE_INTEGRATED},
    {"thor", "cuda:sm_110", KDL_DEVICE_INTEGRATED},
    {"mi50", "hip:gfx906:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi100", "hip:gfx908:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi210", "hip:gfx90a:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi250", "hip:gfx90a:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi250x", "hip:gfx90a:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi300x", "hip:gfx942:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi325x", "hip:gfx942:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi300a", "hip:gfx942:sramecc+:xnack-", KDL_DEVICE_INTEGRATED},
    {"mi350x", "hip:gfx950:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"mi355x", "hip:gfx950:sramecc+:xnack-", KDL_DEVICE_DISCRETE},
    {"rx6900xt", "hip:gfx1030", KDL_DEVICE_DISCRETE},
    {"rx7600", "hip:gfx1102", KDL_DEVICE_DISCRETE},
    {"rx7800xt", "hip:gfx1101", KDL_DEVICE_DISCRETE},
    {"rx7900xtx", "hip:gfx1100", KDL_DEVICE_DISCRETE},
    {"rx9060xt", "hip:gfx1200", KDL_DEVICE_DISCRETE},
    {"rx9070xt", "hip:gfx1201", KDL_DEVICE_DISCRETE},
    {"phoenix", "hip:gfx1103", KDL_DEVICE_INTEGRATED},
    {"strix-point", "hip:gfx1150", KDL_DEVICE_INTEGRATED},
    {"strix-halo", "hip:gfx1151", KDL_DEVICE_INTEGRATED},
    {"krackan", "hip:gfx1152", KDL_DEVICE_INTEGRATED},
    {"tgl", "level_zero:ip=12.0.0", KDL_DEVICE_INTEGRATED},
    {"arc-a770", "level_zero:ip=12.55.8", KDL_DEVICE_DISCRETE},
    {"dg2", "level_zero:ip=12.55.8", KDL_DEVICE_DISCRETE},
    {"arc-a380", "level_zero:ip=12.56.5", KDL_DEVICE_DISCRETE},
    {"pvc", "level_zero:ip=12.60.7", KDL_DEVICE_DISCRETE},
    {"mtl", "level_zero:ip=12.70.4", KDL_DEVICE_INTEGRATED},
    {"mtl-h", "level_zero:ip=12.71.4", KDL_DEVICE_INTEGRATED},
    {"arl-h", "level_zero:ip=12.74.4", KDL_DEVICE_INTEGRATED},
    {"arc-b580", "level_zero:ip=20.1.0", KDL_DEVICE_DISCRETE},
    {"bmg", "level_zero:ip=20.1.0", KDL_DEVICE_DISCRETE},
    {"lnl", "level_zero:ip=20.4.4", KDL_DEVICE_INTEGRATED},
    {"ptl", "level_zero:ip=30.0.4", KDL_DEVICE_INTEGRATED},
    {"haswell", "host:haswell", KDL_DEVICE_CPU},
    {"skylake-avx512", "host:skylake-avx512", KDL_DEVICE_CPU},
    {"cascadelake", "host:cascadelake", KDL_DEVICE_CPU},
    {"icelake-server", "host:icelake-server", KDL_DEVICE_CPU},
    {"alderlake", "host:alderlake", KDL_DEVICE_CPU},
    {"spr", "host:sapphirerapids", KDL_DEVICE_CPU},
    {"emr", "host:emeraldrapids", KDL_DEVICE_CPU},
    {"gnr", "host:graniterapids", KDL_DEVICE_CPU},
    {"srf", "host:sierraforest", KDL_DEVICE_CPU},
    {"zen1", "host:znver1", KDL_DEVICE_CPU},
    {"zen2", "host:znver2", KDL_DEVICE_CPU},
    {"zen3", "host:znver3", KDL_DEVICE_CPU},
    {"zen4", "host:znver4", KDL_DEVICE_CPU},
    {"zen5", "host:znver5", KDL_DEVICE_CPU},
    {"graviton2", "host:neoverse-n1", KDL_DEVICE_CPU},
    {"graviton3", "host:neoverse-v1+sve_vl_256", KDL_DEVICE_CPU},
    {"graviton4", "host:neoverse-v2", KDL_DEVICE_CPU},
    {"grace", "host:grace", KDL_DEVICE_CPU},
    {"altra", "host:neoverse-n1", KDL_DEVICE_CPU},
    {"a64fx", "host:a64fx+sve_vl_512", KDL_DEVICE_CPU},
};
enum { expected_count = sizeof expected / sizeof *expected };

/* By architecture: https://developer.nvidia.com/cuda-gpus, the chips of pci.ids, LLVM's
 * AMDGPUUsage, compute-runtime's devices. */
static const struct {
  const char *arch, *names;
} others[] = {
    {"cuda:sm_30",
     "k10 gtx650 gtx650ti gtx660 gtx660ti gtx670 gtx680 gtx690 gtx760 gtx770 quadrok5000 "
     "quadrok4000 quadrok2000"},
    {"cuda:sm_35", "k20 k20x k40 gtx780 gtx780ti gtxtitanblack gtxtitanz quadrok6000 quadrok5200"},
    {"cuda:sm_37", "k80"},
    {"cuda:sm_50",
     "m10 gtx750 gtx750ti gtx950m gtx960m geforce840m geforce930m geforce940m mx110 mx130 "
     "quadrok2200 quadrok1200 quadrok620"},
    {"cuda:sm_52",
     "m4 m6 m40 m60 gtx950 gtx960 gtx970 gtx980 gtx980ti gtxtitanx quadrom2000 quadrom4000 "
     "quadrom5000 quadrom6000"},
    {"cuda:sm_60", "quadrogp100"},
    {"cuda:sm_61",
     "p4 p6 p40 gt1030 gtx1050 gtx1050ti gtx1060 gtx1070 gtx1070ti gtx1080 gtx1080ti mx150 "
     "mx230 mx250 mx330 mx350 titanxp titanxpascal quadrop400 quadrop600 quadrop620 "
     "quadrop1000 quadrop2000 quadrop2200 quadrop4000 quadrop5000 quadrop6000"},
    {"cuda:sm_70", "titanv quadrogv100"},
    {"cuda:sm_75",
     "t4g gtx1630 gtx1650super gtx1650ti gtx1660 gtx1660super gtx1660ti rtx2060 "
     "rtx2060super rtx2070 rtx2070super rtx2080 rtx2080super rtx2080ti mx450 mx550 "
     "titanrtx t400 t500 t600 t1000 t1200 t2000 quadrortx3000 quadrortx4000 quadrortx5000 "
     "quadrortx6000 quadrortx8000"},
    {"cuda:sm_80", "a30 a800"},
    {"cuda:sm_86",
     "a2 a10g a16 a40 mx570 rtx2050 rtx3050 rtx3050ti rtx3060 rtx3060ti rtx3070 rtx3070ti "
     "rtx3080 rtx3080ti rtx3090ti a400 a500 a1000 a2000 a3000 a4000 a4500 a5000 a5500 "
     "a6000"},
    {"cuda:sm_89",
     "l2 l20 l40 rtx4050 rtx4060 rtx4060ti rtx4070 rtx4070super rtx4070ti rtx4070tisuper "
     "rtx4080 rtx4080super rtx500ada rtx1000ada rtx2000ada rtx3000ada rtx3500ada "
     "rtx4000ada rtx4500ada rtx5000ada rtx6000ada"},
    {"cuda:sm_90", "h20 h800"},
    {"cuda:sm_100", "gb200"},
    {"cuda:sm_103", "gb300"},
    {"cuda:sm_120",
     "rtx5050 rtx5060 rtx5060ti rtx5070 rtx5070ti rtx5080 rtxpro500 rtxpro1000 rtxpro2000 "
     "rtxpro3000 rtxpro4000 rtxpro4500 rtxpro5000"},
    {"cuda:sm_53", "jetson-nano jetson-tx1"},
    {"cuda:sm_62", "jetson-tx2"},
    {"cuda:sm_72", "xavier-nx"},
    {"cuda:sm_87", "orin-nx orin-nano"},
    {"cuda:sm_110", "jetson-t4000 jetson-t5000"},
    {"hip:gfx701", "fireprow8100 fireprow9100 firepros9150 firepros9170"},
    {"hip:gfx702", "r9290 r9290x r9390 r9390x"},
    {"hip:gfx704", "hd7790 hd8770 r7260 r7260x"},
    {"hip:gfx802", "r9285 r9380 r9385"},
    {"hip:gfx803", "r9nano r9fury r9furyx produo rx460 rx470 rx480 rx550 rx560 rx570 rx580 rx590 "
                   "prowx4100 prowx5100 prowx7100 mi6 mi8 firepros9300x2"},
    {"hip:gfx900", "rxvega56 rxvega64 vegafrontieredition prowx8200 prowx9100 mi25"},
    {"hip:gfx906:sramecc+:xnack-", "mi60"},
    {"hip:gfx906", "radeonvii provii"},
    {"hip:gfx942:sramecc+:xnack-", "mi308x"},
    {"hip:gfx1010", "rx5600 rx5600xt rx5700 rx5700xt prow5700"},
    {"hip:gfx1011", "prov520"},
    {"hip:gfx1012", "rx5300 rx5500 rx5500xt prow5500"},
    {"hip:gfx1030", "rx6800 rx6800xt rx6950xt prow6800 prov620"},
    {"hip:gfx1031", "rx6700 rx6700xt rx6750xt rx6700m rx6800m"},
    {"hip:gfx1032", "rx6600 rx6600xt rx6650xt rx6600m prow6600"},
    {"hip:gfx1034", "rx6400 rx6500xt prow6400"},
    {"hip:gfx1100", "rx7900gre rx7900xt prow7800 prow7900"},
    {"hip:gfx1101", "rx7700 rx7700xt prow7700 prov710"},
    {"hip:gfx1102", "rx7600xt rx7600s rx7600m rx7600mxt rx7700s prow7500 prow7600"},
    {"hip:gfx1200", "rx9060"},
    {"hip:gfx1201", "rx9070 rx9070gre aipror9700"},
    {"hip:gfx700", "a6-7000 a6pro-7050b a8-7100 a8pro-7150b a10-7300 a10pro-7350b fx-7500 a8-7200p "
                   "a10-7400p fx-7600p"},
    {"hip:gfx703", "e1-2100 e1-2200 e1-2500 e2-3000 e2-3800 a4-5000 a4-5100 a6-5200 a4pro-3340b"},
    {"hip:gfx801",
     "a6-8500p proa6-8500b a8-8600p proa8-8600b fx-8800p proa12-8800b a10-8700p "
     "proa10-8700b a10-8780p a10-9600p a10-9630p a12-9700p a12-9730p fx-9800p fx-9830p "
     "e2-9010 a6-9210 a9-9410"},
    {"hip:gfx902", "ryzen32200g ryzen52400g"},
    {"hip:gfx90c", "ryzen74700g ryzen74700ge ryzen54600g ryzen54600ge ryzen34300g ryzen34300ge "
                   "ryzen7pro4700g ryzen7pro4750ge ryzen5pro4650g ryzen5pro4650ge ryzen3pro4350g "
                   "ryzen3pro4350ge"},
    {"hip:gfx1033", "steam-deck"},
    {"hip:gfx1035", "radeon660m radeon680m"},
    {"hip:gfx1103", "radeon740m radeon760m"},
    {"hip:gfx1150", "radeon880m"},
    {"hip:gfx1151", "radeon8050s"},
    {"hip:gfx1152", "radeon840m"},
    {"level_zero:ip=8.0.0", "bdw"},
    {"level_zero:ip=9.0.9", "skl"},
    {"level_zero:ip=9.1.9", "kbl"},
    {"level_zero:ip=9.2.9", "cfl"},
    {"level_zero:ip=9.3.0", "apl bxt"},
    {"level_zero:ip=9.4.0", "glk"},
    {"level_zero:ip=9.5.0", "whl"},
    {"level_zero:ip=9.6.0", "aml"},
    {"level_zero:ip=9.7.0", "cml"},
    {"level_zero:ip=11.0.0", "icl icllp"},
    {"level_zero:ip=11.1.0", "lkf"},
    {"level_zero:ip=11.2.0", "ehl jsl"},
    {"level_zero:ip=12.0.0", "tgllp"},
    {"level_zero:ip=12.1.0", "rkl uhd730-rkl uhd750 uhdp750"},
    {"level_zero:ip=12.2.0", "adl-s rpl-s uhd710 uhd730-adl uhd770"},
    {"level_zero:ip=12.3.0", "adl-p rpl-p"},
    {"level_zero:ip=12.4.0", "adl-n"},
    {"level_zero:ip=12.10.0", "dg1 sg-18m"},
    {"level_zero:ip=12.55.8",
     "arc-a750 arc-a750e arc-a580 arc-a580e arc-a770m arc-a760a arc-a730m arc-a550m "
     "dg2-g10 acm-g10 ats-m150 flex170 flex170v"},
    {"level_zero:ip=12.56.5",
     "arc-a380e arc-a310 arc-a310e arc-a370m arc-a370e arc-a350m arc-a350e arc-pro-a30m "
     "arc-pro-a40 arc-pro-a50 dg2-g11 acm-g11 ats-m75 flex140"},
    {"level_zero:ip=12.57.0", "arc-a570m arc-a530m arc-pro-a60 arc-pro-a60m dg2-g12 acm-g12"},
    {"level_zero:ip=12.60.7", "max1550 max1450 max1350 max1100 max1100c"},
    {"level_zero:ip=12.61.7", "pvc-vg max1550vg"},
    {"level_zero:ip=12.70.4", "mtl-u mtl-m mtl-s arl-u arl-s"},
    {"level_zero:ip=12.71.4", "mtl-p"},
    {"level_zero:ip=20.1.0", "arc-b570 arc-pro-b50 arc-pro-b60 bmg-g21"},
    {"level_zero:ip=20.2.0", "bmg-g31"},
    {"level_zero:ip=20.4.4", "lnl-m arc-130v arc-140v"},
    {"level_zero:ip=30.0.4", "arc-b370 arc-b390 ptl-h"},
    {"level_zero:ip=30.1.0", "ptl-u"},
    {"level_zero:ip=30.3.1", "wcl"},
    {"level_zero:ip=30.4.4", "nvl-s nvl-hx nvl-ul"},
    {"level_zero:ip=30.5.4", "nvl-h nvl-u"},
    {"level_zero:ip=35.11.0", "cri"},
};

static kdl_device_routes described(const kdl_named_device *row) {
  kdl_device_routes routes;
  kdl_named_device_describe(row, &routes);
  return routes;
}

static void check_row(const char *name, const char *expected_arch) {
  const kdl_named_device *row;
  assert_ok(kdl_named_device_find(kdl_text_of(name), &row));
  assert_string_equal(row->name, name);
  kdl_device_routes routes = described(row);
  char arch[KDL_SPEC_LINE];
  kdl_device_spec_print(&routes.specs[0], &(kdl_out){arch, sizeof arch, 0});
  arch[strcspn(arch, " ")] = '\0';
  assert_string_equal(arch, expected_arch);
  for (size_t i = 0; i < routes.count; ++i) {
    kdl_device_spec again = spec_of(line_of(&routes.specs[i]));
    assert_true(is_same_spec(&routes.specs[i], &again));
    assert_string_equal(routes.specs[i].name, row->product);
    assert_string_equal(routes.specs[i].driver, "");
  }
}

/* A row without its test, or a test without its row, shows. */
static void every_row_is_the_device_it_names(void **state) {
  (void)state;
  size_t checked = 0;
  for (size_t i = 0; i < expected_count; ++i, ++checked) {
    check_row(expected[i].name, expected[i].arch);
    const kdl_named_device *row;
    assert_ok(kdl_named_device_find(kdl_text_of(expected[i].name), &row));
    kdl_device_routes routes = described(row);
    assert_int_equal(kdl_device_spec_class(&routes.specs[0]), expected[i].device_class);
    assert_true(row->is_typical);
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    char names[1024];
    char *next = names;
    snprintf(names, sizeof names, "%s", others[i].names);
    for (const char *name; (name = strtok_r(next, " ", &next)); ++checked)
      check_row(name, others[i].arch);
  }
  assert_non_null(kdl_named_device_at(checked - 1));
  assert_null(kdl_named_device_at(checked));
}

/* The vendor's driver comes with an OpenCL, but for NVIDIA's on Jetson. */
static void routes_are_those_of_the_vendors_drivers(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"h200", "opencl:sm_90 name=\"NVIDIA H200\" platform=\"NVIDIA CUDA\""},
      {"gb10", "opencl:sm_121 name=\"NVIDIA GB10\" platform=\"NVIDIA CUDA\""},
      {"orin", NULL},
      {"mi300x", "opencl:spirv64 features=fp16+fp64+"},
      {"arc-b580", "opencl:spirv64 features=fp16+fp64+images+"},
      {"zen4", NULL},
  };
  kdl_device_routes routes;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_ok(kdl_device_routes_resolve(rows[i][0], &routes));
    assert_int_equal(routes.count, rows[i][1] ? 2 : 1);
    if (rows[i][1])
      assert_memory_equal(line_of(&routes.specs[1]), rows[i][1], strlen(rows[i][1]));
  }
  /* What is known of the CUDA driver holds for its OpenCL. */
  assert_ok(kdl_device_routes_resolve("t4 driver=11.4", &routes));
  assert_int_equal(routes.specs[1].ptx, KDL_VERSION_OF(7, 4));
  /* Routes that are stated replace them. */
  assert_ok(kdl_device_routes_resolve("t4 driver=11.4 | opencl:spirv64 il=1.2 | opencl:spirv32",
                                      &routes));
  assert_int_equal(routes.count, 3);
  assert_string_equal(routes.specs[0].driver, "11.4");
  assert_string_equal(line_of(&routes.specs[1]), "opencl:spirv64 il=1.2");
  assert_ok(kdl_device_routes_resolve("sm_75 driver=11.4 | opencl:sm_75", &routes));
  assert_int_equal(routes.count, 2);
  assert_ok(kdl_device_routes_resolve("cuda:sm_75 name=\"a | b\"", &routes));
  assert_int_equal(routes.count, 1);
  assert_int_equal(kdl_device_routes_resolve("sm_75 | a100", &routes), KDL_BAD_CALL);
  assert_int_equal(
      kdl_device_routes_resolve(
          "sm_75 | opencl:spirv64 | opencl:spirv64 | opencl:spirv64 | opencl:spirv64 | "
          "opencl:spirv64 | opencl:spirv64 | opencl:spirv64 | opencl:spirv64",
          &routes),
      KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "expected at most 8 routes"));
}

/* However people, drivers and nvidia-smi write them. */
static void names_are_found_however_they_are_written(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"RTX 4090", "rtx4090"},
      {"rtx-4090", "rtx4090"},
      {"NVIDIA GeForce RTX 4090", "rtx4090"},
      {"4090", "rtx4090"},
      {"GeForce RTX 2080 Ti", "rtx2080ti"},
      {"NVIDIA GeForce RTX 3060 Laptop GPU", "rtx3060"},
      {"GeForce RTX 2070 with Max-Q Design", "rtx2070"},
      {"Tesla V100-SXM2-16GB", "v100"},
      {"NVIDIA A100-SXM4-80GB", "a100"},
      {"NVIDIA H100 80GB HBM3", "h100"},
      {"NVIDIA H100 PCIe", "h100"},
      {"Tesla T4", "t4"},
      {"NVIDIA RTX A6000", "a6000"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx6000ada"},
      {"Quadro RTX 6000", "quadrortx6000"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtxpro6000"},
      {"AMD Instinct MI300X", "mi300x"},
      {"mi300", "mi300x"},
      {"w7900", "prow7900"},
      {"AMD Radeon PRO W7900", "prow7900"},
      {"RX 6700 XT", "rx6700xt"},
      {"Radeon VII", "radeonvii"},
      {"a770", "arc-a770"},
      {"Intel(R) Arc(TM) A770 Graphics", "arc-a770"},
      {"b580", "arc-b580"},
      {"Intel(R) Data Center GPU Max 1550", "pvc"},
      {"Max 1100", "max1100"},
      {"Flex 170", "flex170"},
      {"Jetson AGX Orin", "orin"},
      {"Whiskey Lake", "whl"},
      {"Zen 4", "zen4"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const kdl_named_device *row;
    assert_ok(kdl_named_device_find(kdl_text_of(rows[i][0]), &row));
    assert_string_equal(row->name, rows[i][1]);
  }
  kdl_device_spec spec;
  assert_ok(kdl_device_spec_resolve("NVIDIA GeForce RTX 4090  driver=12.4", &spec));
  assert_string_equal(spec.arch, "sm_89");
  assert_string_equal(spec.driver, "12.4");
}

/* A name of several architectures is not one of them, and a suggestion is never of another. */
static void names_are_not_guessed(void **state) {
  (void)state;
  static const struct {
    const char *name, *words; /* in the message */
  } rows[] = {
      {"rtx6000", "quadrortx6000, rtx6000ada"},
      {"arc", "arc-a770, arc-a380,"},
      {"blackwell", "found no device of that name, expected"},
      {"titan", "gtxtitanblack, gtxtitanx, titanxp, titanv, titanrtx"},
      {"840m", "geforce840m, radeon840m"},
      {"meteor lake", "mtl, mtl-h"},
      {"vega", "rxvega56"},
      {"h300", "found no device of that name, expected"},
      {"b100", "found no device of that name, expected"},
      {"gtx580", "found no device of that name, expected"},
      {"gtx9999", "found no device of that name, expected"},
      {"rtx40", "found no device of that name, expected"},
      {"a1", "found no device of that name, expected"},
      {"rxt4090", "(did you mean 'rtx4090'?)"},
      {"gtx4090", "(did you mean 'rtx4090'?)"},
      {"haswel", "(did you mean 'haswell'?)"},
      {"zen6", "found no device of that name, expected"},
      {"", "found"},
      {"---", "found no device of that name, expected"},
  };
  kdl_device_spec spec;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_int_equal(kdl_device_spec_resolve(rows[i].name, &spec), KDL_BAD_CALL);
    if (!strstr(kdl_error_message(), rows[i].words))
      fail_msg("%s: %s", rows[i].name, kdl_error_message());
    assert_null(strstr(kdl_error_message(), rows[i].name[0] ? "offset 0" : "no offset"));
    assert_true(strlen(kdl_error_message()) < 240);
  }
}

static void limits_follow_from_the_architecture(void **state) {
  (void)state;
  static const struct {
    const char *arch;
    uint64_t shared_optin;
    uint32_t cluster;
  } limits[] = {
      {"sm_30", 48 << 10, 0},  {"sm_61", 48 << 10, 0},  {"sm_70", 96 << 10, 0},
      {"sm_75", 64 << 10, 0},  {"sm_80", 163 << 10, 0}, {"sm_87", 163 << 10, 0},
      {"sm_90", 227 << 10, 8}, {"sm_120", 99 << 10, 8},
  };
  for (size_t i = 0; kdl_named_device_at(i); ++i) {
    kdl_device_spec spec = described(kdl_named_device_at(i)).specs[0];
    if (spec.backend != KDL_BACKEND_CUDA)
      continue;
    size_t k = 0;
    while (k < sizeof limits / sizeof *limits && strcmp(limits[k].arch, spec.arch) != 0)
      ++k;
    if (k < sizeof limits / sizeof *limits) {
      assert_int_equal(spec.shared_optin, limits[k].shared_optin);
      assert_int_equal(spec.cluster, limits[k].cluster);
    }
    assert_true(spec.shared_optin >= 48 << 10);
    assert_int_equal(spec.shared, 48 << 10);
    assert_int_equal(spec.subgroups, 32);
  }
}

static void names_take_keys(void **state) {
  (void)state;
  kdl_device_spec spec;
  assert_ok(kdl_device_spec_resolve("H100 driver=12.4 memory=94GB", &spec));
  assert_string_equal(spec.arch, "sm_90");
  assert_string_equal(spec.driver, "12.4");
  assert_int_equal(spec.memory, 94000000000);
  assert_string_equal(spec.name, "NVIDIA H100");
  assert_ok(kdl_device_spec_resolve("  cuda:sm_75 driver=11.8", &spec));
  assert_string_equal(line_of(&spec), "cuda:sm_75 driver=11.8");
}

static void mistakes_in_what_a_user_wrote(void **state) {
  (void)state;
  kdl_device_spec spec;
  assert_int_equal(kdl_device_spec_resolve("h100 drivr=12.4", &spec), KDL_BAD_CALL);
  assert_non_null(
      strstr(kdl_error_message(), "device spec 'h100 drivr=12.4': offset 5: found 'drivr'"));
  assert_int_equal(kdl_device_spec_resolve("h100 driver=twelve", &spec), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "offset 12: found 'twelve', expected a version"));
  assert_int_equal(kdl_device_spec_resolve("h100 features=wgma_nv", &spec), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "offset 14: found 'wgma_nv'"));
  assert_non_null(strstr(kdl_error_message(), "did you mean 'wgmma_nv'?"));
  assert_int_equal(kdl_device_spec_resolve("", &spec), KDL_BAD_CALL);
  assert_int_equal(kdl_device_spec_resolve("@/nowhere/devices.json", &spec), KDL_IO);
  assert_string_equal(kdl_error_message(),
                      "/nowhere/devices.json: cannot open: No such file or directory");
}

static void an_architecture_of_one_backend_is_enough(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"sm_90", "cuda:sm_90"},         {"sm_120 driver=13.0", "cuda:sm_120 driver=13.0"},
      {"gfx942", "hip:gfx942"},        {"gfx90a:sramecc+:xnack-", "hip:gfx90a:sramecc+:xnack-"},
      {"x86-64-v3", "host:x86-64-v3"}, {"armv8-a", "host:armv8-a"},
  };
  kdl_device_spec spec;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_ok(kdl_device_spec_resolve(rows[i][0], &spec));
    assert_string_equal(line_of(&spec), rows[i][1]);
  }
  assert_int_equal(kdl_device_spec_resolve("sm_banana", &spec), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "device spec 'cuda:sm_banana': offset 8"));
  assert_int_equal(kdl_device_spec_resolve("spirv64", &spec), KDL_BAD_CALL);
  char line[KDL_SPEC_LINE + 8];
  memset(line, '0', sizeof line - 1);
  memcpy(line, "sm_", 3);
  line[sizeof line - 1] = '\0';
  assert_int_equal(kdl_device_spec_resolve(line, &spec), KDL_BAD_CALL);
}

static void files_are_read(void **state) {
  (void)state;
  char path[] = "/tmp/kdl-device-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  static const char text[] = "[{\"backend\":\"cuda\",\"arch\":\"sm_90\"},\n"
                             " {\"backend\":\"host\",\"arch\":\"znver4\"}]\n";
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  char at[64];
  kdl_device_spec spec;
  snprintf(at, sizeof at, "@%s", path);
  assert_ok(kdl_device_spec_resolve(at, &spec));
  assert_string_equal(line_of(&spec), "cuda:sm_90");
  snprintf(at, sizeof at, "@%s#1", path);
  assert_ok(kdl_device_spec_resolve(at, &spec));
  assert_string_equal(line_of(&spec), "host:znver4");
  snprintf(at, sizeof at, "@%s#2", path);
  char message[128];
  snprintf(message, sizeof message, "%s: found 2 devices, expected one with index 2", path);
  assert_fails(kdl_device_spec_resolve(at, &spec), KDL_NO_MATCH, message);
  snprintf(at, sizeof at, "@%s#x", path);
  assert_int_equal(kdl_device_spec_resolve(at, &spec), KDL_IO);
  assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
  snprintf(at, sizeof at, "@%s", path);
  snprintf(message, sizeof message,
           "%s: found more than 1048576 bytes, expected device specs in JSON", path);
  assert_fails(kdl_device_spec_resolve(at, &spec), KDL_BAD_FILE, message);
  close(fd);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_is_the_device_it_names),
      cmocka_unit_test(routes_are_those_of_the_vendors_drivers),
      cmocka_unit_test(names_are_found_however_they_are_written),
      cmocka_unit_test(names_are_not_guessed),
      cmocka_unit_test(limits_follow_from_the_architecture),
      cmocka_unit_test(names_take_keys),
      cmocka_unit_test(mistakes_in_what_a_user_wrote),
      cmocka_unit_test(an_architecture_of_one_backend_is_enough),
      cmocka_unit_test(files_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
