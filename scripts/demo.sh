#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# demo.sh [BUILD]: one C file compiled for eleven targets, in one file; which image would run where; run
# here on the CPU and through OpenCL, with the numbers checked; the best image damaged, and the same
# numbers from the next; a vendor's library explained for a card it does not support. Every command is
# shown as it is run.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
build=${1:-$root/build}
work=$build/demo
targets=sm_75,sm_90,gfx90a,gfx942,gfx11-generic,spirv64,opencl-c,x86-64,x86-64-v2,x86-64-v3,x86-64-v4
devices=(t4 h200 rtx5090 mi250 mi300x rx7900xtx pvc arc-b580 haswell zen4)
PATH=$build/bin:$PATH
export XDG_CACHE_HOME=$work/cache # of libkdl and PoCL: the demo leaves nothing at home

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' plain=$'\e[0m'
else
  bold='' dim='' green='' plain=''
fi

step() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
die() {
  echo "demo: $*" >&2
  exit 1
}

# Shows a command, folded where it is longer than a line.
show() {
  local line="\$" word
  for word in "$@"; do
    if [ $((${#line} + ${#word})) -gt $((${COLUMNS:-100} - 2)) ]; then
      printf '%s%s \\%s\n' "$dim" "$line" "$plain"
      line='   '
    fi
    line+=" $word"
  done
  printf '%s%s%s\n' "$dim" "$line" "$plain"
}

run() {
  show "$@"
  "$@"
}

# y = 2 x + y with x = 0, 1, 2, ... and y = 1, on a device: prints, and compares the numbers.
saxpy() {
  local file=$1 device=$2 output
  local command=(kdl run "$file" saxpy "--device=$device" --items=8 --arg=f32:2
    '--arg=buf:f32[8]=iota' '--arg=buf:f32[8]=1' --arg=u32:8 --dump=arg2)
  show "${command[@]}"
  output=$("${command[@]}") || die "saxpy failed on $device"
  echo "$output"
  [ "${output##*$'\n'}" = 'arg2 = 1 3 5 7 9 11 13 15' ] || die "saxpy is wrong on $device"
  echo "${green}right${plain}"
}

for tool in clang ld.lld; do
  command -v "$tool-22" >/dev/null || command -v "$tool" >/dev/null || die "$tool not found (make setup installs it on Debian, and names the package elsewhere)"
done
rm -rf "$work"
mkdir -p "$work"
cp examples/kernels/saxpy.c "$work"
cd "$work"

step "1. One C file"
sed -n '/^KDL_BLOCK/,$p' saxpy.c

step "2. Compiled for eleven targets of four vendors, in one file"
run kdl cc saxpy.c "--targets=$targets" -o saxpy.offload
run kdl ls saxpy.offload
[ "$(kdl ls --json saxpy.offload | grep -c '"index":')" = 11 ] || die "there are not eleven images"

step "3. Which image would run on which device, here or not"
run kdl explain --matrix saxpy.offload saxpy "${devices[@]/#/--device=}"

step "4. Run here, on the CPU: y = 2 x + y"
saxpy saxpy.offload host

step "5. Run here, through OpenCL"
if kdl which saxpy.offload saxpy --device=opencl >/dev/null 2>&1; then
  saxpy saxpy.offload opencl
else
  echo "No OpenCL driver is here that takes one of these images (Debian: pocl-opencl-icd)."
fi

step "6. The best image for this CPU is damaged, and the same is asked again"
run kdl which saxpy.offload saxpy --device=host
best=$(kdl which saxpy.offload saxpy --device=host | cut -d' ' -f1)
begin=$(kdl ls --json saxpy.offload | sed -n "/\"index\": $best,/,/}/s/.*\"offset\": \([0-9]*\),/\1/p")
image=$(LC_ALL=C grep -obUaP '\x7fELF' saxpy.offload | cut -d: -f1 | awk -v begin="$begin" '$1 > begin' | head -1)
cp saxpy.offload damaged.offload
printf '\377\377\377\377' | dd of=damaged.offload bs=1 seek=$((image + 32)) conv=notrunc status=none
saxpy damaged.offload host

# A vendor's library with code for AMD's GPUs: an installed one, or its file alone, without the 18 MB
# that it would need to run.
find_library() {
  find /usr/lib/x86_64-linux-gnu /opt/rocm/lib "$work/rocrand" -name 'librocrand.so.1' 2>/dev/null | head -1 || true
}
fetch_library() {
  [ "${SETUP:-no}" != no ] && command -v apt-get dpkg >/dev/null || return 0
  mkdir rocrand
  (cd rocrand && apt-get download -q librocrand1 >/dev/null 2>&1 && dpkg -x librocrand1_*.deb .) || true
}

step "7. A vendor's library, and a card it does not support"
library=$(find_library)
if [ -z "$library" ]; then
  fetch_library
  library=$(find_library)
fi
if [ -n "$library" ]; then
  card=mi300x
else # a fat binary as nvcc makes them, for want of a library
  library=$(realpath --relative-to=. "$root/tests/golden/fatbin/archs.fatbin") card=v100
fi
# 3: nothing fits, which is the answer
run kdl explain "$library" --device=$card || [ $? = 3 ] || die "$library was not explained"

step "Where to go next"
cat <<END
  build/demo/saxpy.offload    the file; LLVM reads it too: llvm-objdump-22 --offloading
  examples/kernels/           seven kernels to start from; docs/kernels.md tells how they are written
  examples/sketch.c           a program that opens such a file and launches from it, in fifty lines
  docs/cli.md, man kdl        the command
  docs/architecture.md        how it is built
END
