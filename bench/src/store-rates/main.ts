import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { compileBefore } from '../before.ts';
import { runProgram } from '../external-program.ts';
import { startPostgresServer } from '../peers/postgres-server.ts';
import { underCircumstances } from '../report/benchmarks.ts';
import { table } from '../report/table.ts';
import { median } from '../statistics.ts';
import { workloads } from '../workloads.ts';
import {
  type Contestant,
  type ContestantKind,
  openContestant,
  type StoreRun,
  thisRoot,
} from './contestants.ts';

const help = `npm run bench:stores -- [options]
  --only LIST       sqlite, store, store-before, queue, keeping (all of them)
  --workloads LIST  (enqueue/64/300B,request/64/300B,request/1/300B)
  --rounds N        rounds, each through everybody in turn; medians are told (5)
  --seconds S       length of one run (2)
  --before DIR      another checkout of this repository with its own dependencies, whose store takes part as store-before
  --json FILE       write every figure as JSON
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'sqlite,store,store-before,queue,keeping' },
    workloads: { type: 'string', default: 'enqueue/64/300B,request/64/300B,request/1/300B' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    before: { type: 'string' },
    json: { type: 'string' },
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
  const runs = new Map<string, StoreRun[]>();
  const section = await underCircumstances({ rounds, seconds }, async () => {
    for (let round = 1; round <= rounds; round++)
      for (const workload of chosen)
        for (const contestant of round % 2 === 0 ? contestants.toReversed() : contestants) {
          const run = await contestant.run(workload, seconds);
          const key = `${workload.name} ${contestant.name}`;
          runs.set(key, [...(runs.get(key) ?? []), run]);
          await runProgram({ command: 'sync', args: [] });
          process.stderr.write(
            `round ${round}: ${key} ${run.perSecond.toFixed(0)}/s, p50 ${run.p50Ms.toFixed(2)} ms\n`,
          );
        }
    return { version, runs: Object.fromEntries(runs) };
  });
  const rows = [...runs].map(([key, all]) => {
    const middle = (pick: (run: StoreRun) => number) => median(all.map(pick));
    return [
      ...key.split(' '),
      middle((run) => run.perSecond).toFixed(0),
      middle((run) => run.p50Ms).toFixed(2),
      middle((run) => run.clientMicros).toFixed(1),
      middle((run) => run.serverMicros).toFixed(1),
    ];
  });
  const head = ['workload', 'store', 'per s', 'p50 ms', 'client µs', 'PostgreSQL µs'];
  process.stdout.write(
    `${version}, load ${section.load.before.toFixed(1)} to ${section.load.after.toFixed(1)}\n`,
  );
  process.stdout.write(`${table(head, rows, 2)}\n`);
  if (values.json) await writeFile(values.json, `${JSON.stringify(section, undefined, 2)}\n`);
}
