import { createInterface } from 'node:readline';

/** A stdio MCP server whose tool `environment` answers with the server's environment. */
const answers: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'environment', version: '1' },
  },
  'tools/list': { tools: [{ name: 'environment', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [], structuredContent: process.env },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: answers[method] ?? {} })}\n`);
});
