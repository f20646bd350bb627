import { parseArgs } from 'node:util';
import { tempDir } from '@signalbox/testing';
import { measureCosts, runScheduled } from '../support/scheduled/scheduled-load.ts';

/**
 * Many scheduled messages: what it costs the broker to hand out one, compared with a plain message of the same run, and how late they are
 * after a kill -9. Exits with an error if one is lost or early, or above the bounds.
 */
const { values } = parseArgs({
  options: {
    messages: { type: 'string' },
    rounds: { type: 'string' },
    lead: { type: 'string' },
    spread: { type: 'string' },
  },
});
const messages = Number(values.messages ?? 100_000);
const rounds = Number(values.rounds ?? 3);
/** Seconds until the first message is due, in which all of them must be stored. */
const leadMs = 1000 * Number(values.lead ?? 40);
/** Seconds over which they are due. */
const spreadMs = 1000 * Number(values.spread ?? 60);
const bounds = { ratio: 1.2, p99LateMs: 300 };
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const problems: string[] = [];

{
  await using directory = await tempDir();
  const { plain, due, storing } = await measureCosts(`${directory.path}/data`, { messages, rounds, leadMs });
  const ratio = due / plain;
  print(
    `${messages} messages, median of ${rounds}: a plain one costs the broker ${plain.toFixed(1)} µs, one that is due ${due.toFixed(1)} µs (${ratio.toFixed(2)} times), storing one for later ${storing.toFixed(1)} µs`,
  );
  if (ratio > bounds.ratio) problems.push(`handing out costs over ${bounds.ratio} times a plain message`);
}
{
  await using directory = await tempDir();
  const report = await runScheduled(`${directory.path}/data`, { messages, leadMs, spreadMs });
  const { came, repeated, earliestMs, p50LateMs, p99LateMs, mostLateMs } = report;
  print(
    `after kill -9: ${came} of ${messages} came, ${repeated} of them twice; late by ${p50LateMs} ms (p50), ${p99LateMs} ms (p99), ${mostLateMs} ms at most; the earliest by ${earliestMs} ms`,
  );
  if (came !== messages) problems.push('messages are lost');
  if (!report.wasReady) problems.push('the first message was due before the broker was back: raise --lead');
  if (earliestMs < 0) problems.push('a message was early');
  if (p99LateMs >= bounds.p99LateMs) problems.push(`p99 is over ${bounds.p99LateMs} ms`);
}
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
