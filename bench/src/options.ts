import { parseArgs } from 'node:util';
import type { Peer } from './peers/peer.ts';
import type { Workload } from './workloads.ts';

export interface Options {
  peers: Peer[];
  workloads: Workload[];
  withCalls: boolean;
  rounds: number;
  seconds: number;
  json: string | undefined;
  write: boolean;
  /** A report to make the document of, instead of measuring. */
  from: string | undefined;
}

/** What is wrong with the command line. */
export class UsageError extends Error {}

const defaultWorkloads = 'request/1/300B,request/64/300B,enqueue/64/300B,calls';

export function helpText(peers: readonly Peer[]): string {
  return `npm run bench -- [options]
  --peers LIST      ${peers.map(({ name }) => name).join(', ')};
                    the first word of a name stands for all of them, 'all' for everybody (full,process)
  --workloads LIST  operation/in flight/size: enqueue, consume or request; 1, 64 or 50x8; 300B, 8KB or 256KB, each of
                    them or *; 'calls' for proxied MCP calls, 'all' for everything
                    (${defaultWorkloads})
  --rounds N        rounds, each through everybody in turn; medians are told (5)
  --seconds S       length of one run (1)
  --json FILE       write every figure as JSON
  --write           write docs/benchmarks.md and docs/benchmarks.svg
  --from FILE       write the document from such JSON, without measuring

Example: npm run bench -- --peers full,redis,nats --workloads 'request/*/300B' --rounds 5 --seconds 2
A peer whose server is not installed is left out, and the reason is told. On Debian:
  apt-get install --no-install-recommends redis-server nats-server rabbitmq-server postgresql
Other servers than Debian's: BENCH_NATS_SERVER and BENCH_RABBITMQ_SERVER name a program, BENCH_POSTGRES_BIN a directory.
`;
}

/** Throws {@link UsageError}; `undefined` if help is wanted. */
export function parseOptions(
  args: string[],
  known: { peers: readonly Peer[]; workloads: readonly Workload[] },
): Options | undefined {
  const { values } = parse(args);
  if (values.help) return undefined;
  const names = listOf(values.workloads);
  const patterns = names.filter((name) => name !== 'calls');
  return {
    peers: chosen(listOf(values.peers), known.peers, '--peers', inFamily),
    workloads: chosen(patterns, known.workloads, '--workloads', fits),
    withCalls: names.includes('calls') || names.includes('all'),
    rounds: positive(values.rounds, '--rounds'),
    seconds: positive(values.seconds, '--seconds'),
    json: values.json,
    write: values.write,
    from: values.from,
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
        json: { type: 'string' },
        write: { type: 'boolean', default: false },
        from: { type: 'string' },
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
