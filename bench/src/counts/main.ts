import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { differences, recordCounts, recordedCounts, textOf } from './count-table.ts';
import { countNames } from './counts.ts';
import { measureCounts } from './measure-counts.ts';

const meanings = Object.entries(countNames).map(([name, meaning]) => `  ${name.padEnd(10)} ${meaning}`);
const help = `npm run bench:counts -- [options]
Counts what broker, orchestrator and worker do for one operation: a message until its receipt (deliver), a message until it is taken and
acked (consume), and a call of a hosted server's tool that is safe to repeat, and of one that is not. The processes run from their sources.
Their clocks stand still while they work, so that the counts do not depend on the speed of the machine. A test compares them with
bench/counts.json. Exit code 1 if one is above it.

${meanings.join('\n')}

  --json FILE  write the counts as JSON
  --record     write the counts to bench/counts.json, when a change of cost is meant; commit it with that change
`;

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
  const counts = await measureCounts(stopped.signal);
  process.stdout.write(`${textOf(counts)}\n`);
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(counts, null, 2)}\n`);
  if (options.record) {
    await recordCounts(counts);
    return 0;
  }
  const { above, below } = differences(counts, await recordedCounts());
  if (below.length > 0) process.stdout.write(`\nless than recorded:\n${below.join('\n')}\n`);
  if (above.length > 0) process.stdout.write(`\nmore than recorded:\n${above.join('\n')}\n`);
  return above.length > 0 ? 1 : 0;
}

function optionsOf(args: string[]): { json?: string; record: boolean } | number {
  try {
    const { values } = parseArgs({
      args,
      options: {
        json: { type: 'string' },
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
