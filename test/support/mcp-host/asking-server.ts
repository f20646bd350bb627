import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

/**
 * A hand-written stdio MCP server of revision 2025-11-25 whose tools `lend` and `look` ask their caller before they answer. `report` says
 * how often each was called, and which calls were cancelled. `change` changes what it says of `lend`.
 */
interface Incoming {
  id?: number | string;
  method?: string;
  params?: { name?: string; arguments?: { until?: string }; requestId?: number; capabilities?: object };
  result?: object;
  error?: object;
}

const called: string[] = [];
const cancelled: string[] = [];
const names = new Map<number | string, string>();
const waiting = new Map<number | string, (answer: Incoming) => void>();
let declared: object = {};
let changes = 0;

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

const answer = (id: number | string, value: unknown) =>
  write({ id, result: { content: [{ type: 'text', text: JSON.stringify(value) }] } });

/** Asks at once, or when the file `until` is there. */
function call(id: number | string, name: string, until?: string): void {
  if (until !== undefined && !existsSync(until)) {
    setTimeout(call, 5, id, name, until);
    return;
  }
  if (name === 'report') {
    answer(id, { called, cancelled, declared });
    return;
  }
  if (name === 'change') {
    changes++;
    write({ method: 'notifications/tools/list_changed' });
    answer(id, { changes });
    return;
  }
  called.push(name);
  names.set(id, name);
  const question = `q${id}`;
  waiting.set(question, ({ result, error }) => answer(id, { result, error }));
  write({
    id: question,
    method: 'elicitation/create',
    params: {
      message: 'Who?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    },
  });
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line) as Incoming;
  const { id, method, params } = message;
  if (method === 'initialize') {
    declared = params?.capabilities ?? {};
    const serverInfo = { name: 'asking', version: '1.0.0' };
    const capabilities = { tools: { listChanged: true } };
    write({ id, result: { protocolVersion: '2025-11-25', capabilities, serverInfo } });
  } else if (method === 'tools/list') {
    const inputSchema = { type: 'object' };
    const safe = { annotations: { readOnlyHint: true } };
    const tools = [
      { name: 'lend', description: `Lends (${changes}).` },
      { name: 'change' },
      { name: 'look', ...safe },
      { name: 'report', ...safe },
    ];
    write({ id, result: { tools: tools.map((tool) => ({ ...tool, inputSchema })) } });
  } else if (method === 'tools/call') call(id!, params!.name!, params!.arguments?.until);
  else if (method === 'notifications/cancelled') cancelled.push(names.get(params!.requestId!)!);
  else if (method === undefined) waiting.get(id!)?.(message);
});
