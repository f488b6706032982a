#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# completion_bash.sh SCRIPT FOLDER: what bash offers after some half-typed command lines, in a folder.
set -euo pipefail
compopt() { :; } # exists only while bash completes
# shellcheck source=/dev/null
. "$1"
cd "$2"

# offers 'kdl words...' EXPECTED: the last word is completed; words at '=' are split as bash does.
offers() {
  local expected=$2 found
  COMP_LINE=$1
  read -ra COMP_WORDS <<<"${1//=/ = }"
  [[ $1 == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _kdl || true
  found=${COMPREPLY[*]}
  if [ "$found" != "$expected" ]; then
    echo "completion: '$1': found '$found', expected '$expected'" >&2
    exit 1
  fi
}

offers 'kdl --' '--help --version'
offers 'kdl ex' 'explain extract'
offers 'kdl help ver' 'verify'
offers 'kdl ls --j' '--json'
offers 'kdl ls cons' 'consumer.c'
offers 'kdl ls -l mai' 'main.c'
offers 'kdl pack --f' '--format='
offers 'kdl pack --format=' 'v1 v2 v3 v3-zstd v3-zlib'
offers 'kdl merge --format=v2' 'v2'
offers 'kdl pack -o cons' 'consumer.c'
offers 'kdl pack --image=' 'file= triple= arch= kind= image_kind='
offers 'kdl pack --image=im' 'image_kind='
offers 'kdl thin x --keep=' 'triple= arch= kind= image_kind='
offers 'kdl annotate --r' '--remove='
offers 'kdl thin x --for=h200,mi30' 'h200,mi300x h200,mi300a'
offers 'kdl explain x --device=rtx50' 'rtx5090'
offers 'kdl explain x --policy=' 'best first capability adaptive'
offers 'kdl cc x.c --targets=sm_90,gfx9' 'sm_90,gfx90a sm_90,gfx942 sm_90,gfx950 sm_90,gfx9-4-generic'
offers 'kdl cc x.c --emit=' 'image bitcode'
offers 'kdl cc --k' '--keep-going'
offers 'kdl cc cons' 'consumer.c'
offers 'kdl cache ' 'ls stat clear verify warm export import'
offers 'kdl cache --l' '--long'
offers 'kdl cc -o cons' 'consumer.c'
offers 'kdl cc x.c -MM' '-MMD'
offers 'kdl bench matmul --weights=packed,' 'packed,packed packed,plain'
offers 'kdl trace re' 'report'
offers 'kdl nonsense --' ''

echo "completion: bash offers what it should"
