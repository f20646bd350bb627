import { access, constants, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '@signalbox/protocol';
import { commitOf } from '../before.ts';
import { UsageError } from '../options.ts';
import type { GateOperation } from './gate-operations.ts';
import { type GateOptions, gateHelp, parseGateOptions } from './gate-options.ts';
import { commitNamed, currentCommand, keptCommand } from './kept-bundle.ts';
import { runPairs, type Stacks } from './run-pairs.ts';
import { openStack, type Stack } from './stack.ts';
import { compare, type Pair, tableOf } from './verdict.ts';

const baseFile = new URL('../../gate.json', import.meta.url);
const thisCheckout = new URL('../../../', import.meta.url);
/** Both sides are started so often, each time for a part of the pairs: two processes of the same program differ by some per cent. */
const starts = 4;

const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopped.abort());
const tell = (line: string): void => void process.stderr.write(`${line}\n`);

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (thrown) {
  if (stopped.signal.aborted) {
    process.exitCode = 130;
  } else if (thrown instanceof UsageError) {
    tell(`${thrown.message}\nnpm run bench:smoke -- --help tells more`);
    process.exitCode = 64;
  } else {
    tell(`the two could not be compared: ${thrown instanceof Error ? thrown.stack : thrown}`);
    process.exitCode = 2;
  }
}

/** Resolves with the exit code. */
async function main(args: string[]): Promise<number> {
  const options = parseGateOptions(args);
  if (!options) {
    process.stdout.write(gateHelp);
    return 0;
  }
  if (process.platform !== 'linux') {
    throw new UsageError('bench:smoke needs Linux, which tells the processor time of each thread');
  }
  return await runGate(options);
}

async function runGate({ base: named, operations, pairs, json }: GateOptions): Promise<number> {
  if (json !== undefined) {
    await access(dirname(json), constants.W_OK).catch((cause) => {
      throw new UsageError(`--json: ${json} cannot be written: ${messageOf(cause)}`, { cause });
    });
  }
  const commit = await (named === undefined ? recordedBase() : commitNamed(named, '--base'));
  const state = await commitOf(thisCheckout);
  const building = { signal: stopped.signal, tell };
  const base = await keptCommand(commit, building);
  await using current = await currentCommand(building);
  const commands = { base, current: current.command };
  const measured = new Map<GateOperation, Pair[]>(operations.map((operation) => [operation, []]));
  const onPair = (operation: GateOperation, pair: Pair): void => {
    const number = measured.get(operation)!.push(pair);
    tell(`${operation} ${number} of ${pairs}: ${pair.baseUs.toFixed(1)} µs, ${pair.newUs.toFixed(1)} µs`);
  };
  for (let start = 0; start < starts; start++) {
    const share = Math.floor((pairs * (start + 1)) / starts) - Math.floor((pairs * start) / starts);
    await using stacks = await openStacks(commands);
    await runPairs(stacks, { operations, pairs: share, signal: stopped.signal }, onPair);
  }
  const comparisons = [...measured].map(([operation, all]) => compare(operation, all));
  process.stdout.write(`base ${commit.slice(0, 8)}, new ${state}, ${pairs} pairs
${tableOf(comparisons)}
`);
  if (json !== undefined) {
    const report = { base: commit, new: state, comparisons, pairs: Object.fromEntries(measured) };
    await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  }
  return comparisons.some(({ isSlower }) => isSlower) ? 1 : 0;
}

/** Starts both stacks, one after the other. One that is being started is waited for, so that it can be ended. */
async function openStacks(commands: Record<keyof Stacks, string>): Promise<Stacks & AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const open = async (command: string): Promise<Stack> => {
    stopped.signal.throwIfAborted();
    return opened.use(await openStack(command, { detached: true }));
  };
  const stacks = { base: await open(commands.base), current: await open(commands.current) };
  const resources = opened.move();
  return { ...stacks, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

async function recordedBase(): Promise<string> {
  const { base } = JSON.parse(await readFile(baseFile, 'utf8')) as { base: string };
  return commitNamed(base, fileURLToPath(baseFile));
}
