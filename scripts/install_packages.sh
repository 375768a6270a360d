#!/usr/bin/env bash
# Installs what is missing of the named groups of scripts/packages.txt.
#
#   scripts/install_packages.sh GROUP...
#
# On a machine that has everything this asks dpkg once and touches nothing else.
# TOPOS_PACKAGES=skip leaves packages alone: for systems without apt, where they
# are installed by hand.
set -euo pipefail

list=$(dirname "$0")/packages.txt

if [[ ${TOPOS_PACKAGES:-} == skip ]]; then
  exit 0
fi

wanted=$(awk -v groups=" $* " '
  /^[^#]/ && index(groups, " " $1 " ") { print $2 }' "$list" | sort -u)
if [[ -z $wanted ]]; then
  echo "$0: no such group in $list: $*" >&2
  exit 1
fi

# Says what to do by hand, and stops.
give_up() {
  {
    echo "topos: $1"
    echo "Install these packages (their names on Debian 12) and try again:"
    echo "  ${missing//$'\n'/ }"
    echo "TOPOS_PACKAGES=skip goes on without looking at packages."
  } >&2
  exit 1
}

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
  missing=$wanted
  give_up "this is not a Debian system, so nothing was installed."
fi

# A package of another architecture is named with it, one of this machine's
# without. dpkg-query fails when it does not know one of the names: that is an
# answer.
# shellcheck disable=SC2086  # one word a package
installed=$(dpkg-query --show \
              --showformat '${db:Status-Status} ${Package}:${Architecture}\n' \
              $wanted 2> /dev/null | sed -n 's/^installed //p' |
              sed "s/:\($(dpkg --print-architecture)\|all\)\$//" | sort -u ||
              true)
missing=$(comm -23 <(echo "$wanted") <(echo "$installed"))
if [[ -z $missing ]]; then
  exit 0
fi

as_root=(env)
if [[ $(id -u) != 0 ]]; then
  if ! command -v sudo > /dev/null; then
    give_up "installing packages needs root, and there is no sudo."
  fi
  as_root=(sudo env)
fi
# Another apt may be at work, as on a machine that has just started: wait.
apt=("${as_root[@]}" DEBIAN_FRONTEND=noninteractive
     apt-get --quiet --option DPkg::Lock::Timeout=300)

echo "topos: installing ${missing//$'\n'/ }"
for architecture in $(sed -n 's/.*://p' <<< "$missing" | sort -u); do
  "${as_root[@]}" dpkg --add-architecture "$architecture"
done
# Without the lists of today apt may look for a version that is gone; but lists
# that cannot be fetched may still be good enough.
"${apt[@]}" update || echo "topos: apt-get update failed; trying without" >&2
# shellcheck disable=SC2086
"${apt[@]}" install --yes --no-install-recommends $missing < /dev/null \
  || give_up "apt-get could not install them."
