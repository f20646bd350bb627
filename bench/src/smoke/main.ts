import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { describeMachine } from '../report/benchmarks.ts';
import { openParts, type SmokeRound } from './parts.ts';
import { faultsOf, operations, ratiosOf, type SmokeRecord } from './verdict.ts';

const help = `npm run bench:smoke -- [--record]
Tells in less than a minute whether the durable path has become slower. Requests and enqueues (64 in flight, 300 B, fsynced)
through a real broker are measured in turn with their bare parts: a frame to a WebSocket server and back, a row into
SQLite and out. What is compared is the CPU time of the parts as a ratio of the CPU time of all our processes, because other work
on the machine disturbs both alike. Exit code 1 if a ratio is more than 25 % below the one in bench/smoke.json.

  --record   write the ratios to bench/smoke.json, when a change of cost is meant; commit it with that change
`;
const recordFile = new URL('../../smoke.json', import.meta.url);
/** The first ones compile. */
const warmUpRounds = 6;
const rounds = 20;

const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopped.abort());

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (thrown) {
  if (!stopped.signal.aborted) throw thrown;
  process.exitCode = 130;
}

/** Resolves with the exit code. */
async function main(args: string[]): Promise<number> {
  const options = optionsOf(args);
  if (typeof options === 'number') return options;
  const record = options.record ? undefined : await recorded();
  if (!options.record && !record) {
    process.stderr.write(
      'bench/smoke.json is missing, so there is nothing to compare with.\nOn a state whose speed is as it should be: npm run bench:smoke -- --record\n',
    );
    return 1;
  }
  const measured = await measure();
  const found = ratiosOf(measured);
  const byClock = ratiosOf(measured, 'wallUs');
  for (const operation of operations) {
    const then = record ? `, recorded ${record.ratios[operation].toFixed(3)}` : '';
    process.stdout.write(
      `${operation}: ratio ${found[operation].toFixed(3)}${then} (by the clock ${byClock[operation].toFixed(3)}, which is not judged)\n`,
    );
  }
  if (!record) {
    await writeRecord(found);
    return 0;
  }
  const faults = faultsOf(found, record);
  if (faults.length === 0) return 0;
  process.stderr.write(`The durable path costs more than it did.
${faults.map((fault) => `  ${fault}`).join('\n')}
Run it again to be sure. What has changed, and where: npm run bench -- --before DIR, with DIR a checkout of the last good commit.
If the cost is meant: npm run bench:smoke -- --record
`);
  return 1;
}

function optionsOf(args: string[]): { record: boolean } | number {
  try {
    const { values } = parseArgs({
      args,
      options: {
        record: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (!values.help) return values;
    process.stdout.write(help);
    return 0;
  } catch (thrown) {
    process.stderr.write(`${(thrown as Error).message}\n${help}`);
    return 64;
  }
}

async function measure(): Promise<SmokeRound[]> {
  await using parts = await openParts();
  const measured: SmokeRound[] = [];
  for (let round = 1 - warmUpRounds; round <= rounds; round++) {
    stopped.signal.throwIfAborted();
    const figures = await parts.round();
    if (round > 0) measured.push(figures);
  }
  return measured;
}

async function recorded(): Promise<SmokeRecord | undefined> {
  try {
    return JSON.parse(await readFile(recordFile, 'utf8')) as SmokeRecord;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}

async function writeRecord({ request, enqueue }: SmokeRecord['ratios']): Promise<void> {
  const record: SmokeRecord = {
    date: new Date().toISOString().slice(0, 10),
    machine: describeMachine(),
    ratios: { request: Number(request.toFixed(3)), enqueue: Number(enqueue.toFixed(3)) },
  };
  await writeFile(recordFile, `${JSON.stringify(record, null, 2)}\n`);
}
