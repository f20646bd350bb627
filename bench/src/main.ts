import { readFile, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { openCallSeries } from './calls/call-series.ts';
import { helpText, type Options, parseOptions, UsageError } from './options.ts';
import { allPeers } from './peers/all-peers.ts';
import { writeDocument } from './report/document.ts';
import { describeMachine, type Report } from './report/report.ts';
import { allTables } from './report/tables.ts';
import { runCalls, runMessages } from './rounds.ts';
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
  const options = parseOptions(args, { peers: allPeers, workloads });
  if (!options) {
    process.stdout.write(helpText(allPeers));
    return;
  }
  const { from, json, write } = options;
  const report = from ? (JSON.parse(await readFile(from, 'utf8')) as Report) : await measureAll(options);
  process.stdout.write(`${allTables(report)}\n`);
  if (json) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  if (write || from) await writeDocument(report);
}

async function measureAll({ peers, workloads, withCalls, rounds, seconds }: Options): Promise<Report> {
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  const running = { rounds, seconds, signal: stopped.signal, tell };
  const before = loadavg()[0]!;
  const messages = await runMessages(workloads.length > 0 ? peers : [], workloads, running);
  const calls = withCalls ? await callsOf(running) : { calls: [], skipped: [] };
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: describeMachine(),
    node: process.version,
    load: { before, after: loadavg()[0]! },
    rounds,
    secondsPerRun: seconds,
    ...messages,
    ...calls,
    skipped: [...messages.skipped, ...calls.skipped],
  };
}

async function callsOf(running: Parameters<typeof runCalls>[1]): ReturnType<typeof runCalls> {
  running.tell('starting the ways of proxied calls');
  const skipped: Report['skipped'] = [];
  await using ways = await openCallSeries((name, reason) => skipped.push({ name, reason }));
  const ran = await runCalls(ways.series, running);
  return { ...ran, skipped: [...skipped, ...ran.skipped] };
}
