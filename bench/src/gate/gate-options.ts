import { parseArgs } from 'node:util';
import { UsageError } from '../options.ts';
import { type GateOperation, gateOperations } from './gate-operations.ts';
import { leastPairs, mostPairs, tolerated } from './verdict.ts';

export interface GateOptions {
  /** The commit to compare with, if it is not that of `bench/gate.json`. */
  base: string | undefined;
  pairs: number;
  operations: readonly GateOperation[];
  json: string | undefined;
}

/** This many pairs find a loss of 8 % even on a machine that has ten times as much to do as it has processors. */
const defaultPairs = 100;

export const gateHelp = `npm run bench:smoke -- [options]
Tells whether this checkout costs more processor time than the commit that bench/gate.json names. The bundles of both run side by side,
each as "signalbox up" with its own files, and do the same work in turn. What is compared is the processor time of all their processes
for one operation, without that of MCP servers and clients. Exit code 1 if the median ratio of an operation, new to base, is above
${tolerated} with a certainty of 95 %; 2 if the two could not be compared.

  --base COMMIT      compare with another commit
  --pairs N          pairs of each operation, ${leastPairs} to ${mostPairs} (${defaultPairs}); more of them find smaller losses
  --operations LIST  ${gateOperations.join(', ')} (all)
  --json FILE        write every figure as JSON

The bundle of a base is built once, from a checkout with its own dependencies, and kept in node_modules/.cache/gate. Both bundles load
better-sqlite3 and pg from this checkout, so a change of their versions is not seen. Linux only.
`;

/** Reads the command line. Returns `undefined` if help is wanted. Throws {@link UsageError}. */
export function parseGateOptions(args: string[]): GateOptions | undefined {
  const { help, base, pairs, operations, json } = parse(args);
  if (help) return undefined;
  return { base, pairs: pairsOf(pairs), operations: operationsOf(operations), json };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        base: { type: 'string' },
        pairs: { type: 'string', default: `${defaultPairs}` },
        operations: { type: 'string', default: gateOperations.join(',') },
        json: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (thrown) {
    throw new UsageError((thrown as Error).message);
  }
}

function pairsOf(text: string): number {
  const pairs = Number(text);
  if (Number.isInteger(pairs) && pairs >= leastPairs && pairs <= mostPairs) return pairs;
  throw new UsageError(`--pairs must be a whole number from ${leastPairs} to ${mostPairs}, not '${text}'`);
}

function operationsOf(list: string): readonly GateOperation[] {
  const words = list.split(',').map((word) => word.trim());
  const unknown = words.find((word) => !gateOperations.some((name) => name === word));
  if (unknown !== undefined) {
    throw new UsageError(
      `--operations: nothing is called '${unknown}'; there are ${gateOperations.join(', ')}`,
    );
  }
  return gateOperations.filter((name) => words.includes(name));
}
