// An MCP server over stdio that knows what ERA says: `both` revisions, both with tools in the older ones alone (`proxy`), `modern` only, or only the older ones, in which case it
// answers the question for the newer one (`legacy`), exits on it (`exits`) or says nothing (`silent`).
import { on } from 'node:events';
import { createInterface } from 'node:readline';
import { Server } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';

const mode = process.env.ERA;

/** Asks the client what the revision of 2026 forbids to ask, and resolves with the code of its refusal. */
async function ask() {
  const lines = on(createInterface({ input: process.stdin }), 'line');
  process.stdout.write('{"jsonrpc":"2.0","id":"asked","method":"roots/list"}\n');
  for await (const [line] of lines) {
    const { id, error } = JSON.parse(line) as { id?: unknown; error?: { code: number } };
    if (id === 'asked') return { content: [{ type: 'text' as const, text: `refused with ${error?.code}` }] };
  }
  throw new Error('no answer came');
}

function newServer(era: string): Server {
  const server = new Server({ name: 'p', version: '1' }, { capabilities: { tools: { listChanged: true } } });
  const own = [
    { name: era, inputSchema: { type: 'object' } },
    { name: 'bad', inputSchema: 'none' },
  ];
  const tools: unknown[] = mode === 'proxy' && era === 'modern' ? [] : own;
  server.setRequestHandler('tools/list', () => ({ tools: tools as [] }));
  server.setRequestHandler('tools/call', ({ params }) => {
    if (params.arguments?.exit) process.exit(5);
    if (params.arguments?.ask) return ask();
    return { content: [{ type: 'text', text: `${params.name} ${process.pid}` }], 'x-extra': 1 };
  });
  return server;
}

if (mode === 'both' || mode === 'proxy') serveStdio(({ era }) => newServer(era));
else if (mode === 'modern') serveStdio(({ era }) => newServer(era), { legacy: 'reject' });
else {
  const transport = new StdioServerTransport();
  await newServer('legacy').connect(transport);
  const read = transport.onmessage;
  transport.onmessage = (message) => {
    const isQuestion = 'method' in message && message.method === 'server/discover';
    if (isQuestion && mode === 'exits') process.exit(4);
    if (isQuestion && mode === 'silent') return;
    read?.(message);
  };
}
