import type { CallsReport, MessagesReport } from './benchmarks.ts';
import { callTables, hopTable, messageTables, processorTable, ratioTable } from './tables.ts';

export function messageSection(report: MessagesReport): string {
  const ratios = ratioTable(report);
  const parts = [
    `The same client program makes every peer do the same work. Client, broker and consumer are separate processes; bodies are JSON of the size that
the table says, written and parsed on each side, with random text that compression cannot shrink.

- **Ack means**: *fsynced*: a confirmed message is on disk. *written*: it survives the death of the broker's process, not of the machine. Compare
  rows of one kind.
- **Enqueue with receipt**: into a queue that nobody reads, until the broker has confirmed it. The queue is emptied between runs.
- **Enqueue → consume → ack**: until a consumer in another process has taken and acked it; the client hears of the ack over a side channel
  that is the same for all. RabbitMQ and JetStream do not confirm acks; the others do.
- **Durable request/reply**: the request is stored, the consumer takes it, stores the reply and acks the request, and the client takes the reply
  and acks it. It is over when the client has the reply. Signalbox hands a message out when it is written and confirms it when it is fsynced, so neither
  consumer nor client waits for an fsync here, only a sender that waits for a receipt; the others that fsync do so first. Nothing that was confirmed is lost in
  either way ([ADR 11](adr/0011-handed-out-when-written.md)).
- **In flight**: operations of one client at a time; *50 clients × 8*: 50 clients with their own connections in one process.`,
    messageTables(report),
    ratios &&
      `### Signalbox \`full\` against each peer, 300 B

Rates: how many times as many; more than 1× is ours. Latencies: how many times as long; less than 1× is ours.

${ratios}`,
    `### How each peer is used

${report.peers.map(({ title, version, how }) => `- **${title}** (${version}): ${how}.`).join('\n')}`,
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

export function callSection(report: CallsReport): string {
  const hops = hopTable(report);
  const costs = processorTable(report);
  const parts = [
    `The \`echo\` of \`@modelcontextprotocol/server-everything\`, called by clients in a process of their own that do as little as they can. Over stdio one
client has 1 or 64 calls in flight; over HTTP 32 clients, each with a session of its own, have 4 each. *Direct*: no proxy. *Naive*: the least proxy
the SDK allows, one process that keeps nothing and asks for no token. The proxies from npm offer a stdio server over HTTP, so that a chain of two
speaks stdio on both ends. *Signalbox*: face → broker → orchestrator → server over stdio, each request and each result stored, and fsynced before its
receipt; *not safe to repeat*: the orchestrator fsyncs its journal too before the call starts. Over HTTP each client is an agent with its own token.
The orchestrator's limits on concurrent calls are 128 here. The server over HTTP runs in one process, with the SDK of its own package.`,
    callTables(report),
    costs &&
      `### What a call costs the processors

Microseconds of processor time of one call, all threads of a process together, with many calls in flight.

${costs}`,
    hops &&
      `### Where the time of one call goes

The same call over stdio, 1 in flight, entering further and further out. Differences of medians, so a small one may come out negative.

${hops}`,
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

export function postgresSection(report: MessagesReport): string {
  return `The same clients and consumers as above. *One broker*, *two brokers*: Signalbox with its messages in PostgreSQL; with two, clients are at one of
them and consumers at the other. The first queue written by hand keeps nothing but what waits in it, and its clients speak to PostgreSQL without a
broker. The second one promises of a message what ours does: its id is stored once, its inbox has a cap, and what was settled is remembered.

${messageTables(report)}

${report.peers.map(({ title, version, how }) => `- **${title}** (${version}): ${how}.`).join('\n')}`;
}
