// An MCP server over stdio with results of the size, the depth and the number of values that its caller asks for. By hand, because
// loading the SDK is most of what a start costs.
import { createInterface } from 'node:readline';

interface Incoming {
  id?: number;
  method: string;
  params?: { name?: string; arguments?: { size?: number } };
}

function nested(levels: number): unknown {
  let value: unknown = 'leaf';
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

const results: Record<string, (size: number) => object> = {
  text: (size) => ({ content: [{ type: 'text', text: 'x'.repeat(size) }] }),
  nested: (size) => ({ content: [], structuredContent: nested(size) }),
  values: (size) => ({ content: [], structuredContent: Array(size).fill(0) }),
};

const answers: Record<string, (params: NonNullable<Incoming['params']>) => object> = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'large-results', version: '1' },
  }),
  'tools/list': () => ({
    tools: Object.keys(results).map((name) => ({ name, inputSchema: { type: 'object' } })),
  }),
  'tools/call': ({ name = '', arguments: args }) => results[name]!(args?.size ?? 0),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line) as Incoming;
  if (id !== undefined)
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: answers[method]!(params) })}\n`);
});
