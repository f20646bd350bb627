import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

/** The report of one read, which the reader prints as a line of JSON. */
export interface ReadReport {
  pid: number;
  messages: { body: unknown; attempt: number; shown_before?: true; shown_seconds_ago?: number }[];
}

/** A CLI with the options of Claude Code that prints each message of its mailbox, acks none, and stays. */
const option = process.argv.find((text) => text.startsWith('--mcp-config=')) ?? '';
const { mcpServers } = JSON.parse(readFileSync(option.slice('--mcp-config='.length), 'utf8'));
const { command, args, env } = mcpServers.signalbox;
const client = new Client({ name: 'mailbox-reader', version: '1.0.0' });
await client.connect(
  new StdioClientTransport({ command, args, env: { ...process.env, ...env }, stderr: 'ignore' }),
);
for (;;) {
  const { structuredContent, isError } = await client.callTool({
    name: 'signalbox_inbox_wait',
    arguments: {},
  });
  if (isError) continue;
  const { messages } = structuredContent as Pick<ReadReport, 'messages'>;
  process.stdout.write(`${JSON.stringify({ pid: process.pid, messages } satisfies ReadReport)}\n`);
}
