import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { doubledOf } from '../oracle.ts';
import { asTable } from '../table.ts';
import { type HostEventRecord, runHostCampaign } from './campaign.ts';
import { hostEvents } from './plan.ts';
import { servers } from './site.ts';

const usage = `npm run test:faults:hosts -- [options]
  --events N   events (300)
  --seed N     decides the events (1)
  --agents N   agents that call at the same time (200)
  --json       prints the report as JSON
Interrupted, it ends after the present event, and reports what it has seen.
`;

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    agents: { type: 'string', default: '200' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const [events, seed, agents] = [values.events, values.seed, values.agents].map(Number) as [
  number,
  number,
  number,
];
if (values.help || ![events, seed, agents].every(Number.isInteger) || events < 1 || agents < 1) {
  process.stdout.write(usage);
  if (!values.help) process.exitCode = 2;
} else {
  const startedAt = performance.now();
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  let at = 0;
  const report = await runHostCampaign({
    events: [...hostEvents(seed, events)],
    agents,
    signal: interrupted.signal,
    onEvent: ({ kind, messagesMs, callsMs, faults }) => {
      const calls = servers.map((server) => `${server} ${shown(callsMs[server])}`).join(', ');
      const lines = faults.map((fault) => `  ${fault}\n`).join('');
      process.stderr.write(
        `${++at} of ${events}: ${kind}: messages ${shown(messagesMs)}, calls ${calls}\n${lines}`,
      );
    },
  });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const end = { seed, seconds, load: loadavg()[2]! };
  if (values.json) process.stdout.write(`${JSON.stringify({ ...report, ...end }, undefined, 2)}\n`);
  else {
    const { verdict, messages, falseDenials, faults, partitions } = report;
    const lost = [...messages.lost, ...verdict.silent, ...verdict.inventedResults, ...verdict.lostNotes];
    const doubled = [...messages.storedTwice, ...doubledOf(verdict)];
    const counts = asTable([
      ['', 'count'],
      ['events', report.events.length],
      ['messages with a receipt', messages.sent],
      ['calls', verdict.calls],
      ['  results', verdict.results],
      ...Object.entries(verdict.typed).map(([code, n]) => [`  ${code}`, n]),
      ['lost', lost.length],
      ['doubled', doubled.length],
      ['reported as not run although it ran', verdict.misreported.length],
      ['false denials', falseDenials.length],
      ['broken promises', faults.length],
    ]);
    const how = partitions
      ? 'with network namespaces'
      : 'without network namespaces: hosts were stopped instead';
    const text = [
      eventTable(report.events),
      counts,
      ...faults,
      ...(faults.length > 0 ? [`logs: ${report.directory}`] : []),
    ];
    process.stdout.write(
      `${text.join('\n\n')}\n\n${how}; seed ${seed}, ${seconds} s, load average ${end.load.toFixed(1)}\n`,
    );
  }
  if (report.faults.length > 0) process.exitCode = 1;
}

function eventTable(records: readonly HostEventRecord[]): string {
  const worst = (times: readonly (number | undefined)[]): string =>
    shown(Math.max(...times.map((ms) => ms ?? Number.NaN)));
  const rows = [...Map.groupBy(records, ({ kind }) => kind)]
    .sort()
    .map(([kind, all]) => [
      kind,
      all.length,
      worst(all.map(({ messagesMs }) => messagesMs)),
      ...servers.map((server) => worst(all.map(({ callsMs }) => callsMs[server]))),
    ]);
  return asTable([
    ['event', 'events', 'messages: worst (ms)', ...servers.map((server) => `${server}: worst (ms)`)],
    ...rows,
  ]);
}

function shown(ms: number | undefined): string {
  return ms === undefined || Number.isNaN(ms) ? '-' : String(Math.round(ms));
}
