import { writeFile } from 'node:fs/promises';
import { asMarkdown, type Report } from './report.ts';

const file = new URL('../../docs/benchmarks.md', import.meta.url);

/** Writes `docs/benchmarks.md` from a report, so that the page never says what was not measured. */
export async function writeDocument(report: Report): Promise<void> {
  await writeFile(
    file,
    `# Benchmarks

Written by \`npm run bench -- --write\` on ${report.date}: ${report.machine}, Node ${report.node.slice(1)}, ${report.rounds} rounds of
${report.secondsPerRun} s for each series, in turn, medians. The machine is shared: compare rows of this table with each other, not with
another machine's.

- **fsynced** (\`--durability full\`, the default): a receipt means that the message is on disk. **written** (\`process\`): it
  survives the death of the process, not of the machine.
- *request/reply*: client, broker and server are three processes; the request and the reply are both stored, and the reply and the ack of
  its request are one commit. Bodies are about 300 bytes.
- *enqueue with receipt*: messages into one inbox whose owner takes and acks them meanwhile.
- *tools/call*: the \`echo\` of \`@modelcontextprotocol/server-everything\` over stdio, called by the official SDK client: direct; through the
  least proxy the SDK allows (one process, nothing kept); through Signalbox (worker → broker → orchestrator → server, each
  request and each result stored and fsynced).

${asMarkdown(report)}
`,
  );
}
