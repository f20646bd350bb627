#!/usr/bin/env bash
# Runs all findings one after the other, or those named: findings/run.sh cron-gap-until-midnight. Prints for each whether it holds, and what
# it printed if not; fails if one has changed.
set -uo pipefail
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- $(ls *.sh | sed '/^run\.sh$/d; s/\.sh$//')
changed=
for name in "$@"; do
  if told=$(bash "$name.sh" 2>&1); then
    echo "holds    $name"
  else
    echo "changed  $name"
    sed 's/^/  /' <<< "$told"
    changed+=" $name"
  fi
done
[ -z "$changed" ] || { echo "changed:$changed" >&2; exit 1; }
