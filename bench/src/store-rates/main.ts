import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { compileBefore } from '../before.ts';
import { runProgram } from '../external-program.ts';
import { startPostgresServer } from '../peers/postgres-server.ts';
import { underCircumstances } from '../report/benchmarks.ts';
import { storesTable } from '../report/postgres-sections.ts';
import { asJson, keep } from '../report/record.ts';
import { median } from '../statistics.ts';
import { type Workload, workloads } from '../workloads.ts';
import { type Contestant, type ContestantKind, openContestant, thisRoot } from './contestants.ts';
import type { StoreRun, StoresReport } from './stores-report.ts';

const help = `npm run bench:stores -- [options]
  --only LIST       sqlite, store, store-before, queue, keeping (all of them)
  --workloads LIST  (enqueue/64/300B,request/64/300B,request/1/300B)
  --rounds N        rounds, each through everybody in turn; medians are told (5)
  --seconds S       length of one run (2)
  --before DIR      another checkout of this repository with its own dependencies, whose store takes part as store-before
  --json FILE       write every figure as JSON
  --write           replace this section in docs/benchmarks.json and docs/benchmarks.md
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'sqlite,store,store-before,queue,keeping' },
    workloads: { type: 'string', default: 'enqueue/64/300B,request/64/300B,request/1/300B' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    before: { type: 'string' },
    json: { type: 'string' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) process.stdout.write(help);
else await compare();

async function compare(): Promise<void> {
  const rounds = Number(values.rounds);
  const seconds = Number(values.seconds);
  const before = values.before === undefined ? undefined : pathToFileURL(`${resolve(values.before)}/`);
  if (before) await compileBefore(before);
  const chosen = workloads.filter(({ name }) => values.workloads.split(',').includes(name));
  await using opened = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'signalbox-stores-'));
  opened.defer(() => rm(dir, { recursive: true, force: true }));
  const { facts, version } = opened.use(await startPostgresServer(dir));
  const contestants: Contestant[] = [];
  for (const name of values.only.split(',')) {
    if (name === 'store-before' && !before) continue;
    const root = name === 'store-before' ? before! : thisRoot;
    const kind = (name === 'store-before' ? 'store' : name) as ContestantKind;
    const files = await mkdtemp(join(tmpdir(), 'signalbox-stores-'));
    opened.defer(() => rm(files, { recursive: true, force: true }));
    const place = { dir: files, url: facts.url, root, dataDir: join(dir, 'data') };
    contestants.push(opened.use(await openContestant(name, kind, place)));
  }
  const runs = new Map<string, { workload: Workload; contestant: Contestant; runs: StoreRun[] }>();
  for (const workload of chosen)
    for (const contestant of contestants)
      runs.set(`${workload.name} ${contestant.name}`, { workload, contestant, runs: [] });
  const section = await underCircumstances({ rounds, seconds }, async (): Promise<StoresReport> => {
    for (let round = 1; round <= rounds; round++)
      for (const [key, one] of round % 2 === 0 ? [...runs].toReversed() : runs) {
        const run = await one.contestant.run(one.workload, seconds);
        one.runs.push(run);
        await runProgram({ command: 'sync', args: [] });
        process.stderr.write(
          `round ${round}: ${key} ${run.perSecond.toFixed(0)}/s, p50 ${run.p50Ms.toFixed(2)} ms\n`,
        );
      }
    const ratioOf = (workload: Workload, round: number, run: StoreRun): number =>
      run.perSecond / (runs.get(`${workload.name} store`)?.runs[round]?.perSecond ?? Number.NaN);
    const rows = [...runs.values()].map(({ workload, contestant: { title }, runs: all }) => ({
      workload: workload.name,
      title,
      runs: all,
      ratio: median(all.map((run, round) => ratioOf(workload, round, run))),
    }));
    return { postgres: version, rows };
  });
  process.stdout.write(
    `${version}, load ${section.load.before.toFixed(1)} to ${section.load.after.toFixed(1)}\n`,
  );
  process.stdout.write(`${storesTable(section)}\n`);
  if (values.json) await writeFile(values.json, `${asJson(section)}\n`);
  if (values.write) await keep({ stores: section });
}
