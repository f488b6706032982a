# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the scripts that source it
# Tools that show and write the string map of offload images.

# Of llvm-objdump the file that the patch touches, with a program around it that opens files as llvm-objdump does.
build_0001() {
  local tool=$SRC/llvm/tools/llvm-objdump
  cxx -I"$tool" -I"$SRC/llvm/include" -isystem "$INCLUDE" "$upstream/$series/objdump.cpp" "$tool/OffloadDump.cpp" \
    -L"$LLVM/lib" -lLLVM-$BASE -o "$BUILD/bin/llvm-objdump"
}
test_0001() {
  local tests=$SRC/llvm/test/tools/llvm-objdump/Offloading
  lit "$tests/strings.test" "$tests/elf.test" "$tests/nested-offload-binary.test" "$tests/nested-offload-binary-fails.test"
}
main_0001() { lit_main "$SRC/llvm/test/tools/llvm-objdump/Offloading/strings.test"; }

# 24's command line has -h of its own, which the tool of 23's sources defines once more.
build_0002() {
  sed 's/Help("h"/Help("help-of-23"/' "$SRC/llvm/tools/llvm-offload-binary/llvm-offload-binary.cpp" >"$BUILD/llvm-offload-binary.cpp"
  cxx -I"$SRC/llvm/include" -isystem "$INCLUDE" "$BUILD/llvm-offload-binary.cpp" -L"$LLVM/lib" -lLLVM-$BASE -o "$BUILD/bin/llvm-offload-binary"
}
# With Debian's llvm-objdump: these do not need the patch before.
test_0002() {
  rm -f "$BUILD/bin/llvm-objdump"
  lit "$SRC/llvm/test/tools/llvm-offload-binary"
}
main_0002() { lit_main "$SRC/llvm/test/tools/llvm-offload-binary/image-arguments.test"; }

build_0003() { build_0002; }
test_0003() { test_0002; }
main_0003() { main_0002; }
