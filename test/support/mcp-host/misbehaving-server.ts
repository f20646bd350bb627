import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/**
 * A hand-written stdio MCP server that misbehaves on demand, each tool in its own way. It keeps its state in memory, so that two
 * of its processes can be told apart. Its list holds an invalid tool. With `--lies` it announces a change of its list
 * after every list it sends; with `--stubborn` it ignores the end of its input and SIGTERM.
 */
const lies = process.argv.includes('--lies');
if (process.argv.includes('--stubborn')) {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 1e6);
}

interface Incoming {
  id?: number;
  method: string;
  params?: { name?: string; arguments?: { n?: number; text?: string; bytes?: number } };
}

const notes: string[] = [];
let calls = 0;
let lists = 0;

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

const text = (value: unknown) => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
});

type Run = (
  args: NonNullable<NonNullable<Incoming['params']>['arguments']>,
  id: number,
) => object | undefined;

const runs: Record<string, Run> = {
  /** Keeps a note; answers all it has. */
  note({ text: note = '' }) {
    notes.push(note);
    return text({ pid: process.pid, notes });
  },
  lists: () => text({ lists }),
  /** Answers `n - 1` calls of this process, and dies on the next. */
  crash_on({ n = 1 }) {
    calls++;
    if (calls >= n) process.exit(7);
    return text({ calls });
  },
  hang: () => undefined,
  flood() {
    for (let i = 0; i < 128; i++) process.stderr.write('x'.repeat(65_536));
    return text('flooded');
  },
  /** Ends while a child of it lives on with its pipes. It names the child first, unless `text` is `unanswered`. */
  abandon({ text: mode }, id) {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'inherit' });
    if (mode !== 'unanswered') write({ id, result: text({ pid: process.pid, child: child.pid }) });
    process.stdout.write('', () => process.exit(3));
    return undefined;
  },
  /** Answers only when asked something else. */
  late(_, id) {
    late.push(() => write({ id, result: text('late') }));
    return undefined;
  },
  huge: ({ bytes = 0 }) => text('y'.repeat(bytes)),
};
const late: (() => void)[] = [];

const tools = [
  ...Object.keys(runs).map((name) => ({ name, inputSchema: { type: 'object' } })),
  { name: 'bad', inputSchema: 'none' },
];

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as Incoming;
  if (id === undefined) return;
  for (const answer of late.splice(0)) answer();
  if (method === 'initialize') {
    const serverInfo = { name: 'misbehaving', version: '1' };
    write({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
  }
  if (method === 'tools/list') {
    lists++;
    write({ id, result: { tools } });
    if (lies) write({ method: 'notifications/tools/list_changed' });
  }
  if (method === 'tools/call') {
    const result = runs[params!.name!]!(params!.arguments ?? {}, id);
    if (result) write({ id, result });
  }
});
