import { createInterface } from 'node:readline';

/** A stdio MCP server with a tool for each argument; a call answers with the id of this process. */
const tools = process.argv.slice(2).map((name) => ({
  name,
  description: `Answers to ${name}.`,
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
}));

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

process.stderr.write(`plain server with ${tools.length} tools\n`);
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (method === 'initialize') {
    const serverInfo = { name: 'plain', version: '1' };
    write({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
  }
  if (method === 'tools/list') write({ id, result: { tools } });
  if (method === 'tools/call')
    write({ id, result: { content: [{ type: 'text', text: String(process.pid) }] } });
});
