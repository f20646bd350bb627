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

function linesOf(size: number): string {
  return Array.from({ length: size }, (_, at) => `line ${at + 1} größe ${at % 7}\n`).join('');
}

const outputSchema = {
  type: 'object',
  properties: { rows: { type: 'array', items: { $ref: '#/$defs/row' } } },
  required: ['rows'],
  additionalProperties: false,
  $defs: { row: { type: 'object', properties: { at: { type: 'integer' } }, required: ['at'] } },
};

const results: Record<string, (size: number) => object> = {
  text: (size) => ({ content: [{ type: 'text', text: 'x'.repeat(size) }] }),
  nested: (size) => ({ content: [], structuredContent: nested(size) }),
  log: (size) => ({ content: [{ type: 'text', text: linesOf(size) }] }),
  rows: (size) => ({
    content: [
      { type: 'text', text: linesOf(size) },
      { type: 'image', data: 'AAAA'.repeat(size), mimeType: 'image/png' },
    ],
    structuredContent: { rows: Array.from({ length: size }, (_, at) => ({ at })) },
    _meta: { 'vendor/own': 'kept' },
  }),
  values: (size) => ({ content: [], structuredContent: Array(size).fill(0) }),
};

const answers: Record<string, (params: NonNullable<Incoming['params']>) => object> = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'large-results', version: '1' },
  }),
  'tools/list': () => ({
    tools: Object.keys(results).map((name) => ({
      name,
      inputSchema: { type: 'object' },
      ...(name === 'rows' && { outputSchema }),
    })),
  }),
  'tools/call': ({ name = '', arguments: args }) => results[name]!(args?.size ?? 0),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line) as Incoming;
  if (id !== undefined)
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: answers[method]!(params) })}\n`);
});
