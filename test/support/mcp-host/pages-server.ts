import { createInterface } from 'node:readline';

/**
 * A hand-written stdio MCP server of revision 2025-11-25 with a page of MCP Apps and with URIs as real servers use them. It knows each
 * resource by one spelling only. `NAME` stands in its answers. With `PAGE_LETTERS` its page is that long, and no list names it.
 */
const name = process.env.NAME ?? 'pages';
const letters = Number(process.env.PAGE_LETTERS ?? 0);
const page = 'ui://app/page.html';
const spellings = ['greeting://Bob', 'WordPress://posts/1', 'slack://C012345/x', 'file:///notes/a b.txt'];
let declared: unknown;

interface Incoming {
  id?: number;
  method: string;
  params?: { uri?: string; name?: string; capabilities?: unknown };
}

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

const tool = (own: string, meta: object) => ({ name: own, inputSchema: { type: 'object' }, _meta: meta });
const text = (words: string) => ({ content: [{ type: 'text', text: words }] });

function read(uri: string): object | undefined {
  if (uri !== page)
    return spellings.includes(uri) ? { contents: [{ uri, text: `${name} ${uri}` }] } : undefined;
  const csp = { connectDomains: ['https://example.com'] };
  const html = `<p>${name}</p>${'é'.repeat(letters)}`;
  return { contents: [{ uri, mimeType: 'text/html;profile=mcp-app', text: html, _meta: { ui: { csp } } }] };
}

const answers: Record<string, (params: NonNullable<Incoming['params']>) => object | undefined> = {
  initialize: ({ capabilities }) => {
    declared = capabilities;
    return {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, resources: { subscribe: true } },
      serverInfo: { name, version: '1' },
    };
  },
  'tools/list': () => ({
    tools: [
      tool('get-time', { ui: { resourceUri: page, visibility: ['model', 'app'] }, 'ui/resourceUri': page }),
      tool(`poll-${name}`, { ui: { visibility: ['app'] } }),
      tool('capabilities', {}),
    ],
  }),
  'tools/call': ({ name: called }) =>
    text(called === 'capabilities' ? JSON.stringify(declared) : `${name} ${called}`),
  'resources/list': () => ({
    resources: [...spellings, ...(letters > 0 ? [] : [page])].map((uri) => ({ uri, name: uri })),
  }),
  'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: spellings[0], name: 'same' }] }),
  'resources/read': ({ uri = '' }) => read(uri),
  'resources/subscribe': ({ uri = '' }) => {
    if (!spellings.includes(uri)) return undefined;
    // It names the resource in another way than its list.
    setImmediate(() =>
      write({ method: 'notifications/resources/updated', params: { uri: uri.replace('B', 'b') } }),
    );
    return {};
  },
  'resources/unsubscribe': () => ({}),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line) as Incoming;
  if (id === undefined) return;
  const result = answers[method]?.(params);
  if (result) write({ id, result });
  else write({ id, error: { code: -32002, message: `${name} has no such thing` } });
});
