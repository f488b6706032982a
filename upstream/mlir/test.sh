# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2016,SC2034,SC2153,SC2154
# Builds what the patches touch of MLIR: TableGen's output of the files they change, the sources that include it, and
# mlir-opt and mlir-translate, linked with Debian's static archives for all others. Compiled by Clang, as Debian's
# archives are: MLIR's type IDs depend on how the compiler spells type names.
# Debian gives out no sources of 24: its tree is 23's sources with 24's public headers, which GPU's operations do not compile with. Against 24 the
# first patch is tested; of the others, the sources that they add or change compile, and the table says no more.
BASES="23 24"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
gen=$BUILD/gen
objects=$BUILD/objects

tblgen() { # OUTPUT SOURCE ARGUMENT...
  local output=$gen/mlir/$1 source=$SRC/mlir/include/mlir/$2
  shift 2
  mkdir -p "$(dirname "$output")"
  "$LLVM/bin/mlir-tblgen" -I "$SRC/mlir/include" -I "$LLVM/include" "$source" "$@" -o "$output.new" || return
  # Files that stay the same keep their time, and ccache its direct mode.
  if cmp -s "$output.new" "$output"; then rm "$output.new"; else mv "$output.new" "$output"; fi
}

generate() {
  local gpu=Dialect/GPU/IR/GPUOps kind
  tblgen $gpu.h.inc $gpu.td -gen-op-decls &&
    tblgen $gpu.cpp.inc $gpu.td -gen-op-defs &&
    tblgen ${gpu}Attributes.h.inc $gpu.td -gen-attrdef-decls -attrdefs-dialect=gpu &&
    tblgen ${gpu}Attributes.cpp.inc $gpu.td -gen-attrdef-defs -attrdefs-dialect=gpu || return
  for kind in decls:h defs:cpp; do
    tblgen Dialect/GPU/IR/CompilationAttrInterfaces.${kind#*:}.inc Dialect/GPU/IR/CompilationAttrInterfaces.td \
      -gen-attr-interface-${kind%:*} || return
  done
  tblgen Dialect/GPU/Transforms/Passes.h.inc Dialect/GPU/Transforms/Passes.td -gen-pass-decls -name GPU
}

# A file that the series has not added yet is left out.
compile() { # SOURCE...
  local source
  mkdir -p "$objects"
  rm -f "$objects"/*.o
  for source in "$here/tool.cpp" "$@"; do
    if [ -f "$source" ]; then echo "$source"; fi
  done | xargs -P "$JOBS" -I{} sh -c 'nice -n 10 ccache "$0"/bin/clang++ -std=c++17 -O0 -fPIC -fno-rtti -fno-exceptions -Wall -Wextra \
    -Wno-unused-parameter -Wno-deprecated-declarations -I"$1" -I"$2/mlir/include" -isystem "$0/include" -isystem "$3" -c "{}" -o "$4/$(basename "{}" .cpp).o"' \
    "$LLVM" "$gen" "$SRC" "$INCLUDE" "$objects"
}

build_tools() {
  local gpu=$SRC/mlir/lib/Dialect/GPU
  generate && compile "$gpu"/IR/{GPUDialect,CompilationAttrs}.cpp "$gpu/Transforms/ModuleToBinary.cpp" \
    "$SRC"/mlir/lib/Target/LLVMIR/Dialect/GPU/{SelectObjectAttr,OffloadBinaryUtils}.cpp && link_tools
}

link_tools() {
  # Tests alone change no object.
  cat "$objects"/*.o | sha256sum >"$BUILD/objects.new"
  cmp -s "$BUILD/objects.new" "$BUILD/objects.linked" && return
  nice -n 10 "$LLVM/bin/clang++" -fuse-ld=lld -Wl,--gc-sections "$objects"/*.o -Wl,--start-group "$LLVM"/lib/libMLIR*.a -Wl,--end-group \
    -L"$LLVM/lib" -lLLVM-"$BASE" -o "$BUILD/bin/mlir-opt" && ln -sf mlir-opt "$BUILD/bin/mlir-translate" && ln -sf mlir-opt "$BUILD/bin/mlir-runner" &&
    mv "$BUILD/objects.new" "$BUILD/objects.linked"
}

# Runs tests of MLIR's tree.
mlir_lit() { # TEST...
  cp "$here/lit.cfg.py" "$SRC/mlir/test/upstream.cfg.py"
  (cd "$SRC/mlir/test" && python3 "$SRC/llvm/utils/lit/lit.py" -v -j "$JOBS" --config-prefix upstream \
    --param "build=$BUILD" --param "llvm=$LLVM" "$@")
}

# 0001, SerializedObject: also compiles an attribute of another namespace.
build_0001() { :; }
test_0001() {
  local kind out=$BUILD/foreign gen=$BUILD/foreign
  mkdir -p "$out"
  mlir_lit mlir-tblgen/gpu-target-attr.td &&
    tblgen Dialect/GPU/IR/CompilationAttrInterfaces.h.inc Dialect/GPU/IR/CompilationAttrInterfaces.td -gen-attr-interface-decls || return
  for kind in attrdef-decls:h attrdef-defs:cpp dialect-decls:dialect.h dialect-defs:dialect.cpp; do
    "$LLVM/bin/mlir-tblgen" -I "$SRC/mlir/include" -I "$LLVM/include" "$here/foreign.td" -gen-${kind%:*} -o "$out/foreign.${kind#*:}.inc" || return
  done
  "$LLVM/bin/clang++" -std=c++17 -fsyntax-only -fno-rtti -I"$out" -I"$SRC/mlir/include" -isystem "$LLVM/include" -isystem "$INCLUDE" "$here/foreign.cpp"
}

# on_main WORD FILE...: the files of mlir/lib, which have WORD, compile with 24's headers.
on_main() {
  local word=$1 file
  shift
  generate || return
  for file in "$@"; do
    grep -q "$word" "$SRC/mlir/lib/$file" &&
      nice -n 10 ccache "$LLVM/bin/clang++" -std=c++17 -O0 -fno-rtti -fno-exceptions -Wall -Wextra -Wno-unused-parameter -Wno-deprecated-declarations \
        -I"$gen" -I"$SRC/mlir/include" -isystem "$LLVM/include" -isystem "$INCLUDE" -c "$SRC/mlir/lib/$file" -o "$BUILD/main.o" || return
  done
}

# series NUMBER WORD FILES TESTS: on 23 the tools are built and the tests run, on 24 the files compile.
series() {
  eval "build_$1() { if [ \$BASE = 24 ]; then on_main $2 $3; else build_tools; fi; }
    test_$1() { [ \$BASE = 24 ] || mlir_lit $4; }"
}

translation=Target/LLVMIR/Dialect/GPU
series 0002 CompiledAttr Dialect/GPU/IR/CompilationAttrs.cpp 'Dialect/GPU/{module-to-binary-compiled,ops,invalid}.mlir'
# 0003 has no source of its own: on 24, TableGen's output has the attribute.
build_0003() {
  if [ "$BASE" = 24 ]; then generate && grep -q RuntimeSelectAttr "$gen/mlir/Dialect/GPU/IR/GPUOpsAttributes.h.inc"; else build_tools; fi
}
test_0003() { [ "$BASE" = 24 ] || mlir_lit Dialect/GPU/ops.mlir; }
series 0004 writeOffloadBinary "$translation/OffloadBinaryUtils.cpp $translation/SelectObjectAttr.cpp" 'Target/LLVMIR/{gpu,gpu-runtime-select}.mlir'
series 0005 offloadingHandler Dialect/GPU/Transforms/ModuleToBinary.cpp 'Dialect/GPU/module-to-binary-{handler,compiled,invalid,invalid-format}.mlir'
series 0006 getKernelLaunchWithArgSizesFn $translation/SelectObjectAttr.cpp 'Target/LLVMIR/{gpu,gpu-runtime-select}.mlir'

# 0007, the runtime library, on liboffload of LLVM 24: 23 does not have this interface yet.
build_0007() {
  local wrapper=$SRC/mlir/lib/ExecutionEngine/OffloadRuntimeWrappers.cpp offload=/usr/lib/llvm-24
  [ "$BASE" = 24 ] || build_tools || return
  mkdir -p "$BUILD/lib" && rm -f "$BUILD/lib/libmlir_offload_runtime.so" || return
  [ ! -f "$wrapper" ] || nice -n 10 "$LLVM/bin/clang++" -std=c++17 -O1 -fPIC -shared -fno-rtti -fno-exceptions -fvisibility=hidden -Wall -Wextra -Werror \
    -I$offload/include/offload "$wrapper" -L$offload/lib -lLLVMOffload -Wl,--no-undefined -o "$BUILD/lib/libmlir_offload_runtime.so"
}
test_0007() {
  # Without the library, the tests are unsupported: a failure too.
  [ -f "$BUILD/lib/libmlir_offload_runtime.so" ] && { [ "$BASE" = 24 ] || mlir_lit Integration/GPU/Offload; }
}
for number in 0002 0003 0004 0005 0006 0007; do
  eval "passes_$number() { if [ \$BASE = 24 ]; then echo compiles; else echo passes; fi; }"
done
