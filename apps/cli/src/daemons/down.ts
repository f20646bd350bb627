import { resolve } from 'node:path';
import type { BrokerFacts } from '@signalbox/broker/files';
import { builtInConfig, findConfig } from '@signalbox/daemon/config/internal';
import {
  brokerKeeper,
  dataDirectory,
  runningBroker,
  runningDirectories,
} from '@signalbox/daemon/data-directory';
import { allProcesses, endsWithin, type ListedProcess, startOfProcess } from '@signalbox/mcp-host/internal';
import { SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { isSameFile, loadBrokerPlace, othersConfig } from '../config/load-found.ts';
import { stopTimeoutMs } from '../process/exit-deadline.ts';
import { printJson, printLines, printNotes } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';

/** The options of `signalbox down`. */
export interface DownFlags {
  config?: string;
  data?: string;
  json?: boolean;
}

/** The longest time for an orderly end: `up` itself gives up a little earlier. */
const longestEndMs = 60_000;

/** Ends the `signalbox up` of a data directory, and resolves when all its processes have ended. */
export async function down(flags: DownFlags): Promise<void> {
  const { dataDir, file } = await placeOf(flags);
  const all = await allProcesses();
  const facts = runningBroker(dataDir);
  const other = flags.data === undefined ? othersConfig(dataDir, file) : undefined;
  if (other !== undefined) throw othersSystem(dataDir, other, file);
  const children = all.filter((one) => one.pid === facts?.pid || isChildOf(one, dataDir));
  if (children.length === 0 && flags.data === undefined) refuseElsewhere(dataDir, file);
  const up = all.find((one) => isUp(one) && children.some(({ parent }) => parent === one.pid));
  if (!up && facts && !isOrphan(facts, all)) {
    throw new SignalboxError('not_up', `the broker on ${dataDir} was not started by signalbox up`, {
      details: { hint: `end its process yourself: kill ${brokerKeeper(dataDir) ?? facts.pid}` },
    });
  }
  // The orchestrator ends its MCP servers before it ends, but for what they may leave behind.
  const ending = up ? [up, ...all.filter(({ parent }) => parent === up.pid)] : facts ? children : [];
  if (up) requestEnd(up.pid);
  const stuck = await stillRunning(ending, up ? longestEndMs : stopTimeoutMs);
  if (stuck.length > 0) {
    const pids = stuck.map(({ pid }) => pid).join(' ');
    throw new SignalboxError('not_stopped', `of signalbox up on ${dataDir} there still run: ${pids}`, {
      retryable: true,
      details: { hint: `if they do not end: kill -9 ${pids}` },
    });
  }
  if (flags.json) return printJson({ data: dataDir, ended: ending.map(({ pid }) => pid) });
  printLines(endText(dataDir, up, ending));
}

function endText(dataDir: string, up: ListedProcess | undefined, ended: readonly ListedProcess[]): string {
  if (ended.length === 0) return `nothing runs on ${dataDir}`;
  if (!up) return `signalbox up on ${dataDir} had been killed; what it left has ended now`;
  return `ended signalbox up on ${dataDir}: process ${up.pid} with ${partsOf(ended)}`;
}

/** Finds the data directory, and the configuration that says where it is, if there is one. */
async function placeOf({ config: named, data }: DownFlags): Promise<{ dataDir: string; file?: string }> {
  if (data !== undefined) return { dataDir: dataDirectory(data, builtInConfig()) };
  const warn = (text: string): void => printNotes(`signalbox: ${text}`);
  const found = findConfig(named);
  const dataDir = dataDirectory(undefined, await loadBrokerPlace(found, { env: process.env, warn }));
  return { dataDir, ...(found && { file: found.file }) };
}

function othersSystem(dataDir: string, runs: string, file: string | undefined): SignalboxError {
  const here = file === undefined ? 'and there is no signalbox.yaml here' : `not ${resolve(file)}`;
  return new SignalboxError('other_config', `signalbox up on ${dataDir} runs ${runs}, ${here}`, {
    details: { hint: `to end it all the same: signalbox down --data ${dataDir}` },
  });
}

/** Refuses to say that nothing runs if `up` runs the configuration on other directories, which `--data` named. */
function refuseElsewhere(dataDir: string, file: string | undefined): void {
  const places = runningDirectories().filter((one) => {
    const { config, supervisor_pid: supervisor } = runningBroker(one) ?? {};
    return supervisor !== undefined && isSameFile(config, file);
  });
  if (places.length === 0) return;
  const commands = places.map((place) => shellWords('signalbox', 'down', '--data', place));
  throw new SignalboxError(
    'other_data',
    `nothing runs on ${dataDir}; signalbox up runs ${file} on ${places.join(' and ')}`,
    { details: { hint: `end it: ${commands.join('; ')}` } },
  );
}

/** Names the parts that ran as processes. */
function partsOf(ended: readonly ListedProcess[]): string {
  return parts.filter((part) => ended.some(({ words }) => words.includes(part))).join(', ');
}

const parts = ['broker', 'orchestrator', 'face', 'a2a'];

/** Returns true for the command line of a child that `up` starts for a data directory. */
function isChildOf({ words }: ListedProcess, dataDir: string): boolean {
  const isPart = parts.some((part) => words.includes(part));
  return isPart && `${words.join(' ')} `.includes(` --data ${dataDir} `);
}

function isUp({ words }: ListedProcess): boolean {
  return words.includes('up');
}

/** Returns true for a broker whose supervisor was killed: it ends by itself. */
function isOrphan(
  { pid, supervisor_pid: supervisor }: Partial<BrokerFacts>,
  all: readonly ListedProcess[],
): boolean {
  const broker = all.find((one) => one.pid === pid);
  return supervisor !== undefined && broker !== undefined && broker.parent !== supervisor;
}

function requestEnd(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (cause) {
    // It has ended by now.
    if (errnoOf(cause) === 'ESRCH') return;
    throw new SignalboxError('permission_denied', `process ${pid} belongs to another user`, {
      cause,
      details: { hint: 'run signalbox down as the user who started it' },
    });
  }
}

async function stillRunning(processes: readonly ListedProcess[], ms: number): Promise<ListedProcess[]> {
  const ends = await Promise.all(
    processes.map(async (one) => {
      const start = startOfProcess(one.pid);
      return start === undefined || (await endsWithin({ pid: one.pid, start }, ms));
    }),
  );
  return processes.filter((_, at) => !ends[at]);
}
