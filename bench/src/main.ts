import { writeFile } from 'node:fs/promises';
import { commitOf } from './before.ts';
import { helpText, type Options, parseOptions, UsageError } from './options.ts';
import { peersBeside } from './peers/all-peers.ts';
import type { Benchmarks } from './report/benchmarks.ts';
import { callsWithoutEarlier, changeRowsOf, changeTable, messagesWithoutEarlier } from './report/changes.ts';
import { asJson, keep, recorded, writePage } from './report/record.ts';
import { onScreen } from './report/screen.ts';
import { measureSections } from './sections.ts';
import { workloads } from './workloads.ts';

// However it ends, the servers of others that were started must be stopped: so nothing ends this process at once.
const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    process.stderr.write('stopping what was started\n');
    process.exitCode = 130;
    stopped.abort(new Error('the benchmark was stopped'));
  });
}
for (const fault of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(fault, (thrown) => {
    process.stderr.write(`${thrown instanceof Error ? thrown.stack : thrown}\n`);
    process.exitCode = 70;
    stopped.abort(new Error('the benchmark failed'));
  });
}

try {
  await main(process.argv.slice(2));
} catch (thrown) {
  if (thrown instanceof UsageError) {
    process.stderr.write(`${thrown.message}\nnpm run bench -- --help tells more\n`);
    process.exitCode = 64;
  } else if (!stopped.signal.aborted) {
    throw thrown;
  }
}

async function main(args: string[]): Promise<void> {
  const options = parseOptions(args, { peersBeside, workloads });
  if (!options) process.stdout.write(helpText(peersBeside()));
  else if (options.page) await writePage(await recorded());
  else await measure(options);
}

async function measure(options: Options): Promise<void> {
  const { json, write, before, change } = options;
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  const all: Benchmarks = {};
  for await (const section of measureSections(options, { signal: stopped.signal, tell })) {
    process.stdout.write(`${onScreen(section)}\n`);
    Object.assign(all, section);
    if (write) await keep(withoutEarlier(section));
    if (json) await writeFile(json, `${asJson(all)}\n`);
  }
  const rows = changeRowsOf(all);
  if (rows.length === 0) return;
  process.stdout.write(`\n${changeTable(rows)}\n`);
  if (change === undefined) return;
  const named = { change, before: `commit ${await commitOf(before!)}`, rows };
  const { date, machine, node, load, rounds, secondsPerRun } = (all.messages ?? all.calls)!;
  await keep({ changes: [{ date, machine, node, load, rounds, secondsPerRun, ...named }] });
}

function withoutEarlier({ messages, calls, ...others }: Benchmarks): Benchmarks {
  return {
    ...others,
    ...(messages && { messages: messagesWithoutEarlier(messages) }),
    ...(calls && { calls: callsWithoutEarlier(calls) }),
  };
}
