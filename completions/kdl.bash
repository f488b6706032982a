# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bash completion for kdl(1). Needs nothing but bash.

# One reply a line, so that names with spaces stay whole.
_kdl_compgen() {
  mapfile -t COMPREPLY < <(compgen "$@")
}

# Completes a word of comma-separated key=value terms: keys, then the values that are fixed.
_kdl_terms() {
  local prefix=$1 terms=$2 keys=$3 done='' last
  [[ $terms == *,* ]] && done=${terms%,*},
  last=${terms##*,}
  compopt -o nospace
  case $last in
    file=*) _kdl_compgen -f -P "$prefix${done}file=" -- "${last#file=}" ;;
    kind=*) _kdl_compgen -W 'none openmp cuda hip sycl' -P "$prefix${done}kind=" -- "${last#kind=}" ;;
    image_kind=*)
      _kdl_compgen -W 'object bitcode cubin ptx ltoir hsaco spirv zebin fatbin bundle offload unknown' \
        -P "$prefix${done}image_kind=" -- "${last#image_kind=}"
      ;;
    *=*) COMPREPLY=() ;;
    *) _kdl_compgen -W "$keys" -S = -P "$prefix$done" -- "$last" ;;
  esac
}

_kdl_devices='
  p100 v100 t4 gtx1650 a100 a10 rtx3090 l4 l40s rtx4090 h100 h200 gh200 b200 b300 rtx5090
  rtxpro6000 gb10 xavier orin thor mi50 mi100 mi210 mi250 mi250x mi300x mi325x mi300a mi350x
  mi355x rx6900xt rx7600 rx7800xt rx7900xtx rx9060xt rx9070xt phoenix strix-point strix-halo
  krackan tgl arc-a770 dg2 arc-a380 pvc mtl mtl-h arl-h arc-b580 bmg lnl ptl haswell
  skylake-avx512 cascadelake icelake-server alderlake spr emr gnr srf zen1 zen2 zen3 zen4 zen5
  graviton2 graviton3 graviton4 grace altra a64fx
'

_kdl_targets='
  sm_75 sm_80 sm_86 sm_89 sm_90 sm_90a sm_100 sm_120 compute_75 compute_80 compute_90 gfx90a gfx942
  gfx950 gfx1030 gfx1100 gfx1200 gfx9-4-generic gfx10-3-generic gfx11-generic gfx12-generic spirv64
  opencl-c x86-64-v2 x86-64-v3 x86-64-v4 armv8-a
'

_kdl() {
  local commands='ls pack extract annotate merge thin split link verify sign push pull embed devices doctor explain which check run cc cache trace bench help'
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local option='' value=$cur prefix='' options

  # bash splits words at '=' where COMP_WORDBREAKS has it: --format=v1 is three words.
  if [[ $cur == = ]]; then
    option=$prev value=''
  elif [[ $prev == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $cur == --*=* ]]; then
    option=${cur%%=*} value=${cur#*=} prefix=$option=
  elif [[ $prev == -o || $prev == --output || $prev == --image || $prev == --keep ||
    $prev == --format || $prev == --remove || $prev == --device || $prev == --for ||
    $prev == --policy || $prev == --variant-tag || $prev == --targets || $prev == --emit ||
    $prev == --variant || $prev == --clang || $prev == --include || $prev == -I ]]; then
    option=$prev
  fi

  if ((COMP_CWORD == 1)); then
    _kdl_compgen -W "$commands --help --version" -- "$cur"
    return
  fi
  local command=${COMP_WORDS[1]}
  if [[ $command == help ]]; then
    _kdl_compgen -W "${commands% help}" -- "$cur"
    return
  fi
  case $option in
    --format) _kdl_compgen -W 'v1 v2 v3 v3-zstd v3-zlib' -P "$prefix" -- "$value" && return ;;
    -o | --output)
      compopt -o filenames
      _kdl_compgen -f -P "$prefix" -- "$value"
      return
      ;;
    --image)
      if [[ $command == pack ]]; then
        _kdl_terms "$prefix" "$value" 'file triple arch kind image_kind'
      else
        _kdl_terms "$prefix" "$value" 'triple arch kind image_kind'
      fi
      return
      ;;
    --keep)
      _kdl_terms "$prefix" "$value" 'triple arch kind image_kind'
      return
      ;;
    --device)
      _kdl_compgen -W "host $_kdl_devices" -P "$prefix" -- "$value"
      return
      ;;
    --for)
      local done=''
      [[ $value == *,* ]] && done=${value%,*},
      _kdl_compgen -W "host $_kdl_devices" -P "$prefix$done" -- "${value##*,}"
      return
      ;;
    --policy)
      _kdl_compgen -W 'best first capability' -P "$prefix" -- "$value"
      return
      ;;
    --targets)
      local before=''
      [[ $value == *,* ]] && before=${value%,*},
      compopt -o nospace
      _kdl_compgen -W "$_kdl_targets" -P "$prefix$before" -- "${value##*,}"
      return
      ;;
    --emit)
      _kdl_compgen -W "$([[ $command == cc ]] && echo image || echo ir asm) bitcode" -P "$prefix" -- "$value"
      return
      ;;
    --variant)
      if [[ $value == *:* ]]; then
        compopt -o filenames
        _kdl_compgen -f -P "$prefix${value%:*}:" -- "${value##*:}"
      else
        _kdl_terms "$prefix" "$value" 'tag priority features targets'
      fi
      return
      ;;
    --include | -I)
      compopt -o filenames
      _kdl_compgen -d -P "$prefix" -- "$value"
      return
      ;;
    --clang)
      _kdl_compgen -c -P "$prefix" -- "$value"
      return
      ;;
    --ukernels | --sequence | --library)
      compopt -o filenames
      _kdl_compgen -f -P "$prefix" -- "$value"
      return
      ;;
    --remove | --variant-tag | --const | --slot) return ;;
  esac

  case $command in
    ls) options='--json --kernels --demangle --archs --long' ;;
    pack) options='--output --image= --format= --index --digest --verbose' ;;
    extract) options='--image= --for= --output' ;;
    annotate) options='--image= --remove= --digest --force --output' ;;
    merge) options='--output --format= --partial' ;;
    split) options='--output --dry-run --json' ;;
    thin) options='--keep= --for= --strip-to= --keep-ptx --in-place --dry-run --compress --sparse --output --format= --verbose --json' ;;
    link)
      options='--for= --const= --ukernels= --no-builtin --image= --emit= --keep-bitcode --output'
      options+=' --format= --verbose'
      ;;
    verify) options='--key= --signature= --verbose --json' ;;
    sign) options='--key= --image= --detached --comment= --message --attach= --output' ;;
    push) options='--plain-http' ;;
    pull) options='--output --for= --dry-run --plain-http --verbose' ;;
    embed) options='--output --verbose' ;;
    devices) options='--json --all --runs --device=' ;;
    explain) options='--device= --all --policy= --variant-tag= --matrix --long --json --dot' ;;
    which) options='--device= --policy= --variant-tag= --json' ;;
    check) options='--device= --process= --strict --verbose --kernels --demangle --json --output=' ;;
    run)
      options='--items= --grid= --block= --shared= --arg= --const= --device= --image= --dump= --check= --tolerance= --sanitize --repeat= --time'
      options+=' --policy= --variant-tag= --sequence= --slot= --library='
      ;;
    cc)
      options='--targets= --output --variant= --language= --optimize= --define= --include= --warning= --flag='
      options+=' --save-temps'
      options+=' --emit= --format= --jobs= --keep-going --clang= --verbose'
      ;;
    cache)
      options='--json --long --for= --into='
      if ((COMP_CWORD == 2)) && [[ $cur != -* ]]; then
        _kdl_compgen -W 'ls stat clear verify warm export import' -- "$cur"
        return
      fi
      ;;
    bench)
      options='--device= --peers= --cold= --warm= --blocks= --grid= --block= --arg= --pin= --json='
      options+=' --html= --folded= --trace= --lnt= --strict --types= --shapes= --threads= --weights='
      options+=' --kernels= --sizes='
      if ((COMP_CWORD == 2)) && [[ $cur != -* ]]; then
        _kdl_compgen -W 'layers cold launch open select scale sequence matmul kernels compare page' -- "$cur"
        return
      fi
      ;;
    trace)
      options='--output --gpu-time --size= --folded= --json='
      if ((COMP_CWORD == 2)) && [[ $cur != -* ]]; then
        _kdl_compgen -W 'report fold --' -- "$cur"
        return
      fi
      ;;
    *) return ;;
  esac
  if [[ $cur == -* ]]; then
    _kdl_compgen -W "$options --help" -- "$cur"
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
    return
  fi
  compopt -o filenames
  _kdl_compgen -f -- "$cur"
}

complete -F _kdl kdl
