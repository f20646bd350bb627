import { createInterface } from 'node:readline';

/**
 * A hand-written stdio MCP server whose lists and answers no SDK would make: `RESOURCES` resources in pages, prompts in pages without
 * end, entries that are malformed, and answers to reads that are not what was asked for.
 */
const count = Number(process.env.RESOURCES ?? 3);
const perPage = 1000;
let reads = 0;
/** The resources that are followed now, as this process was asked. */
const followed = new Set<string>();

interface Incoming {
  id?: number;
  method: string;
  params?: { cursor?: string; uri?: string; name?: string; _meta?: object };
}

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

const text = (uri: string, words: string) => ({ contents: [{ uri, mimeType: 'text/plain', text: words }] });

function read(uri: string): object {
  reads++;
  if (uri === 'odd://followed') return text(uri, [...followed].sort().join(' '));
  if (uri === 'odd://exit') process.exit(3);
  if (uri.startsWith('odd://touch/')) {
    const touched = uri.replace('touch/', '');
    write({ method: 'notifications/resources/updated', params: { uri: touched } });
  }
  if (uri === 'odd://wrong') return text('odd://other', 'what nobody asked for');
  if (uri === 'odd://shapeless') return { contents: 'none' };
  if (uri === 'odd://lasting') return { ...text(uri, `read ${reads}`), ttlMs: 60_000 };
  if (uri === 'odd://secret') return text(uri, `token ${process.env.API_TOKEN}`);
  if (uri === 'odd://huge') return text(uri, 'x'.repeat(5_000_000));
  return { ...text(uri, `read ${reads}`), 'x-vendor': [1], _meta: { 'vendor/read': reads } };
}

const answers: Record<string, (params: NonNullable<Incoming['params']>) => object> = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { prompts: { listChanged: true }, resources: { listChanged: true, subscribe: true } },
    serverInfo: { name: 'odd', version: '1' },
    instructions: 'Odd, but\nuseful.',
  }),
  'tools/list': () => ({ tools: [] }),
  'prompts/list': ({ cursor = '0' }) => ({
    prompts: [{ name: `p${cursor}` }, { name: 7 }],
    nextCursor: `${(Number(cursor) + 1) % 3}`,
  }),
  'prompts/get': ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: name } }] }),
  'resources/list': ({ cursor = '0' }) => {
    const from = Number(cursor);
    const length = Math.min(perPage, count - from);
    const resources = Array.from({ length }, (_, i) => ({
      uri: `odd://${from + i}`,
      name: `Number ${from + i}`,
    }));
    const isLast = from + length >= count;
    return { resources: [...resources, null], ...(!isLast && { nextCursor: String(from + length) }) };
  },
  'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'odd://{+name}', name: 'Any' }] }),
  'resources/read': ({ uri }) => read(uri!),
  'resources/subscribe': ({ uri }) => {
    followed.add(uri!);
    return {};
  },
  'resources/unsubscribe': ({ uri }) => {
    followed.delete(uri!);
    return {};
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line) as Incoming;
  if (id === undefined) return;
  const answer = answers[method];
  if (params.uri?.endsWith('/gone'))
    write({ id, error: { code: -32002, message: 'it is gone', data: { path: '/gone' } } });
  else if (answer) write({ id, result: answer(params) });
  else write({ id, error: { code: -32601, message: `no ${method}` } });
});
