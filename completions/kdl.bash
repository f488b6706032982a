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

_kdl() {
  local commands='ls pack extract annotate merge thin verify embed devices help'
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
    $prev == --format || $prev == --remove ]]; then
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
    --format) _kdl_compgen -W 'v1 v2' -P "$prefix" -- "$value" && return ;;
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
    --remove) return ;;
  esac

  case $command in
    ls) options='--json --kernels --archs --long' ;;
    pack) options='--output --image= --format= --index --verbose' ;;
    extract) options='--image= --output' ;;
    annotate) options='--image= --remove= --output' ;;
    merge) options='--output --format=' ;;
    thin) options='--keep= --output --format=' ;;
    verify) options='--verbose' ;;
    embed) options='--output --verbose' ;;
    devices) options='--json --all' ;;
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
