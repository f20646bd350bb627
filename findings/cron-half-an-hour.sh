#!/usr/bin/env bash
# Clocks of Lord Howe Island (Australia) change by half an hour. There cron-parser 5.10.6 loses a run of */20 at each change, and the
# daily run at 2:15 on the day that has no 2:00 to 2:30; where the change is an hour, it moves such a run. croner 11.0.1 has all these runs.
#
# Seen on Linux with Node 24:
#   */20 * * * *, croner: 2026-04-04T14:40Z 2026-04-04T15:10Z 2026-04-04T15:30Z
#   */20 * * * *, cron-parser: 2026-04-04T14:40Z 2026-04-04T15:30Z 2026-04-04T15:50Z
#   */20 * * * *, croner: 2026-10-03T15:10Z 2026-10-03T15:40Z 2026-10-03T16:00Z
#   */20 * * * *, cron-parser: 2026-10-03T15:10Z 2026-10-03T16:00Z 2026-10-03T16:20Z
#   15 2 * * *, croner: 2026-10-02T15:45Z 2026-10-03T15:30Z 2026-10-04T15:15Z
#   15 2 * * *, cron-parser: 2026-10-02T15:45Z 2026-10-04T15:15Z 2026-10-05T15:15Z
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund croner@11.0.1 cron-parser@5.10.6 > /dev/null
cat > try.mjs <<'JS'
import { Cron } from 'croner';
import { CronExpressionParser } from 'cron-parser';
const timezone = 'Australia/Lord_Howe';
for (const [pattern, from] of [
  ['*/20 * * * *', '2026-04-04T14:35Z'], ['*/20 * * * *', '2026-10-03T15:05Z'], ['15 2 * * *', '2026-10-02T00:00Z'],
]) {
  const parsed = CronExpressionParser.parse(pattern, { tz: timezone, currentDate: new Date(from) });
  const runs = {
    croner: new Cron(pattern, { timezone, paused: true }).nextRuns(3, new Date(from)),
    'cron-parser': Array.from({ length: 3 }, () => parsed.next().toDate()),
  };
  for (const [name, dates] of Object.entries(runs))
    console.log(`${pattern}, ${name}: ${dates.map((date) => date.toISOString().replace(':00.000', '')).join(' ')}`);
}
JS
node try.mjs | tee seen
diff - seen <<'TXT'
*/20 * * * *, croner: 2026-04-04T14:40Z 2026-04-04T15:10Z 2026-04-04T15:30Z
*/20 * * * *, cron-parser: 2026-04-04T14:40Z 2026-04-04T15:30Z 2026-04-04T15:50Z
*/20 * * * *, croner: 2026-10-03T15:10Z 2026-10-03T15:40Z 2026-10-03T16:00Z
*/20 * * * *, cron-parser: 2026-10-03T15:10Z 2026-10-03T16:00Z 2026-10-03T16:20Z
15 2 * * *, croner: 2026-10-02T15:45Z 2026-10-03T15:30Z 2026-10-04T15:15Z
15 2 * * *, cron-parser: 2026-10-02T15:45Z 2026-10-04T15:15Z 2026-10-05T15:15Z
TXT
