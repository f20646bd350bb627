import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/**
 * A stdio MCP server that ends while a child of it still holds its pipes open (tool `leave`), and that writes to standard
 * error without end (tool `shout`).
 */
function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

const tools = ['leave', 'shout', 'pid'].map((name) => ({ name, inputSchema: { type: 'object' } }));
const text = (value: unknown) => ({ content: [{ type: 'text', text: String(value) }] });

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') {
    const serverInfo = { name: 'lingering', version: '1' };
    write({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
  }
  if (method === 'tools/list') write({ id, result: { tools } });
  if (method !== 'tools/call') return;
  if (params.name === 'leave') {
    spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'inherit' });
    process.exit(3);
  }
  // Blocks for ever where nobody reads.
  if (params.name === 'shout') for (let i = 0; i < 64; i++) process.stderr.write('x'.repeat(65_536));
  write({ id, result: text(process.pid) });
});
