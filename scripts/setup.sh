#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# setup.sh GROUP...: installs what scripts/packages.txt lists for the groups and this machine lacks, on Debian 12
# and 13. Elsewhere it prints the names and the command, installs nothing, and ends well where a compiler, CMake
# and Ninja are there: what else is missing is left out of the build or skipped, by name. Where nothing is
# missing it only asks the package manager: no network, no root.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
list=$here/packages.txt
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

say() { printf 'setup: %s\n' "$*"; }
die() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

# Sets `system` ("Debian 12"), `version`, `codename`, `column` of the list, and how packages are asked for and installed.
identify() {
  local ID='' ID_LIKE='' VERSION_ID='' VERSION_CODENAME='' NAME='this system' id
  local file=${KDL_OS_RELEASE:-/etc/os-release}
  # shellcheck source=/dev/null
  [ ! -r "$file" ] || . "$file"
  system="${NAME}${VERSION_ID:+ $VERSION_ID}" version=$VERSION_ID codename=$VERSION_CODENAME column=''
  for id in $ID $ID_LIKE; do
    case $id in
      debian) column=debian is_installed=has_dpkg install='apt-get install' ;;
      ubuntu) column=ubuntu is_installed=has_dpkg install='apt-get install' ;;
      fedora) column=fedora is_installed=has_rpm install='dnf install' ;;
      arch) column=arch is_installed=has_pacman install='pacman -S --needed' ;;
      *) continue ;;
    esac
    break
  done
  if [ -z "$column" ]; then
    column=debian is_installed=has_none install=''
  fi
  case $ID:$VERSION_ID in
    debian:12 | debian:13) installs=yes ;;
    *) installs=no ;;
  esac
}

has_dpkg() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
has_rpm() { rpm -q --whatprovides "$1" >/dev/null 2>&1; }
has_pacman() { pacman -T "$1" >/dev/null 2>&1; }
has_none() { false; }

# Prints "package why" for the groups given, under this system's names.
wanted() {
  local group debian why name
  local ubuntu fedora arch
  # shellcheck disable=SC2034 # "column" names one of them
  while read -r group debian ubuntu fedora arch why; do
    case " $* " in
      *" $group "*) ;;
      *) continue ;;
    esac
    name=${!column}
    [ "$name" != = ] || name=$debian
    [ "$name" != - ] || continue
    for name in ${name//,/ }; do
      case $name in
        *@"$version") name=${name%@*} ;;
        *@*) continue ;;
      esac
      printf '%s %s\n' "$name" "${why#\# }"
    done
  done < <(grep -v '^#' "$list") | awk '!seen[$1]++'
}

# One of a|b.
any_installed() {
  local name
  for name in ${1//|/ }; do
    if $is_installed "$name"; then return 0; fi
  done
  return 1
}

print_missing() {
  local line
  for line in "${missing[@]}"; do
    printf '  %-24s %s\n' "${line%% *}" "${line#* }"
  done
}

# apt honours the proxy variables; sudo drops them unless told.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo --preserve-env=http_proxy,https_proxy,no_proxy "$@"
  fi
}

has_candidate() {
  local candidate
  candidate=$(LC_ALL=C apt-cache policy "$1" | sed -n 's/^ *Candidate: //p')
  [ -n "$candidate" ] && [ "$candidate" != '(none)' ]
}

# Where this machine gets Debian from, with the path of the security archive.
security_uris() {
  # shellcheck disable=SC2016 # the $(...) are apt's own fields
  apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
    sed -n "s,^$codename \(.*/\)debian/*\$,\1debian-security,p" | sort -u
  printf '%s\n' http://deb.debian.org/debian-security http://security.debian.org/debian-security
}

add_security_source() {
  local uri options='' file=/etc/apt/sources.list.d/kdl-$codename-security.list
  [ -r "$keyring" ] && options="[signed-by=$keyring] "
  for uri in $(security_uris); do
    say "LLVM 22 is in Debian's security archive, which this machine does not use: adding"
    say "  $file: deb $uri $codename-security main"
    printf '# LLVM 22 for libkdl, added by its make setup\ndeb %s%s %s-security main\n' \
      "$options" "$uri" "$codename" | as_root tee "$file" >/dev/null
    if as_root apt-get update -q --error-on=any -o Dir::Etc::sourcelist="$file" \
      -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0; then
      return 0
    fi
    say "$uri gives no $codename-security"
    as_root rm -f "$file"
  done
  die "no mirror with $codename-security could be reached"
}

# Sets `found` to the first of a|b that the archive has.
find_candidate() {
  for found in ${1//|/ }; do
    if has_candidate "$found"; then return 0; fi
  done
  return 1
}

# Tells what to install, and refuses only where nothing can be built.
advise() {
  local names tool absent='' whose="its own names"
  [ -n "$install" ] || whose="Debian's names"
  say "nothing is installed on $system. What libkdl would use and did not find here, by $whose:"
  print_missing
  names=$(printf '%s ' "${missing[@]%% *}")
  [ -z "$install" ] || say "to install it, as root: $install ${names% }"
  [ "$column" != ubuntu ] || say "Ubuntu has no LLVM 22; apt.llvm.org has, under these names"
  for tool in cmake ninja; do
    command -v "$tool" >/dev/null || absent+=" $tool"
  done
  if ! command -v cc >/dev/null && ! command -v gcc >/dev/null && ! command -v clang-22 >/dev/null &&
    ! command -v clang >/dev/null; then
    absent+=' a-C-compiler'
  fi
  [ -z "$absent" ] || die "nothing can be built without:$absent"
  say "going on with what is there: parts that need more are left out, and their tests are reported as skipped"
}

# What is installed stays: a package that would remove others is left out, by name.
would_install() { LC_ALL=C apt-get install -s -q --no-remove --no-install-recommends "$@" >/dev/null 2>&1; }
leave_out_conflicts() {
  local package kept=()
  if would_install "${names[@]}"; then return; fi
  for package in "${names[@]}"; do
    if would_install "${kept[@]}" "$package"; then
      kept+=("$package")
    else
      say "$package cannot be installed next to what this machine has (apt-get install -s $package says why): it is left out, and what needs it is left out or skipped"
    fi
  done
  names=("${kept[@]}")
}

[ $# -gt 0 ] || die "usage: setup.sh GROUP... (groups: build test mlir demo bench cluster lint)"
identify

missing=()
total=0
while read -r line; do
  total=$((total + 1))
  any_installed "${line%% *}" || missing+=("$line")
done < <(wanted "$@")
[ "$total" -gt 0 ] || die "no such group in $list: $*"

if [ ${#missing[@]} = 0 ]; then
  say "nothing to do: all $total packages for $* are installed"
  exit 0
fi
if [ $installs = no ]; then
  advise
  exit 0
fi
if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
  say "these packages are missing, and there is neither root nor sudo to install them:"
  print_missing
  die "install them as root, or go on without them: make test SETUP=no"
fi

say "installing ${#missing[@]} of $total packages for $*:"
print_missing
as_root apt-get update -q
for package in "${missing[@]%% *}"; do
  [[ $package == *-22* ]] || continue
  find_candidate "$package" && continue
  LC_ALL=C apt-cache policy | grep -q "n=$codename-security" || add_security_source
  break
done
names=()
for package in "${missing[@]%% *}"; do
  if find_candidate "$package"; then
    names+=("$found")
  elif [[ $package == *-22* ]]; then
    die "no candidate for $package, although $codename-security is among the sources"
  else
    say "$package is not in this machine's archive: what needs it is left out or skipped"
  fi
done
leave_out_conflicts
if [ ${#names[@]} -gt 0 ]; then
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-remove --no-install-recommends \
    -o Dpkg::Use-Pty=0 "${names[@]}"
fi
say "done"
