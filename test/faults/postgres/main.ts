import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { runPostgresCampaign } from './campaign.ts';
import { faultEvents } from './plan.ts';
import { postgresCampaignText } from './report.ts';

const usage = `npm run test:faults:postgres -- [options]
  --events N       events (200)
  --seed N         decides the events and the load (1)
  --lease MS       the lease of the brokers, in milliseconds (3000)
  --heartbeat MS   the longest time between two pings of a broker (1000)
  --at-defaults N  the last events, for which lease and heartbeat are the defaults (12)
  --workers N      workers that call at the same time (2)
  --mailboxes N    agents that send, each with one that reads (2)
  --json           prints the report as JSON
Interrupted, it ends after the present event, and reports what it has seen.
`;

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    lease: { type: 'string', default: '3000' },
    heartbeat: { type: 'string', default: '1000' },
    'at-defaults': { type: 'string', default: '12' },
    workers: { type: 'string', default: '2' },
    mailboxes: { type: 'string', default: '2' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const { json, help, ...texts } = values;
const numbers = Object.entries(texts).map(([name, text]) => ({ name, value: Number(text) }));
const wrong = numbers.find(
  ({ name, value }) =>
    !Number.isInteger(value) || (name !== 'seed' && value < (name === 'at-defaults' ? 0 : 1)),
);
if (help) {
  process.stdout.write(usage);
} else if (wrong) {
  process.stderr.write(`--${wrong.name} must be a whole number above 0\n\n${usage}`);
  process.exitCode = 2;
} else {
  const number = (name: keyof typeof texts): number => Number(texts[name]);
  const startedAt = performance.now();
  const mailboxes = number('mailboxes');
  const count = number('events');
  const plan = { seed: number('seed'), events: count, atDefaults: number('at-defaults'), mailboxes };
  // Interrupted, it reports what it has seen.
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const report = await runPostgresCampaign({
    signal: interrupted.signal,
    events: [...faultEvents(plan)],
    workers: number('workers'),
    mailboxes,
    times: { leaseMs: number('lease'), heartbeatMs: number('heartbeat') },
    onEvent: ({ number: at, kind, broker, recoveryMs, slowest, faults }) => {
      const outcome = recoveryMs === undefined ? 'not recovered' : `${Math.round(recoveryMs)} ms, ${slowest}`;
      process.stderr.write(
        `${at} of ${count}: ${kind} of ${broker}: ${outcome}\n${faults.map((fault) => `${fault}\n`).join('')}`,
      );
    },
  });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  // Recovery takes longer on a machine that has other things to do.
  const end = { seed: plan.seed, seconds, load: loadavg()[2]! };
  process.stdout.write(
    json
      ? `${JSON.stringify({ ...report, ...end }, undefined, 2)}\n`
      : `${postgresCampaignText(report)}\n\nseed ${end.seed}, ${end.seconds} s, load average ${end.load.toFixed(1)}\n`,
  );
  if (report.faults.length > 0) process.exitCode = 1;
}
