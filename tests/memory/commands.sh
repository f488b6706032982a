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
  echo "$how: kdl $*"
  code=0
  "$kdl" "$@" >/dev/null 2>&1 || code=$?
  [ "$code" = "$expected" ] || { echo "exit code $code, expected $expected"; result=1; }
  KDL_SHORT_OF_MEMORY=$how "$short" "$@" || result=1
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
  each merge bundle -o out
  each merge bundle/v3.ccob.kdl-split.json bundle/v3.ccob.skeleton.offload bundle/v3.ccob.gfx1100.offload -o out
  each merge fatbin/archs.fatbin.kdl-split.json fatbin/archs.fatbin.sm_90a.offload -o out
  each thin "$golden/bundle/v3.ccob" --for=hip:gfx1100 --json -o out
  each thin "$golden/fatbin/archs.fatbin" --for=h200 -o out
  each devices --runs --device=h200 --json
  ;;
write)
  each thin lib --for=h200,mi210 --verbose -o out
  each merge -o out lib gpu
  each annotate gpu --image=0 k=v --digest -o out
  each pack "--image=file=$launch/gfx90a.hsaco" --index --digest -o out
  each extract lib --image=1 -o out
  ;;
thin)
  tail -c +2 "$golden/../fuzz/corpus/fuzz_thin/lib3-0a" >lib.so # its first byte is for the fuzzer
  each thin lib.so --for=h200,mi210 --verbose -o out
  each thin lib.so --for=h200 --keep-ptx --keep=0 --strip-to=kind=cuda --json -n
  each thin "$golden/fatbin/stored.fatbin" --for=h200 --compress -o out
  tail -c +2 "$golden/../fuzz/corpus/fuzz_thin/openmp-06" >omp.so
  each thin omp.so --strip-to=1 -o out
  ;;
oci)
  each push lib oci:folder:1
  each pull oci:folder:1 -o out
  each pull oci:folder:1 --for=h200,mi210 --verbose -o out
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
