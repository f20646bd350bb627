// An MCP server over stdio with a tool that adds others, which answer their names. It takes 50 ms to list its tools. It begins with as many
// tools as its argument says.
import { createInterface } from 'node:readline';

interface Incoming {
  id?: number;
  method: string;
  params?: { name?: string; arguments?: { name?: string } };
}

const names = ['enable', ...Array.from({ length: Number(process.argv[2] ?? 1) - 1 }, (_, i) => `tool_${i}`)];
const text = (value: string) => ({ content: [{ type: 'text', text: value }] });

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as Incoming;
  if (id === undefined) return;
  if (method === 'initialize') {
    const serverInfo = { name: 'enabling', version: '1' };
    const capabilities = { tools: { listChanged: true } };
    write({ id, result: { protocolVersion: '2025-11-25', capabilities, serverInfo } });
  }
  if (method === 'tools/list') {
    const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }));
    setTimeout(() => write({ id, result: { tools } }), 50);
  }
  if (method !== 'tools/call') return;
  const added = params?.arguments?.name;
  if (params?.name === 'enable' && added !== undefined) {
    names.push(added);
    write({ method: 'notifications/tools/list_changed' });
  }
  write({ id, result: text(params?.name ?? '') });
});
