import type { CallsReport, MessagesReport } from './benchmarks.ts';
import { callTables, hopTable, messageTables, processorTable, ratioTable } from './tables.ts';

export function messageSection(report: MessagesReport): string {
  const ratios = ratioTable(report);
  const parts = [
    `One client program gives every peer the same work. Client, broker and consumer are separate processes. Bodies are JSON
of the size in the title of the table. Both sides write and parse them. They hold random text, which compression cannot
shrink.

- **Ack means** says what a confirmation promises. *fsynced*: the message is on disk. *written*: the message survives the
  death of the broker's process, but not a crash of the machine. Compare rows with the same promise.
- **Enqueue with receipt** ends when the broker has confirmed the message. Nobody reads the queue, which is emptied
  between runs.
- **Enqueue → consume → ack** ends when a consumer in another process has taken and acked the message. The consumer tells
  the client so over a connection of their own, which is the same for all peers. RabbitMQ and JetStream do not confirm
  acks; the others do.
- **Durable request/reply** ends when the client has the reply. The request is stored, and the consumer takes it. The
  consumer stores the reply and acks the request. The client takes the reply and acks it. Signalbox hands a message out
  when it is written, and confirms it when it is fsynced. So neither consumer nor client waits for an fsync here: only a
  sender that waits for its receipt does. The other peers with fsync hand a message out after the fsync. No peer loses a
  message that it has confirmed ([ADR 11](adr/0011-handed-out-when-written.md)).
- **In flight** is the number of operations that one client has begun and not ended. *50 clients × 8*: 50 clients in one
  process, each with its own connection and 8 operations in flight.`,
    messageTables(report),
    ratios &&
      `### Signalbox \`full\` against each peer, 300 B

Each figure is ours divided by the peer's. Of a rate (*per s*) more than 1× is better for us, of a latency (*p50*) less
than 1×.

${ratios}`,
    `### How each peer is used

${uses(report)}`,
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

export function callSection(report: CallsReport): string {
  const hops = hopTable(report);
  const costs = processorTable(report);
  const parts = [
    `Clients in one process call the tool \`echo\` of \`@modelcontextprotocol/server-everything\`, and do as little else as
they can. Over stdio one client has 1 or 64 calls in flight. Over HTTP there are 32 clients with a session each, and
each has 4 calls in flight.

- *Direct*: there is no proxy. The server over HTTP is one process.
- *Naive*: the shortest proxy that the SDK allows. It is one process, stores nothing, and asks for no token.
- *supergateway* and *mcp-proxy* are proxies from npm. They offer a stdio server over HTTP. Two in a row speak stdio at
  both ends.
- *Signalbox*: \`signalbox up\` with a file as \`signalbox init\` writes it: audit log, journal, limits and metrics are on.
  The limits on rates and queues are too high to be met, and those for concurrent calls are 128. A call goes from the
  face on a lane to the orchestrator, which speaks stdio with the server. *A shim and a shared face*: the agent's process
  is a shim, as it is beside the broker's socket. Over HTTP each client is an agent with its own token.
- *Not safe to repeat*: the orchestrator also fsyncs its journal before the call starts.`,
    callTables(report),
    costs &&
      `### What a call costs the processors

The processor time of one call in each process, in microseconds, with many calls in flight. All threads of a process
count.

${costs}`,
    hops &&
      `### Where the time of one call goes

The same call over stdio, with 1 in flight, was begun at each of these places in turn. A row shows how much longer it
took than from the place before. These are differences of medians, so a small one may be negative.

${hops}`,
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

export function postgresSection(report: MessagesReport): string {
  return `Clients and consumers are those of [Messages](#messages). *One broker* and *two brokers* are Signalbox with its messages
in PostgreSQL. With two brokers, the clients are at one and the consumers at the other. The last two rows are queues
written by hand, whose clients speak to PostgreSQL without a broker. The first of them keeps only messages that wait. The
second one promises what Signalbox does: messages with the same id are stored once, each inbox has a cap, and settled
messages are remembered.

${messageTables(report)}

${uses(report)}`;
}

/** Says how each peer is used, once for those that are used alike. */
function uses({ peers }: MessagesReport): string {
  const alike = Map.groupBy(peers, ({ version, how }) => `(${version}): ${how}.`);
  return [...alike]
    .map(([use, of]) => `- ${of.map(({ title }) => `**${title}**`).join(', ')} ${use}`)
    .join('\n');
}
