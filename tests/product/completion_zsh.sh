#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# completion_zsh.sh FUNCTIONS FOLDER: types half a command line and a tab into a zsh of its own, in a folder, and
# looks at the line that zsh makes of it.
set -euo pipefail
functions=$1 folder=$2
command -v zsh >/dev/null || {
  echo "skipped: zsh not found (Debian: zsh)"
  exit 77
}
zsh -f -c 'zmodload zsh/zpty && zpty probe true' 2>/dev/null || {
  echo "skipped: no pseudo-terminal can be opened (is /dev/pts mounted?)"
  exit 77
}

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
  ' zsh "$functions" "$folder" "$1"
}

offers() {
  local found
  found=$(timeout 20 bash -c "$(declare -f complete); functions=$functions; folder=$folder; complete '$1'") || true
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
offers 'kdl cache ver' 'kdl cache verify '
offers 'kdl link --emit=as' 'kdl link --emit=asm '
offers 'kdl explain --device=rtx50' 'kdl explain --device=rtx5090 '
offers 'kdl bench --si' 'kdl bench --sizes='
echo "completion: zsh completes what it should"
