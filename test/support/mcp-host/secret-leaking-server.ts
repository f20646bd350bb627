import { createInterface } from 'node:readline';

/**
 * A hand-written stdio MCP server that leaks its environment and its arguments wherever a server can: on standard error, in
 * lines that are no messages, in the error of a call, in the name of an invalid tool, and with `--exit` before it exits at
 * its start.
 */
const { API_KEY = '', OTHER = '' } = process.env;
const leaked = [API_KEY, OTHER, ...process.argv].join(' ');
process.stderr.write(`started with ${leaked}\n`);
process.stderr.write(`${JSON.stringify(process.env)}\n`);
if (process.argv.includes('--exit')) process.exit(3);

interface Incoming {
  id?: number;
  method: string;
  params?: { name?: string; _meta?: { progressToken?: unknown } };
}

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

/** Answers with the secret as a field's name and in texts that are escaped in ways that JSON allows. */
function answer(id: number, progressToken: unknown): void {
  const escaped = [...API_KEY]
    .map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
  const progress = { progressToken, progress: 1, message: API_KEY };
  if (progressToken !== undefined) write({ method: 'notifications/progress', params: progress });
  const content = [
    { type: 'text', text: `{"key":"${escaped}"}` },
    { type: 'resource_link', uri: `file:///${API_KEY}`, name: 'ordinary' },
  ];
  const result = { content, structuredContent: { [API_KEY]: 'KEY' } };
  const line = JSON.stringify({ jsonrpc: '2.0', id, result });
  process.stdout.write(`${line.replace('"KEY"', `"${escaped}"`)}\n`);
}

const tools = [
  ...['leak', 'misuse', 'die', 'answer'].map((name) => ({
    name,
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
  })),
  { name: leaked, inputSchema: leaked },
];

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as Incoming;
  if (id === undefined) return;
  process.stdout.write(`a line that is no message: ${leaked}\n`);
  write({ method: `notifications/${leaked}` });
  write({ id: 1_000_000, error: { code: -1, message: leaked } });
  switch (params?.name ?? method) {
    case 'initialize': {
      const serverInfo = { name: 'leaking', version: '1' };
      return write({
        id,
        result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo },
      });
    }
    case 'tools/list':
      return write({ id, result: { tools } });
    case 'leak':
      return write({ id, error: { code: -32603, message: `failed: ${leaked}`, data: { leaked } } });
    case 'answer':
      return answer(id, params?._meta?.progressToken);
    case 'misuse':
      return write({ id, error: { code: -32602, message: `bad arguments: ${leaked}` } });
    case 'die':
      // The kept part of standard error begins in the middle of a secret.
      process.stderr.write(`${leaked}${'x'.repeat(64 * 1024 - leaked.length + API_KEY.length / 2)}`, () =>
        process.exit(7),
      );
  }
});
