import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { runMonth } from './month.ts';
import { doubledOf, lostOf } from './oracle.ts';
import { runSoak, type SoakReport } from './soak.ts';
import {
  type DaySample,
  judgeMonth,
  judgeSoak,
  type SoakJudgement,
  type SoakSample,
} from './soak-verdict.ts';
import { asTable } from './table.ts';
import { runUpSoak } from './up-soak.ts';

const usage = `npm run test:soak -- [options]
  --minutes N   how long (10)
  --rate N      calls per second and worker (6: 10,800 calls in 10 minutes)
  --crashes N   how often the MCP server is killed (20 per minute); with --up, one of its processes or a server (once a
                minute)
  --seed N      decides who is killed when (1)
  --up          loads a real signalbox up, kills its children, and steps their wall clocks
or
  --days N      lets N days pass in one process whose clocks are moved (31 days take five minutes)
`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '6' },
    crashes: { type: 'string' },
    seed: { type: 'string', default: '1' },
    days: { type: 'string' },
    up: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const [minutes, rate, seed] = [values.minutes, values.rate, values.seed].map(Number) as [
  number,
  number,
  number,
];
const serverCrashes = Number(values.crashes ?? Math.round(minutes * 20));

if (values.help) {
  process.stdout.write(usage);
} else if (!(minutes > 0 && rate > 0 && Number.isInteger(seed) && serverCrashes >= 0)) {
  process.stderr.write(
    `--minutes and --rate must be numbers above 0, --crashes 0 or more, --seed a whole number\n\n${usage}`,
  );
  process.exitCode = 2;
} else if (!existsSync('/proc/self/fd')) {
  process.stderr.write(
    'the soak reads memory and handles from /proc, which this system does not have: run it on Linux\n',
  );
  process.exitCode = 2;
} else if (values.days === undefined) {
  await (values.up ? soakUp() : main());
} else if (Number.isInteger(Number(values.days)) && Number(values.days) >= 9) {
  await month(Number(values.days));
} else {
  process.stderr.write(`--days must be a whole number, 9 or more: less shows no level\n\n${usage}`);
  process.exitCode = 2;
}

async function soakUp(): Promise<void> {
  const seconds = minutes * 60;
  const report = await runUpSoak({
    seconds,
    restartSeconds: values.crashes === undefined ? Math.min(60, seconds / 6) : seconds / serverCrashes,
    sampleSeconds: Math.max(2, seconds / 30),
    rate,
    seed,
    onSample: ({ seconds: at, restarts }) => process.stderr.write(`${Math.round(at)} s, ${restarts} kills\n`),
  });
  const judgements = judgeSoak(report.samples, report.expectedProcesses);
  const isFlat = judgements.every(({ flat }) => flat);
  process.stdout.write(
    `${[sampleTable(report.samples), verdictTable(judgements), report.done].join('\n\n')}\n\n`,
  );
  process.stdout.write(`${isFlat ? 'flat' : 'not flat'}\n`);
  for (const wrong of report.wrong) process.stdout.write(`${wrong}\n`);
  if (!isFlat || report.wrong.length > 0) process.exitCode = 1;
}

async function month(days: number): Promise<void> {
  const began = performance.now();
  const report = await runMonth(days, ({ day }) =>
    process.stderr.write(`day ${day}, ${Math.round((performance.now() - began) / 1000)} s\n`),
  );
  const judgements = judgeMonth(report.days);
  const isFlat = judgements.every(({ flat }) => flat);
  process.stdout.write(`${[dayTable(report.days), verdictTable(judgements), report.done].join('\n\n')}\n\n`);
  process.stdout.write(`${isFlat ? 'flat' : 'not flat'}\n`);
  for (const wrong of report.wrong) process.stdout.write(`${wrong}\n`);
  if (!isFlat || report.wrong.length > 0) process.exitCode = 1;
}

function dayTable(days: readonly DaySample[]): string {
  const rows = days.map(
    ({ day, heapMiB, rssMiB, handles, processes, tokens, dead, dataMiB, auditMiB, journalMiB }) => [
      ...[day, heapMiB.toFixed(1), Math.round(rssMiB), handles, processes, tokens, dead],
      ...[dataMiB, auditMiB, journalMiB].map((size) => size.toFixed(2)),
    ],
  );
  const head = ['day', 'heap (MiB)', 'memory (MiB)', 'handles', 'processes', 'tokens', 'dead letters'];
  return asTable([[...head, 'files (MiB)', 'audit log (MiB)', 'journal (MiB)'], ...rows]);
}

function verdictTable(judgements: readonly SoakJudgement[]): string {
  return asTable([
    ['', 'after warm-up', 'at the end', 'allowed', 'verdict'],
    ...judgements.map(({ what, early, late, limit, flat }) => [
      what,
      Math.round(early),
      Math.round(late),
      limit,
      flat ? 'flat' : 'NOT FLAT',
    ]),
  ]);
}

async function main(): Promise<void> {
  const seconds = minutes * 60;
  const report = await runSoak({
    seconds,
    restartSeconds: Math.min(60, seconds / 5),
    serverCrashes,
    sampleSeconds: Math.max(2, seconds / 30),
    rate,
    seed,
    onSample: ({ seconds: at, restarts }) =>
      process.stderr.write(`${Math.round(at)} s, ${restarts} restarts\n`),
  });
  const judgements = judgeSoak(report.samples, report.expectedProcesses);
  const lost = lostOf(report.verdict).length;
  const doubled = doubledOf(report.verdict).length;
  const isFlat = judgements.every(({ flat }) => flat);
  const isRight = lost + doubled + report.crashes.length === 0;
  process.stdout.write(
    `${[sampleTable(report.samples), verdictTable(judgements), outcomes(report)].join('\n\n')}\n\n`,
  );
  process.stdout.write(`${isFlat && isRight ? 'flat' : 'not flat'}: lost ${lost}, doubled ${doubled}\n`);
  for (const crash of report.crashes) process.stdout.write(`${crash}\n`);
  if (!isFlat || !isRight) process.exitCode = 1;
}

function sampleTable(samples: readonly SoakSample[]): string {
  const head = [
    'seconds',
    'done',
    'restarts',
    'processes',
    'memory (MiB)',
    'handles',
    'database (MiB)',
    'journal (MiB)',
  ];
  const rows = samples.map((sample) => [
    Math.round(sample.seconds),
    sample.done,
    sample.restarts,
    sample.processes,
    Math.round(sample.rssMiB),
    sample.handles,
    sample.databaseMiB.toFixed(2),
    sample.journalMiB.toFixed(2),
  ]);
  return asTable([head, ...rows]);
}

function outcomes({ verdict, serverCrashes: killed }: SoakReport): string {
  const typed = Object.entries(verdict.typed).map(([code, n]) => `${code} ${n}`);
  return `calls ${verdict.calls}, results ${verdict.results}, typed outcomes: ${typed.join(', ') || 'none'}; notes ${verdict.notes}; the MCP server was killed ${killed} times`;
}
