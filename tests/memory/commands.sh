#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# commands.sh KDL SHORT GOLDEN EXAMPLES FAKES WORK HOW GROUP: commands of one group with each allocation
# failing in turn, alone (HOW is `one`, or `places`) or with all that follow (`onwards`). KDL is the tool, SHORT the
# same tool linked with short_of_memory.c.
set -eu
kdl=$1 short=$2 golden=$3 examples=$4 fakes=$5 work=$6 how=$7 group=$8
rm -rf "$work"
mkdir -p "$work"
cd "$work"
result=0

# each WORD...: the command, which ends with the exit code $expected where there is enough memory.
expected=0
each() {
  echo "$how: ${kdl##*/} $*"
  code=0
  "$kdl" "$@" >/dev/null 2>&1 || code=$?
  [ "$code" = "$expected" ] || { echo "exit code $code, expected $expected"; result=1; }
  KDL_SHORT_OF_MEMORY=$how "$short" "$@" || result=1
}

# changes WORD...: a command that changes what is in the folder `state`: it begins as a copy of state.before, and is as it was after
# each run that fails.
mkdir state.before
changes() {
  rm -rf state
  cp -a state.before state
  KDL_SHORT_FOLDER=state
  export KDL_SHORT_FOLDER
  each "$@"
  unset KDL_SHORT_FOLDER
}

# grows WORD...: the same where files may have been added.
grows() {
  export KDL_SHORT_MAY_GROW=1
  changes "$@"
  unset KDL_SHORT_MAY_GROW
}

sig='sig=f32 ptr<f32> ptr<f32> u32; block=128x1x1'
launch=$golden/launch
"$kdl" pack -o gpu --image="file=$launch/gfx90a.hsaco,kind=hip,triple=amdgcn-amd-amdhsa,arch=gfx90a,kdl.kernel.saxpy=$sig" \
  --image="file=$launch/spirv64.spv,kind=none,triple=spirv64-unknown-unknown,kdl.kernel.saxpy=$sig"
"$kdl" merge -o lib gpu "$examples/saxpy.offload"
export KDL_CACHE_DIR="$work/cache" KDL_LD=/nonexistent LD_LIBRARY_PATH="$fakes/whole" KDL_FAKE_DEVICES=

run() {
  device=$1 spec=$2
  KDL_FAKE_DEVICES="$spec memory=1GiB max_block=1024 shared=64KiB"
  each run lib saxpy "--device=$device" --items=5 --arg=f32:2 '--arg=buf:f32[5]=iota' \
    '--arg=buf:f32[5]=1' --arg=u32:5 --dump=arg2
}

case $group in
ls)
  each ls --kernels --long lib
  each ls --json --kernels lib
  each ls --kernels --resources --device=mi210 "$golden/images/resources.hsaco"
  each ls --archs "$golden/offload/v3_zlib.offload"
  ;;
explain)
  each explain lib saxpy --device=h200 --device=mi210
  each explain lib saxpy --device=pvc --json
  ;;
matrix) each explain lib --matrix ;;
which)
  each which lib saxpy --device=h200
  expected=3
  each which lib saxpi --device=h200
  ;;
verify) each verify --verbose lib ;;
parts)
  "$kdl" split "$golden/bundle/v3.ccob" -o bundle >/dev/null
  "$kdl" split "$golden/fatbin/archs.fatbin" -o fatbin >/dev/null
  each split "$golden/bundle/v3.ccob" --dry-run
  changes split "$golden/fatbin/archs.fatbin" --json -o state/folder
  cp "$golden/bundle/v3.ccob" state.before/out
  changes merge bundle -o state/out
  changes merge bundle/v3.ccob.kdl-split.json bundle/v3.ccob.skeleton.offload bundle/v3.ccob.gfx1100.offload -o state/out
  changes merge fatbin/archs.fatbin.kdl-split.json fatbin/archs.fatbin.sm_90a.offload -o state/out
  changes thin "$golden/bundle/v3.ccob" --for=hip:gfx1100 --json -o state/out
  changes thin "$golden/fatbin/archs.fatbin" --for=h200 -o state/out
  each devices --runs --device=h200 --json
  ;;
write)
  cp gpu state.before/out
  changes thin lib --for=h200,mi210 --verbose -o state/out
  changes merge -o state/out lib gpu
  changes annotate state/out --image=0 k=v --digest
  changes pack "--image=file=$launch/gfx90a.hsaco" --index --digest -o state/out
  changes extract lib --image=1 -o state/out
  grows extract lib -o state/folder/
  ;;
thin)
  tail -c +2 "$golden/../fuzz/corpus/fuzz_thin/lib3-0a" >lib.so # its first byte is for the fuzzer
  cp lib.so state.before/out
  changes thin lib.so --for=h200,mi210 --verbose -o state/out
  changes thin state/out --for=h200 --in-place
  changes thin state/out --for=h200 --in-place --sparse
  each thin lib.so --for=h200 --keep-ptx --keep=0 --strip-to=kind=cuda --json -n
  changes thin "$golden/fatbin/stored.fatbin" --for=h200 --compress -o state/out
  tail -c +2 "$golden/../fuzz/corpus/fuzz_thin/openmp-06" >omp.so
  changes thin omp.so --strip-to=1 -o state/out
  ;;
oci)
  grows push lib oci:state/folder:1
  "$kdl" push gpu oci:state.before/folder:1 >/dev/null
  grows push lib oci:state/folder:1
  "$kdl" push lib oci:folder:1 >/dev/null
  cp gpu state.before/out
  changes pull oci:folder:1 -o state/out
  changes pull oci:folder:1 --for=h200,mi210 --verbose -o state/out
  each pull oci:folder:1 --for=h200 --dry-run
  ;;
wheel) # a zip archive, whose RECORD is written anew
  mkdir -p tree/w tree/w-1.dist-info
  cp "$golden/fatbin/archs.fatbin" "$golden/bundle/v3.ccob" tree/w
  printf 'w/archs.fatbin,,\nw/v3.ccob,,\nw-1.dist-info/RECORD,,\n' >tree/w-1.dist-info/RECORD
  (cd tree && zip -q -X -r ../state.before/w.whl .) || exit 77
  changes thin state/w.whl --for=h200 --verbose -o state/out.whl
  changes thin state/w.whl --for=h200 --in-place --json
  ;;
check) # below a folder: a package of Python's, files of other kinds, archives
  mkdir -p env/foo env/foo-1.2.dist-info env/var/lib/dpkg/info env/usr/lib
  cp "$golden/fatbin/archs.fatbin" "$golden/images/gfx90a.hsaco" "$golden/images/stores_sm_90a.cubin" env/foo
  # All are of packages, so that those of this machine are not asked for.
  printf 'foo/archs.fatbin,,\n"foo/stores_sm_90a.cubin",,\nfoo/gfx90a.hsaco,,\nlib.offload,,\nzstd.kpack,,\n' >env/foo-1.2.dist-info/RECORD
  cp "$golden/images/stores_sm_75.cubin" env/usr/lib/k.cubin
  printf '/usr/lib/k.cubin\n' >env/var/lib/dpkg/info/libk1.list
  cp gpu env/lib.offload
  cp "$golden/kpack/zstd.kpack" env
  expected=3
  each check env --device=h200
  each check env --device=a100 --device=mi210 --json
  each check env --device=a100 --kernels --demangle
  expected=0
  each diff env env --json
  each diff env env/foo --device=h200 --markdown --long
  ;;
archives)
  mkdir -p tree tar/t.dist-info gz/t.dist-info zip/t.dist-info
  cp "$golden/fatbin/archs.fatbin" "$golden/images/stores_sm_90a.cubin" tree
  tar -cf tar/plain.tar tree
  tar -czf gz/k.tar.gz tree
  zip -q -r zip/a.whl tree || exit 77
  echo plain.tar,, >tar/t.dist-info/RECORD
  echo k.tar.gz,, >gz/t.dist-info/RECORD
  echo a.whl,, >zip/t.dist-info/RECORD
  for folder in tar gz zip; do
    each check $folder --device=h200
  done
  ;;
trace)
  "$kdl" trace -o t.json -- "$kdl" run "$examples/saxpy.offload" saxpy --device=host --items=8 --arg=f32:2 '--arg=buf:f32[8]=iota' \
    '--arg=buf:f32[8]=1' --arg=u32:8 2>/dev/null >&2
  each trace report t.json
  each trace report t.json --json=-
  changes trace fold t.json -o state/out
  each trace -o none.json --gpu-time --size=1M -- sh -c 'echo "${KDL_TRACE:+is set}" "$KDL_TRACE_SIZE" "$KDL_TRACE_GPU" "${KDL_TRACE_PROCESS:+is set}"'
  export KDL_SHORT_MAY_NOTE=1
  each doctor
  ;;
devices)
  KDL_FAKE_DEVICES='cuda:sm_90; hip:gfx90a; level_zero:pvc; opencl:spirv64 platform=fake'
  each devices
  ;;
sequence)
  "$kdl" thin "$examples/saxpy.offload" --keep=0 -o one
  "$kdl" merge -o lib "$golden/sequence/steps.offload" one
  each ls --kernels lib
  each verify --verbose lib
  each explain "$golden/sequence/steps.offload"
  each explain --dot lib
  each run --sequence=lib --device=host --slot=x=zero '--slot=y=buf:f32[8]' --slot=a=f32:2 --slot=items=8 \
    '--slot=from=buf:f32[8]=iota' '--slot=a copy=zero' '--slot=#7=buf:u32[1]=1' --dump=y
  ;;
signed) # a signature in the file, around the image, beside the file; and of bitcode, beside which there is some without
  mkdir -p etc/keys.d
  printf '%s\n' "untrusted comment: a test's" RWQxMjM0NTY3ONdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea >etc/keys.d/a.pub
  zeros=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
  printf '%s\n' "untrusted comment: a test's" "RWQAAEIy${zeros}${zeros%AAAAAAAAAAAAAAAAAAAAAA}MTIzNDU2NzidYbGd7/1aYLqESvSS7CzEREnFaXsyaRlwO6wDHK5/YNdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea$zeros=" >secret
  "$kdl" thin "$examples/saxpy.offload" --keep=0 -o plain
  "$kdl" annotate plain --image=0 --digest -o beside
  "$kdl" sign plain --key=secret -o signed 2>err || { cat err; grep -q libsodium err && exit 77; exit 1; }
  "$kdl" sign beside --key=secret --detached
  "$kdl" pack -o outer --image=file=plain,triple=x86_64-unknown-linux-gnu,arch=x86-64
  "$kdl" sign outer --key=secret
  cp plain state.before/lib
  changes sign state/lib --key=secret
  changes sign plain --key=secret --image=0 --comment=x -o state/out
  cp beside state.before/lib
  changes sign state/lib --key=secret --detached
  each sign beside --message
  each verify signed --key=etc/keys.d/a.pub
  each verify beside --key=etc/keys.d/a.pub --signature=beside.minisig
  expected=1
  each verify plain --key=etc/keys.d/a.pub
  expected=0
  export KDL_TRUST=require KDL_TRUST_DIR="$work/etc"
  for lib in signed outer beside; do
    cp $lib lib
    [ ! -e $lib.minisig ] || cp $lib.minisig lib.minisig
    run host ''
  done
  bitcode="file=$golden/images/host.bc,triple=x86_64-unknown-linux-gnu,arch=x86-64"
  "$kdl" pack -o caller "--image=$bitcode,kdl.kernel.mark=sig=ptr<u32> u32"
  "$kdl" pack -o uk "--image=$bitcode,kdl.ukernel.x=1"
  "$kdl" sign caller --key=secret
  "$kdl" merge caller uk -o lib
  export KDL_LD="$fakes/linker/kdl-ld" KDL_FAKE_LD_IMAGE="$examples/../tests/images/mark3.so" KDL_FAKE_LD_LOG="$work/log" KDL_UKERNEL_PATH="$work/uk" KDL_CACHE=off
  each run lib mark --device=host --items=5 '--arg=buf:u32[5]' --arg=u32:5 --dump=arg0
  grep -q protocol=1 log
  if grep ukernels= log; then echo "kdl-ld was given what is not signed"; result=1; fi
  ;;
link) # bitcode that is wanted most, and an image to fall back on, which is another
  images=$examples/../tests/images
  bitcode="file=$golden/images/host.bc,triple=x86_64-unknown-linux-gnu,arch=x86-64"
  "$kdl" pack -o lib "--image=$bitcode,variant_priority=9,kdl.kernel.mark=sig=ptr<u32> u32" \
    "--image=file=$images/mark1.so,triple=x86_64-unknown-linux-gnu,arch=x86-64,kdl.kernel.mark=sig=ptr<u32> u32"
  export KDL_LD="$fakes/linker/kdl-ld" KDL_FAKE_LD_IMAGE="$images/mark3.so" KDL_CACHE=off
  set -- run lib mark --device=host --items=5 '--arg=buf:u32[5]' --arg=u32:5 --dump=arg0
  export KDL_SHORT_MAY_NOTE=1
  each "$@"
  export KDL_CACHE_DIR="$work/state/cache" KDL_CACHE=on
  each "$@"
  mkdir -p state
  "$kdl" "$@" >/dev/null
  cp -a state/cache state.before/cache
  changes "$@"
  each explain lib mark --device=host
  unset KDL_SHORT_MAY_NOTE
  changes link lib --for=host:x86-64-v3 --keep-bitcode --verbose -o state/out
  ;;
cache)
  images=$examples/../tests/images
  bitcode="file=$golden/images/host.bc,triple=x86_64-unknown-linux-gnu,arch=x86-64"
  "$kdl" pack -o lib "--image=$bitcode,kdl.kernel.mark=sig=ptr<u32> u32"
  export KDL_LD="$fakes/linker/kdl-ld" KDL_FAKE_LD_IMAGE="$images/mark3.so" KDL_CACHE_DIR="$work/state.before/cache"
  "$kdl" cache warm lib --for=host:x86-64-v3,host:x86-64-v2 >/dev/null
  "$kdl" cache export exported >/dev/null
  export KDL_CACHE_DIR="$work/state/cache"
  grows cache warm lib --for=host:x86-64-v4
  grows cache ls --long
  grows cache ls --json
  grows cache stat --json
  grows cache verify
  grows cache export state/exported
  grows cache clear
  export KDL_CACHE_DIR="$work/state/other"
  grows cache import exported
  ;;
ld) # kdl-ld itself: what it makes for a CPU, an AMD and an NVIDIA GPU, of bitcode that calls a microkernel
  kdl=$(dirname "$kdl")/kdl-ld
  short=$(dirname "$short")/kdl-ld
  [ -e "$short" ] || exit 77
  clang=$(command -v clang-22 || command -v clang) || exit 77
  compile() {
    "$clang" --cuda-path=/nonexistent -Wno-unused-command-line-argument -std=gnu17 -O2 -Xclang -disable-llvm-passes -ffreestanding \
      -I"$golden/../../include" -emit-llvm -c "$@"
  }
  sources=$golden/../tools/Inputs/ld
  compile -fPIC -march=x86-64-v2 "$sources/rows.c" -o rows.bc
  compile -march=x86-64-v3 "$sources/dot.c" -o dot.bc
  compile -target amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib "$sources/gpu_rows.c" -o gfx942.bc
  compile -target nvptx64-nvidia-cuda -march=sm_75 --cuda-feature=+ptx63 -nogpulib "$sources/gpu_rows.c" -o sm_75.bc
  export KDL_PTXAS=none
  changes --protocol=1 --no-builtin --caller=rows.bc --for=haswell --ukernels=dot.bc --const=depth=4 --output=state/out
  each --protocol=1 --no-builtin --caller=rows.bc --for=haswell --ukernels=dot.bc --output=out --report=report
  changes --protocol=1 --caller=gfx942.bc --for=mi300x --output=state/out
  changes --protocol=1 --caller=sm_75.bc --for=h200 --kernel=rows_i32 --output=state/out
  each --protocol=1 --no-builtin --caller=rows.bc --for=haswell --ukernels=dot.bc --emit=choice --report=report
  changes --protocol=1 --no-builtin --caller=rows.bc --for=haswell --ukernels=dot.bc --emit=ir --output=state/out
  ;;
chosen) # by the environment: a library that wins over others, a backend from elsewhere
  "$kdl" thin "$examples/saxpy.offload" --keep=0 -o other
  export KDL_PRELOAD=$work/other
  run host ''
  unset KDL_PRELOAD
  export KDL_BACKEND_PATH="$examples/../lib/libnull_backend.so"
  "$kdl" pack -o lib "--image=file=$golden/images/sm_90a.cubin,kdl.kernel.saxpy=$sig"
  run cuda 'cuda:sm_90 driver=13.0'
  ;;
host) # of one image, so that there is nothing to fall back to
  "$kdl" thin "$examples/saxpy.offload" --keep=0 -o lib
  run host ''
  ;;
cuda) run cuda 'cuda:sm_90 driver=13.0' ;;
hip) run hip 'hip:gfx90a:sramecc+:xnack- driver=7.0.0' ;;
level_zero) run level_zero 'level_zero:pvc il=1.4' ;;
opencl) run opencl 'opencl:spirv64 il=1.4 features=int64 platform=fake' ;;
*) echo "commands.sh: found group '$group'"; exit 2 ;;
esac
exit $result
