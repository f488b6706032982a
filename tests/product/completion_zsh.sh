#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# completion_zsh.sh SOURCE KDL: types half a command line and a tab into a zsh of its own, and looks
# at the line that zsh makes of it; and offers every command that kdl has.
set -euo pipefail
source=$1 kdl=$2
command -v zsh >/dev/null || {
  echo "skipped: zsh not found (Debian: zsh)"
  exit 77
}
zsh -f -c 'zmodload zsh/zpty && zpty probe true' 2>/dev/null || {
  echo "skipped: no pseudo-terminal can be opened (is /dev/pts mounted?)"
  exit 77
}
for command in $("$kdl" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  grep -q "^    '$command:" "$source/completions/_kdl" || {
    echo "completion: zsh does not offer '$command'" >&2
    exit 1
  }
done

# complete LINE: LINE with the completion of its last word, as zsh would show it. The line editor
# needs a terminal, so zsh runs in a pseudo-terminal; a widget prints the buffer after the tab.
complete() {
  zsh -f -c '
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell "unsetopt zle_bracketed_paste; PS1= ; stty -echo; cd $2"
    zpty -w shell "fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D"
    zpty -w shell "show() { print -r -- \"<\"\"<\$BUFFER>\"\">\"; zle kill-whole-line }"
    zpty -w shell "zle -N show; bindkey ^X show; print rea\"\"dy"
    while zpty -r shell line && [[ $line != *ready* ]]; do :; done
    zpty -w -n shell "$3"$'"'\t\x18'"'
    while zpty -r shell line "*>>*"; do
      [[ $line == *\<\<*\>\>* ]] && { line=${line##*<<}; print -r -- ${line%%>>*}; break }
    done
    zpty -d shell
  ' zsh "$source/completions" "$source/tests/product/consumer" "$1"
}

offers() {
  local found
  found=$(timeout 20 bash -c "$(declare -f complete); source=$source; complete '$1'") || true
  if [ "$found" != "$2" ]; then
    echo "completion: '$1': found '$found', expected '$2'" >&2
    exit 1
  fi
}

offers 'kdl ext' 'kdl extract '
offers 'kdl ls --js' 'kdl ls --json '
offers 'kdl ls main' 'kdl ls main.c '
offers 'kdl pack --ind' 'kdl pack --index '
offers 'kdl merge --format=v' 'kdl merge --format=v'
offers 'kdl thin --keep=image_kind=hsa' 'kdl thin --keep=image_kind=hsaco,'
echo "completion: zsh completes what it should"
