import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { Peer } from './peers/peer.ts';
import type { Workload } from './workloads.ts';

export type Other = (typeof otherNames)[number];

export interface Options {
  peers: Peer[];
  workloads: Workload[];
  /** Other measurements besides the workloads. */
  others: Other[];
  rounds: number;
  seconds: number;
  /** The root of another checkout to compare with. */
  before: URL | undefined;
  json: string | undefined;
  /** Measures also the sizes that take long to reach. */
  full: boolean;
  write: boolean;
  /** Names the change since `before`, which is recorded with its gain. */
  change: string | undefined;
  /** Only writes the page anew. */
  page: boolean;
}

/** Says what is wrong with the command line. */
export class UsageError extends Error {}

const otherNames = ['calls', 'asks', 'growth', 'fleet', 'postgres'] as const;
const defaultWorkloads = 'request/1/300B,request/64/300B,enqueue/64/300B,calls';

export function helpText(peers: readonly Peer[]): string {
  return `npm run bench -- [options]
  --peers LIST      ${peers.map(({ name }) => name).join(', ')};
                    the first word of a name stands for all of them, 'all' for everybody (full,process)
  --workloads LIST  operation/in flight/size: enqueue, consume or request; 1, 64, 8x8 or 50x8; 300B, 8KB or 256KB,
                    each of them or *; 'calls' for proxied MCP calls, 'growth' for how costs grow with what is stored (minutes),
                    'fleet' for shares beside a greedy worker and recovery from kill -9 (minutes), 'postgres' for brokers on
                    PostgreSQL beside one on SQLite and queues written by hand, 'all' for everything
                    (${defaultWorkloads})
  --rounds N        rounds, each through everybody in turn; medians are told (5)
  --seconds S       length of one run (1)
  --before DIR      compare with another checkout of this repository, which has its own dependencies: its broker and clients
                    take part as full-before and process-before, its orchestrator and worker as signalbox-before
  --full            growth also with a history of ten million messages
  --change TEXT     with --before: record what this change gained in docs/benchmarks.json
  --json FILE       write every figure of this run as JSON
  --write           replace what was measured, section by section (messages, calls, growth, fleet, postgres), in docs/benchmarks.json,
                    and write docs/benchmarks.md and docs/benchmarks.svg from it
  --page            write these two from docs/benchmarks.json, without measuring

Example: npm run bench -- --peers full,redis,nats --workloads 'request/*/300B' --rounds 5 --seconds 2
A peer whose server is not installed is left out, and the reason is told. On Debian:
  apt-get install --no-install-recommends redis-server nats-server rabbitmq-server postgresql
Other servers than Debian's: BENCH_NATS_SERVER and BENCH_RABBITMQ_SERVER name a program, BENCH_POSTGRES_BIN a directory.
`;
}

/** Throws {@link UsageError}; `undefined` if help is wanted. */
export function parseOptions(
  args: string[],
  known: { peersBeside: (before?: URL) => readonly Peer[]; workloads: readonly Workload[] },
): Options | undefined {
  const { values } = parse(args);
  if (values.help) return undefined;
  const before = values.before === undefined ? undefined : pathToFileURL(`${resolve(values.before)}/`);
  const words = listOf(values.workloads);
  const others = otherNames.filter((name) => words.includes(name) || words.includes('all'));
  const patterns = words.filter((word) => !otherNames.some((name) => name === word));
  const peers = chosen(listOf(values.peers), known.peersBeside(before), '--peers', inFamily);
  const workloads = chosen(patterns, known.workloads, '--workloads', fits);
  const hasCounterparts = workloads.length > 0 && peers.some(({ inOtherCheckout }) => inOtherCheckout);
  if (values.change !== undefined && !(before && (hasCounterparts || others.includes('calls')))) {
    throw new UsageError(
      '--change needs --before DIR, a checkout without the change, and peers (full, process) or calls to compare',
    );
  }
  return {
    peers,
    workloads,
    others,
    rounds: positive(values.rounds, '--rounds'),
    seconds: positive(values.seconds, '--seconds'),
    before,
    json: values.json,
    full: values.full,
    write: values.write,
    change: values.change,
    page: values.page,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        peers: { type: 'string', default: 'full,process' },
        workloads: { type: 'string', default: defaultWorkloads },
        rounds: { type: 'string', default: '5' },
        seconds: { type: 'string', default: '1' },
        before: { type: 'string' },
        json: { type: 'string' },
        full: { type: 'boolean', default: false },
        write: { type: 'boolean', default: false },
        change: { type: 'string' },
        page: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (thrown) {
    throw new UsageError((thrown as Error).message);
  }
}

function listOf(value: string): string[] {
  return value.split(',').filter((name) => name !== '');
}

function chosen<T extends { name: string }>(
  words: string[],
  known: readonly T[],
  option: string,
  isMeant: (word: string, name: string) => boolean,
): T[] {
  if (words.includes('all')) return [...known];
  for (const word of words) {
    if (known.some(({ name }) => isMeant(word, name))) continue;
    const names = known.map(({ name }) => name).join(', ');
    throw new UsageError(`${option}: nothing is called '${word}'; there are ${names}`);
  }
  return known.filter(({ name }) => words.some((word) => isMeant(word, name)));
}

function inFamily(word: string, name: string): boolean {
  return name === word || name.startsWith(`${word}-`);
}

/** `request/*` is short for `request/*` + `/*`. */
function fits(pattern: string, name: string): boolean {
  const wanted = pattern.split('/');
  return name.split('/').every((part, i) => [part, '*', undefined].includes(wanted[i]));
}

function positive(value: string, option: string): number {
  const number = Number(value);
  if (number > 0) return number;
  throw new UsageError(`${option} must be a number above 0, not '${value}'`);
}
