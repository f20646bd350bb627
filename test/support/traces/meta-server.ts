import { createInterface } from 'node:readline';

/** A stdio MCP server whose tools return the `_meta` that they were called with; `failing` reports an error of its own besides. */
const tools = ['meta', 'failing'].map((name) => ({
  name,
  description: 'Returns the _meta of the request.',
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
}));

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') {
    const serverInfo = { name: 'meta', version: '1' };
    write({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
  }
  if (method === 'tools/list') write({ id, result: { tools } });
  if (method === 'tools/call') {
    const meta = params._meta ?? null;
    const result = { content: [{ type: 'text', text: 'see meta' }], structuredContent: { meta } };
    write({ id, result: { ...result, ...(params.name === 'failing' && { isError: true }) } });
  }
});
