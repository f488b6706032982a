#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# install_consumer.sh SOURCE BUILD PREFIX WORK: what BUILD installed in PREFIX is all that is expected; then builds
# and runs a small program against it the way its users would: through pkg-config and through find_package, as C99,
# C17 and C++17, shared and static, with libraries embedded both ways.
set -euo pipefail
source=$1 build=$2 prefix=$3 work=$4
consumer=$source/tests/product/consumer

fail() {
  echo "install: $*" >&2
  exit 1
}
command -v pkg-config >/dev/null || {
  echo "skipped: pkg-config not found (Debian: pkg-config)"
  exit 77
}

rm -rf "$work"
mkdir -p "$work"
libdir=$(dirname "$(find "$prefix" -name libkdl.so)")
export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
kdl=$prefix/bin/kdl

version=$(pkg-config --modversion libkdl)
linker=""
[ ! -x "$build/bin/kdl-ld" ] || linker="bin/kdl-ld
LIB/kdl/kdl-matmul.offload
LIB/kdl/ukernels.offload"
# The math of libclc, where that was found.
math=$(cd "$build" && for file in lib*/kdl/math-*.bc lib/*/kdl/math-*.bc; do [ ! -e "$file" ] || echo "LIB/kdl/${file##*/}"; done)
# And portable images need that math, too.
[ ! -e "$build/lib/kdl/portable.offload" ] || linker="$linker
LIB/kdl/portable.offload"
# And what is there for MLIR is built where MLIR was found.
mlir=
[ ! -e "$build/lib/libkdl_mlir_runtime.so" ] || mlir="LIB/libkdl_mlir_runtime.so
LIB/libkdl_mlir_runtime.so.0
LIB/libkdl_mlir_runtime.so.$version
include/kdl/mlir/kdl_mlir.h
include/kdl/mlir/mgpu.h"
[ ! -e "$build/lib/KdlMLIR.so" ] || mlir="$mlir
bin/kdl-mlir
LIB/KdlMLIR.so
LIB/libKdlMLIRDialect.a
include/kdl/mlir/Compat.h
include/kdl/mlir/Dialect.h
include/kdl/mlir/Kdl.td
include/kdl/mlir/KdlAttrs.h.inc
include/kdl/mlir/KdlDialect.h.inc
include/kdl/mlir/KdlEnums.h.inc
include/kdl/mlir/KdlInterfaces.h.inc
include/kdl/mlir/KdlPasses.h.inc
include/kdl/mlir/Passes.h
include/kdl/mlir/Passes.td
include/kdl/mlir/Transforms.h
include/kdl/mlir/UkernelProvider.h
share/doc/libkdl/examples/mlir/gpu_linear.mlir
share/doc/libkdl/examples/mlir/linear.mlir
share/doc/libkdl/examples/mlir/linear_model.c
share/doc/libkdl/examples/mlir/linear_model.mlir
share/doc/libkdl/examples/mlir/matmul.mlir
share/doc/libkdl/examples/mlir/mmt4d.mlir"
# Those that `kdl bench` opens, where Clang and LLVM 22 could make them.
peers=$(cd "$build/lib" && for peer in kdl_peer_*.so; do [ ! -e "$peer" ] || echo "LIB/kdl/$peer"; done)
# Where libcurl was found.
registry=$([ ! -e "$build/bin/kdl-registry" ] || echo bin/kdl-registry)
expected_files="bin/kdl
bin/kdl-bench
$registry
$linker
$mlir
$peers
$math
$(cd "$source" && find include/kdl -name '*.h')
LIB/cmake/kdl/kdlConfig.cmake
LIB/cmake/kdl/kdlConfigVersion.cmake
LIB/cmake/kdl/kdlEmbed.cmake
LIB/cmake/kdl/kdlKernels.cmake
LIB/cmake/kdl/kdlTargets-CONFIG.cmake
LIB/cmake/kdl/kdlTargets.cmake
LIB/cmake/kdl/kdlUkernels.cmake
LIB/libkdl-trace-cuda.so
LIB/libkdl-trace-hip.so
LIB/libkdl.a
LIB/libkdl.so
LIB/libkdl.so.0
LIB/libkdl.so.$version
LIB/libkdl_matmul.a
LIB/libkdl_matmul.so
LIB/libkdl_matmul.so.0
LIB/libkdl_matmul.so.$version
LIB/pkgconfig/libkdl.pc
LIB/pkgconfig/libkdl_matmul.pc
share/bash-completion/completions/kdl
$(cd "$source/docs" && printf 'share/doc/libkdl/%s\n' *.md)
share/doc/libkdl/LICENSE
share/doc/libkdl/installed.txt
share/man/man1/kdl.1
share/zsh/site-functions/_kdl"
files=$(cd "$prefix" && find . -type f -o -type l | sed "s,^\./,,; s,^${libdir#"$prefix"/}/,LIB/," |
  sed 's,kdlTargets-[a-z]*\.cmake,kdlTargets-CONFIG.cmake,')
diff <(sort <<<"$expected_files" | sed '/^$/d') <(sort <<<"$files") ||
  fail "installed files (>) differ from what is expected (<)"

# Every page that an installed header names is installed.
while read -r page; do
  [ -e "$prefix/share/doc/libkdl/${page#docs/}" ] || fail "a header names $page, which is not installed"
done < <(grep -rhoE 'docs/[a-z-]+\.md' "$prefix/include" | sort -u)

# The installed command finds the installed headers.
if command -v clang-22 >/dev/null && command -v ld.lld-22 >/dev/null; then
  "$kdl" cc "$source/examples/kernels/saxpy.c" --targets=gfx942,opencl-c,x86-64-v2 -o "$work/saxpy.offload"
  [ "$("$kdl" ls --json "$work/saxpy.offload" | grep -c '"kdl.kernel.saxpy": "sig=f32 ptr<f32> ptr<f32> u32; ')" = 3 ] ||
    fail "the installed kdl cc made other images than expected"
fi

# The installed command finds the peers that were installed with it.
if grep -q kdl_peer_llvm.so <<<"$peers"; then
  found=$("$kdl" bench select --blocks=1 | grep '^LLVM ') || fail "kdl bench select found no kdl_peer_llvm.so"
  echo "install: kdl bench beside $found"
fi
if grep -q kdl_peer_omp.so <<<"$peers"; then
  "$kdl" bench cold --device=host --peers=omp --cold=1 >bench.log || fail "kdl bench --peers=omp: exit code $?"
  grep -q 'cold/kdl/total *cold/omp/total' bench.log || fail "kdl bench --peers=omp: found $(cat bench.log)"
  echo "install: kdl bench beside OpenMP"
fi

# What the consumer embeds: a library of two images, as a file and in an object whose section
# linkers would drop, as Clang's -fembed-offload-object makes it.
cd "$work"
printf first >first.bin
printf second >second.bin
"$kdl" pack -o two.offload \
  --image=file=first.bin,triple=nvptx64-nvidia-cuda,arch=sm_90,kind=cuda \
  --image=file=second.bin,triple=amdgcn-amd-amdhsa,arch=gfx942,kind=hip
cat >excluded.s <<'ASM'
  .section .llvm.offloading,"e",@0x6fff4c0b
  .p2align 3
  .incbin "two.offload"
  .section .note.GNU-stack,"",@progbits
ASM
cc -c excluded.s -o excluded.o
want="version=$version images=2 arch=sm_90,gfx942"

check() {
  local name=$1 output
  shift
  output=$("$@") || fail "$name: exit code $?"
  [ "$output" = "$want" ] || fail "$name: found '$output', expected '$want'"
  echo "install: $name: $output"
}

flags=(-Wall -Wextra -Wpedantic -Werror "-DTWO_OFFLOAD=\"$work/two.offload\"")
read -ra cflags <<<"$(pkg-config --cflags libkdl)"
read -ra libs <<<"$(pkg-config --libs libkdl)"
read -ra static_libs <<<"$(pkg-config --static --libs libkdl)"
for std in c99 c17; do
  cc -std=$std "${flags[@]}" "${cflags[@]}" "$consumer/consumer.c" "${libs[@]}" -o pc-$std
  check "pkg-config $std" ./pc-$std
done
c++ -std=c++17 "${flags[@]}" "${cflags[@]}" -x c++ "$consumer/consumer.c" -x none "${libs[@]}" \
  -o pc-c++17
check "pkg-config c++17" ./pc-c++17
readelf -d pc-c99 | grep -q 'NEEDED.*libkdl\.so\.0' || fail "the program does not need libkdl.so.0"
# shellcheck disable=SC2046 # pkg-config's words
cc -std=c17 -Wall -Werror "$consumer/matmul.c" $(pkg-config --cflags --libs libkdl_matmul) -o matmul-call
./matmul-call || fail "a program on libkdl_matmul: exit code $?"
# The first line of <kdl/matmul.h>: libraries that come with libkdl are found by their name.
if [ -e "$libdir/kdl/kdl-matmul.offload" ]; then
  # shellcheck disable=SC2046 # pkg-config's words
  cc -std=c17 "$source/examples/matmul.c" $(pkg-config --cflags --libs libkdl_matmul) -o matmul
  ./matmul >matmul.log || fail "kdl_open(\"kdl-matmul\") in an installed tree: $(cat matmul.log)"
  echo "install: kdl-matmul: found by its name"
fi
cc -std=c17 -static "${flags[@]}" "${cflags[@]}" "$consumer/consumer.c" "${static_libs[@]}" \
  -o pc-static 2>static.log || fail "static: $(cat static.log)"
check "pkg-config --static" env -u LD_LIBRARY_PATH ./pc-static
# No driver is opened from such a program: glibc would end it there.
for how in -static -static-pie; do
  cc -std=c17 $how "${flags[@]}" "${cflags[@]}" "$consumer/drivers.c" "${static_libs[@]}" -o drivers$how 2>static.log ||
    fail "drivers $how: $(cat static.log)"
  env -u LD_LIBRARY_PATH ./drivers$how >drivers.log 2>&1 || fail "drivers $how: exit code $?: $(cat drivers.log)"
  [ "$(cat drivers.log)" = "host
device \"opencl:63\": this program is linked statically, and cannot open drivers: link it without -static
at least one: 1" ] || fail "drivers $how: found $(cat drivers.log)"
done
cc -std=c17 "${flags[@]}" "${cflags[@]}" "$consumer/drivers.c" "${libs[@]}" -o drivers
./drivers | grep -q 'opencl:63.*this machine has' || fail "drivers: found $(./drivers)"

cmake -S "$consumer" -B cmake -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DTWO_OFFLOAD="$work/two.offload" -DEXCLUDED_O="$work/excluded.o" --log-level=WARNING
cmake --build cmake >cmake.log || fail "$(cat cmake.log)"
unset LD_LIBRARY_PATH
for program in app_c99 app_c17 app_cxx17 app_static; do
  check "find_package $program" cmake/$program
done
for program in app_matmul app_matmul_static; do
  cmake/$program || fail "find_package $program: exit code $?"
done
for program in app_c17 app_object; do
  archs=$("$kdl" ls --archs cmake/$program | tr '\n' ' ')
  [ "$archs" = "sm_90 gfx942 " ] ||
    fail "kdl ls --archs $program: found '$archs', expected sm_90 and gfx942"
done
if cmake -S "$consumer" -B wrong -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DWRONG_CALL=ON \
  >wrong.log 2>&1; then
  fail "kdl_embed took a FILE without SYMBOL"
fi
grep -q 'expected FILE with SYMBOL, or OBJECT alone' <(tr -s ' \n' ' ' <wrong.log) ||
  fail "kdl_embed without SYMBOL: found $(cat wrong.log)"

# The installed linker with its built-in microkernels, and a library of the consumer's own.
if [ -z "$linker" ]; then
  echo "install: kdl-ld is not built here"
elif [ ! -f cmake/own.offload ]; then
  fail "kdl_pack_ukernels made no library, and kdl-ld is built"
else
  link=("$prefix/bin/kdl-ld" --protocol=1 --caller=cmake/ukernels/caller.x86-64.bc --for=haswell)
  "${link[@]}" --emit=choice --report=builtin.json
  "${link[@]}" --emit=choice --report=own.json --ukernels=cmake/own.offload
  for taken in builtin:"$libdir/kdl/ukernels.offload" own:cmake/own.offload; do
    first=$(grep -m1 '"library"' "${taken%%:*}.json")
    grep -q "\"${taken#*:}\"" <<<"$first" || fail "kdl-ld: found $first, expected ${taken#*:}"
    echo "install: kdl-ld takes ${taken%%:*} microkernels"
  done
fi

# What is there for MLIR: the runtime's header, and the dialect for tools that link it in.
if [ -z "$mlir" ]; then
  echo "install: nothing is built for MLIR here"
else
  cat >runtime.c <<'EOF'
#include <kdl/mlir/kdl_mlir.h>
#include <kdl/mlir/mgpu.h>
#include <stdio.h>
static void keep(void *user, const char *message) { (void)user, (void)message; }
int main(void) {
  kdl_mlir_set_error_handler(keep, NULL);
  return printf("ABI %d\n", KDL_MLIR_ABI) < 0 || mgpuModuleLoad("", 0) != NULL;
}
EOF
  # shellcheck disable=SC2046 # pkg-config's words
  cc -std=c17 -Wall -Werror runtime.c -o runtime -lkdl_mlir_runtime $(pkg-config --cflags --libs libkdl)
  said=$(LD_LIBRARY_PATH=$libdir ./runtime)
  [ "$said" = "ABI 1" ] || fail "a program on libkdl_mlir_runtime: found $said, expected ABI 1"
  echo "install: libkdl_mlir_runtime by its header"
fi
llvm=$(llvm-config-22 --prefix 2>/dev/null || true)
if [ ! -e "$build/lib/KdlMLIR.so" ] || [ -z "$llvm" ]; then
  echo "install: the MLIR plugin is not built here"
else
  cat >dialect.cpp <<'EOF'
#include <kdl/mlir/Dialect.h>
#include <kdl/mlir/Passes.h>
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
int main() {
  mlir::DialectRegistry registry;
  mlir::kdl::registerDialect(registry);
  mlir::kdl::registerPasses();
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto parsed = mlir::parseAttribute("#kdl.host<arch = \"x86-64-v3\">", &context);
  auto host = llvm::dyn_cast_or_null<mlir::kdl::HostTargetAttr>(parsed);
  llvm::outs() << (host ? host.getArch() : "nothing") << "\n";
}
EOF
  # shellcheck disable=SC2046 # pkg-config's words
  "$llvm/bin/clang++" -std=c++17 -fno-rtti -fno-exceptions $(pkg-config --cflags libkdl) -isystem "$llvm/include" dialect.cpp -o dialect \
    -L"$libdir" -lKdlMLIRDialect -l:libkdl.a $(pkg-config --static --libs-only-l libkdl) -L"$llvm/lib" -lMLIR -lLLVM-22 -Wl,-rpath,"$llvm/lib"
  said=$(LD_LIBRARY_PATH=$libdir ./dialect)
  [ "$said" = x86-64-v3 ] || fail "a program with the dialect: found $said, expected x86-64-v3"
  echo "install: the dialect by its headers"
fi
