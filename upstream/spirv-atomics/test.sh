# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the scripts that source it
# The SPIR-V backend: the file that the patch touches, linked with Debian's archives into an llc. It includes private headers of
# the backend, so that the sources and the archives must be of one version.
BASES="23"

build_0001() {
  local target=$SRC/llvm/lib/Target/SPIRV out=$BUILD/spirv
  mkdir -p "$out"
  if [ ! -f "$out/llc.o" ]; then
    for table in register-info:RegisterInfo instr-info:InstrInfo subtarget:SubtargetInfo register-bank:RegisterBank \
      searchable-tables:Tables global-isel:GlobalISel asm-writer:AsmWriter; do
      "$LLVM/bin/llvm-tblgen" "-gen-${table%:*}" -I "$target" -I "$INCLUDE" "$target/SPIRV.td" -o "$out/SPIRVGen${table#*:}.inc"
    done
    for name in llc NewPMDriver; do
      cxx -w -I"$INCLUDE" -c "$SRC/llvm/tools/llc/$name.cpp" -o "$out/$name.o"
    done
  fi
  cxx -I"$out" -I"$target" -I"$SRC/llvm/include" -isystem "$INCLUDE" -c "$target/SPIRVEmitIntrinsics.cpp" -o "$out/SPIRVEmitIntrinsics.o"
  cxx -fuse-ld=lld -B"$LLVM/bin" "$out"/{llc,NewPMDriver,SPIRVEmitIntrinsics}.o -L"$LLVM/lib" \
    $("$LLVM/bin/llvm-config" --link-static --libs all | sed "s/-lPolly[A-Z]*//g") $("$LLVM/bin/llvm-config" --link-static --system-libs) -o "$BUILD/bin/llc"
}
main_0001() { lit_main "$SRC/llvm/test/CodeGen/SPIRV/atomic-constant-address.ll"; }
test_0001() { lit "$SRC"/llvm/test/CodeGen/SPIRV/{atomic-constant-address.ll,pointers,instructions/atomic.ll,AtomicCompareExchange.ll,atomicrmw.ll}; }
