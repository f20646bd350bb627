#!/usr/bin/env bash
# croner 11.0.1 moves a run at a fixed time that falls into the gap of a clock set forward to the end of the gap, but loses it where the gap
# ends at midnight: then the end lies on the next day. America/Scoresbysund goes from 23:00 to 00:00 each spring, so "30 23 * * *" has no
# run for that day, while "30 2 * * *" in Europe/Oslo has its run at 03:00.
#
# Seen on Linux with Node 24:
#   Europe/Oslo 30 2 * * *: 2026-03-28T01:30Z 2026-03-29T01:00Z 2026-03-30T00:30Z
#   America/Scoresbysund 30 23 * * *: 2026-03-28T01:30Z 2026-03-30T00:30Z
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund croner@11.0.1 > /dev/null
cat > try.mjs <<'JS'
import { Cron } from 'croner';
for (const [timezone, pattern] of [['Europe/Oslo', '30 2 * * *'], ['America/Scoresbysund', '30 23 * * *']]) {
  const cron = new Cron(pattern, { timezone, paused: true });
  const until = new Date('2026-03-30T12:00Z');
  const runs = [];
  for (let run = cron.nextRun(new Date('2026-03-27T12:00Z')); run < until; run = cron.nextRun(run)) runs.push(run);
  const texts = runs.slice(-3).map((run) => run.toISOString().replace(':00.000', ''));
  console.log(`${timezone} ${pattern}: ${texts.filter((text) => text >= '2026-03-28').join(' ')}`);
}
JS
node try.mjs | tee seen
diff - seen <<'TXT'
Europe/Oslo 30 2 * * *: 2026-03-28T01:30Z 2026-03-29T01:00Z 2026-03-30T00:30Z
America/Scoresbysund 30 23 * * *: 2026-03-28T01:30Z 2026-03-30T00:30Z
TXT
