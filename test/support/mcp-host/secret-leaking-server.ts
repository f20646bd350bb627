import { createInterface } from 'node:readline';

/**
 * A hand-written stdio MCP server that tells all it was given, its environment and its arguments, wherever a server can:
 * on standard error, in lines that are no messages, in the error of a call, in the name of a tool that is none, and with
 * `--exit` before it dies at its start.
 */
const { API_KEY = '', OTHER = '' } = process.env;
const told = [API_KEY, OTHER, ...process.argv].join(' ');
process.stderr.write(`started with ${told}\n`);
process.stderr.write(`${JSON.stringify(process.env)}\n`);
if (process.argv.includes('--exit')) process.exit(3);

interface Incoming {
  id?: number;
  method: string;
  params?: { name?: string };
}

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

const tools = [
  ...['tattle', 'misuse', 'die'].map((name) => ({
    name,
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
  })),
  { name: told, inputSchema: told },
];

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as Incoming;
  if (id === undefined) return;
  process.stdout.write(`a line that is no message: ${told}\n`);
  write({ method: `notifications/${told}` });
  write({ id: 1_000_000, error: { code: -1, message: told } });
  switch (params?.name ?? method) {
    case 'initialize': {
      const serverInfo = { name: 'tattling', version: '1' };
      return write({
        id,
        result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo },
      });
    }
    case 'tools/list':
      return write({ id, result: { tools } });
    case 'tattle':
      return write({ id, error: { code: -32603, message: `failed: ${told}`, data: { told } } });
    case 'misuse':
      return write({ id, error: { code: -32602, message: `bad arguments: ${told}` } });
    case 'die':
      // The kept part of standard error begins in the middle of a secret.
      process.stderr.write(`${told}${'x'.repeat(64 * 1024 - told.length + API_KEY.length / 2)}`, () =>
        process.exit(7),
      );
  }
});
