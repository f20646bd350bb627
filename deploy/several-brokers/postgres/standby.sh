#!/bin/sh
# Starts a standby: with a copy of the primary's data at first, and with its own data from then on.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  pg_basebackup -D "$PGDATA" -d "$PRIMARY" -R -c fast
fi
exec "$@"
