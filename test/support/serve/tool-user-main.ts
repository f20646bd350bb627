import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

/** A program of one turn that asks its MCP server for its messages, tries to take some, replies by tool, and says what it saw. */
const client = new Client({ name: 'tool-user', version: '1.0.0' });
const [command = '', ...args] = process.argv.slice(2);
const env = process.env as Record<string, string>;
await client.connect(new StdioClientTransport({ command, args, env, stderr: 'ignore' }));
const use = async (name: string, given: Record<string, unknown> = {}) =>
  await client.callTool({ name: `signalbox_${name}`, arguments: given });

const { messages } = JSON.parse(readFileSync(env.SIGNALBOX_MESSAGE_FILE!, 'utf8'));
const read = await use('inbox_read');
const wait = await use('inbox_wait', { timeout_s: 0 });
const text = {
  turn: (read.structuredContent as { turn?: unknown }).turn,
  instructions: client.getInstructions(),
  waited: wait.isError !== true,
};
await use('reply', { message_id: messages[0].id, body: text });
await client.close();
process.stdout.write('this is not sent');
