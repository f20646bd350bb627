import type { AsksReport, CallsReport, MessagesReport, PeerFacts } from './benchmarks.ts';
import { askTable, callTable, comparisonTable, hopSentence } from './tables.ts';

export function messageSection(report: MessagesReport): string {
  return `One client program gives every peer the same work. Client, broker and consumer are separate processes. Bodies are
JSON with 300 B of random text, or 8 KB.

- **Ack means** says what a confirmation promises. *fsynced*: the message is on disk. *written*: it survives the death
  of the broker's process, but not a crash of the machine. Compare rows with the same promise.
- **Enqueue** ends when the broker has confirmed the message. **Consume** ends when a consumer has acked it; RabbitMQ
  and JetStream do not confirm acks. **Request** ends when the client has the stored reply to its stored request.
- Signalbox hands a message out when it is written, and confirms it when it is fsynced. The other peers with fsync hand
  it out after the fsync. No peer loses a message that it has confirmed ([ADR 11](adr/0011-handed-out-when-written.md)).
- *1* and *64* are the operations in flight of one client. *50×8* are 50 clients with 8 operations each.
- In brackets: the figure of Signalbox \`full\`, divided by that of the row. Of a rate, more than 1× is better for us;
  of a time, less than 1×.

${comparisonTable(report, 'full')}

### How each peer is used

[benchmarks.json](benchmarks.json) says more.

${uses(report.peers)}`;
}

export function callSection(report: CallsReport): string {
  const parts = [
    `Clients in one process call the tool \`echo\` of \`@modelcontextprotocol/server-everything\`. *Many in flight*: 64 calls of
one client over stdio, 4 calls of each of 32 clients over HTTP. In brackets: the figure of the row, divided by that of
the naive proxy. *Processor µs*: one of many calls, in all processes together.

- *Naive*: the shortest proxy that the SDK allows. It stores nothing, and asks for no token.
- *supergateway* and *mcp-proxy*: proxies from npm, which offer a stdio server over HTTP.
- *Signalbox*: \`signalbox up\` with a file as \`signalbox init\` writes it, and limits that are not met. *A shim and a
  shared face*: the agent's process is a shim. Over HTTP each client is an agent with its own token.
- *Not safe to repeat*: the orchestrator also fsyncs its journal before the call starts.`,
    callTable(report),
    hopSentence(report),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

export function askSection(report: AsksReport): string {
  return `The same ask of 300 B to the same agent, by the client library and as a blocking message over A2A. The bridge has a
task on disk before it asks, and the broker the ask. In brackets: divided by the library.

${askTable(report)}`;
}

/** `told`: the peers whose use the page has told already. */
export function postgresSection(report: MessagesReport, told: readonly PeerFacts[]): string {
  const others = report.peers.filter(({ name }) => !told.some((peer) => peer.name === name));
  const parts = [
    `The work is that of [Messages](#messages); *8×8* are 8 clients at one inbox. With two brokers, clients are at one and
consumers at the other. The queues have no broker. In brackets: the figure of one broker on PostgreSQL, divided by that
of the row.`,
    comparisonTable(report, 'on-postgres'),
    uses(others),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Says in a line how each peer is used, once for those that are used alike. */
function uses(peers: readonly PeerFacts[]): string {
  const alike = Map.groupBy(peers, ({ version, how }) => `(${version}): ${how.split(';')[0]}.`);
  return [...alike]
    .map(([use, of]) => `- ${of.map(({ title }) => `**${title}**`).join(', ')} ${use}`)
    .join('\n');
}
