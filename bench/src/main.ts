import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { callSeries } from './call-series.ts';
import { type Measurement, measure, medianOf } from './measure.ts';
import { messageSeries } from './message-series.ts';
import { asMarkdown, describeMachine, type Report } from './report.ts';
import { writeDocument } from './write-document.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    json: { type: 'string' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

if (values.help) {
  process.stdout.write(`npm run bench -- [options]
  --rounds N    rounds, each through every series in turn; medians are told (5)
  --seconds S   length of one run (2)
  --json FILE   write every figure as JSON
  --write       write docs/benchmarks.md
`);
} else {
  await main();
}

async function main(): Promise<void> {
  const rounds = Number(values.rounds);
  const seconds = Number(values.seconds);
  await using full = await messageSeries('full');
  await using unsynced = await messageSeries('process');
  await using calls = await callSeries();
  const series = [...full.series, ...unsynced.series, ...calls.series];
  const runs = new Map<string, Measurement[]>(series.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    process.stderr.write(`round ${round} of ${rounds}\n`);
    for (const { name, inFlight, operation } of series) {
      runs.get(name)!.push(await measure(operation, { inFlight, seconds }));
    }
  }
  const report: Report = {
    date: new Date().toISOString().slice(0, 10),
    machine: describeMachine(),
    node: process.version,
    rounds,
    secondsPerRun: seconds,
    rows: [...runs].map(([name, measured]) => ({ name, ...medianOf(measured), rounds: measured })),
  };
  process.stdout.write(`${asMarkdown(report)}\n`);
  if (values.json) await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`);
  if (values.write) await writeDocument(report);
}
