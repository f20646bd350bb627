import { createInterface } from 'node:readline';

/**
 * A hand-written stdio MCP server whose tools flood its client, as fast as it is read. `note` answers, `flood` writes for ever what
 * `kind` names, and `deafen` answers and reads nothing more.
 */
interface Incoming {
  id?: number;
  method: string;
  params?: { name?: string; arguments?: { kind?: string }; _meta?: { progressToken?: number } };
}

const line = (message: object): string => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
const notification = (method: string, params: object = {}): string => line({ method, params });
const log = notification('notifications/message', { level: 'info', data: 'x' });
const progress = (token: number, n: number): string =>
  notification('notifications/progress', { progressToken: token, progress: n });

/** The text of the n-th write of each flood. `token` is the progress token of the call. */
const floods: Record<string, (token: number, n: number) => string> = {
  logs: () => log.repeat(500),
  changes: () => notification('notifications/tools/list_changed').repeat(500),
  progress: (token, n) => progress(token, n).repeat(500),
  'progress of nothing between logs': (_, n) => `${progress(1, n)}${log}`.repeat(250),
  'answers to nothing': (_, n) => line({ id: 2_000_000_000 + n, result: {} }).repeat(500),
  'lines that are no messages': () => 'garbage\n'.repeat(2000),
  'questions to the client': (_, n) => line({ id: n, method: 'ping' }).repeat(500),
  'a line without an end': () => 'x'.repeat(65_536),
};

function flood(kind: string, token: number): void {
  const text = floods[kind]!;
  let n = 0;
  const write = (): void => {
    while (process.stdout.write(text(token, ++n)));
    process.stdout.once('drain', write);
  };
  write();
}

const input = createInterface({ input: process.stdin });
input.on('line', (text) => {
  const { id, method, params } = JSON.parse(text) as Incoming;
  if (id === undefined) return;
  const answer = (result: object): void => {
    process.stdout.write(line({ id, result }));
  };
  if (method === 'initialize') {
    const serverInfo = { name: 'flooding', version: '1' };
    answer({ protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } }, serverInfo });
  }
  if (method === 'tools/list') {
    answer({ tools: ['note', 'flood', 'deafen'].map((name) => ({ name, inputSchema: { type: 'object' } })) });
  }
  if (method !== 'tools/call') return;
  if (params?.name === 'flood')
    return flood(String(params.arguments?.kind), params._meta?.progressToken ?? 0);
  answer({ content: [{ type: 'text', text: 'noted' }] });
  if (params?.name !== 'deafen') return;
  input.pause();
  setInterval(() => {}, 1e6);
});
