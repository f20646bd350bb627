import { appendFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

/** An MCP server whose tool `count` leaves its label in a file before it does anything else. Not safe to repeat. */
const file = process.argv[2]!;
const inputSchema = {
  type: 'object' as const,
  properties: { label: { type: 'string' }, ms: { type: 'number' } },
  required: ['label', 'ms'],
};
const tools = [
  { name: 'count', description: 'Notes the label, then takes that many milliseconds.', inputSchema },
];
const server = new Server({ name: 'counting', version: '1.0.0' }, { capabilities: { tools: {} } });
server.setRequestHandler('tools/list', () => ({ tools }));
server.setRequestHandler('tools/call', async ({ params }) => {
  const { label, ms } = params.arguments as { label: string; ms: number };
  appendFileSync(file, `${label}\n`);
  await wait(ms);
  return { content: [{ type: 'text', text: label }] };
});
await server.connect(new StdioServerTransport());
