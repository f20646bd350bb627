import { readFile, writeFile } from 'node:fs/promises';
import { asSvg } from './chart.ts';
import type { Report } from './report.ts';
import { callTable, hopTable, messageTables, ratioTable } from './tables.ts';

const page = new URL('../../../docs/benchmarks.md', import.meta.url);
const chart = new URL('../../../docs/benchmarks.svg', import.meta.url);
/** Written by hand: no program knows why. */
const losses = new URL('./where-we-lose.md', import.meta.url);

/** Writes `docs/benchmarks.md` and its chart from a report, so that the page never says what was not measured. */
export async function writeDocument(report: Report): Promise<void> {
  await writeFile(chart, asSvg(report));
  await writeFile(page, asMarkdown(report, (await readFile(losses, 'utf8')).trim()));
}

function asMarkdown(report: Report, whereWeLose: string): string {
  return `${[introduction(report), ...messages(report), ...calls(report), whereWeLose, ...skipped(report)].join('\n\n')}\n`;
}

function introduction({ date, machine, node, load, rounds, secondsPerRun }: Report): string {
  return `# Benchmarks

Written by \`npm run bench -- --write\` on ${date}: ${machine}, Node ${node.slice(1)}; load average ${load.before.toFixed(1)} before and
${load.after.toFixed(1)} after; ${rounds} rounds of ${secondsPerRun} s for each row, in turn; medians of the rounds. Compare rows of one table with each other, not
with another machine's. Everything again: \`npm run bench -- --peers all --workloads all --rounds 5 --seconds 2 --write\`.

![Bars of the main rows](benchmarks.svg)`;
}

function messages(report: Report): string[] {
  if (report.messages.length === 0) return [];
  const ratios = ratioTable(report);
  return [
    `## Messages

The same client program makes every peer do the same work. Client, broker and consumer are separate processes; bodies are JSON of the size that
the table says, written and parsed on each side, with random text that compression cannot shrink.

- **Ack means**: *fsynced*: a confirmed message is on disk. *written*: it survives the death of the broker's process, not of the machine. Compare
  rows of one kind.
- **Enqueue with receipt**: into a queue that nobody reads, until the broker has confirmed it. The queue is emptied between runs.
- **Enqueue → consume → ack**: until a consumer in another process has taken and acked it; the client hears of the ack over a side channel
  that is the same for all. RabbitMQ and JetStream do not confirm acks; the others do.
- **Durable request/reply**: the request is stored, the consumer takes it, stores the reply and acks the request, and the client takes the reply
  and acks it.
- **In flight**: operations of one client at a time; *50 clients × 8*: 50 clients with their own connections in one process.

${messageTables(report)}`,
    ...(ratios === ''
      ? []
      : [
          `### Signalbox \`full\` against each peer, 300 B

Rates: how many times as many; more than 1× is ours. Latencies: how many times as long; less than 1× is ours.

${ratios}`,
        ]),
    `### How each peer is used

${report.peers.map(({ title, version, how }) => `- **${title}** (${version}): ${how}.`).join('\n')}`,
  ];
}

function calls(report: Report): string[] {
  if (report.calls.length === 0) return [];
  const hops = hopTable(report);
  return [
    `## Proxied calls

The \`echo\` of \`@modelcontextprotocol/server-everything\` over stdio, called by the official SDK client in a process of its own. *Direct*: no proxy.
*Naive*: the least proxy the SDK allows, one process that keeps nothing. The proxies from npm offer a stdio server over HTTP, so the client speaks
HTTP to them; the chain of two speaks stdio on both ends, as Signalbox does. *Signalbox*: worker face → broker → orchestrator → server, each request
and each result stored and fsynced; *not safe to repeat*: the orchestrator fsyncs its journal too before the call starts. Its limits on concurrent calls
are 64 here. *Adds*: to the direct client's median.

${callTable(report)}`,
    ...(hops === ''
      ? []
      : [
          `### Where the time of one call goes

The same call, entering further and further out. Differences of medians, so a small one may come out negative.

${hops}`,
        ]),
  ];
}

function skipped(report: Report): string[] {
  if (report.skipped.length === 0) return [];
  return [
    `## Not measured\n\n${report.skipped.map(({ name, reason }) => `- ${name}: ${reason}`).join('\n')}`,
  ];
}
