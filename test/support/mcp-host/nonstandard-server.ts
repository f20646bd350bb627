import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/**
 * A hand-written stdio MCP server that breaks rules which every SDK keeps: it lists any content of the file `TOOL_LIST_FILE`
 * (`{pages: Tool[][], fail?: true, exit?: code}`), answers with vendor fields, and with `PIDS_FILE` set clings to life.
 */
const listFile = process.env.TOOL_LIST_FILE!;
const { exit } = readList();
if (exit !== undefined) process.exit(exit);

interface Incoming {
  id?: number;
  method: string;
  params?: { cursor?: string; name?: string; _meta?: { progressToken?: number } };
}

function readList(): { pages: unknown[][]; fail?: boolean; exit?: number } {
  return JSON.parse(readFileSync(listFile, 'utf8'));
}

function write(...messages: object[]): void {
  process.stdout.write(
    messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''),
  );
}

const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

function list(cursor = '0'): object {
  const { pages, fail } = readList();
  if (fail) return { error: { code: -32603, message: `no list today, ${process.env.SERVER_SECRET}` } };
  const next = Number(cursor) + 1;
  return {
    result: { tools: pages[Number(cursor)], ...(next < pages.length && { nextCursor: String(next) }) },
  };
}

const vendorResult = {
  content: [
    { type: 'vendor/chart', data: [1, 2] },
    { type: 'text', text: 'x', 'x-mark': 1 },
  ],
  structuredContent: ['not', 'an', 'object'],
  'x-vendor': { deep: [null] },
  _meta: { 'vendor/trace': 'abc' },
};

type Params = NonNullable<Incoming['params']>;

/** The answers of `wait`, which `release` writes. */
const waiting: object[] = [];

/** The messages each tool writes in one go; `answer` is the one that ends the call. */
const tools: Record<string, (answer: (outcome: object) => object, params: Params) => object[]> = {
  announce: (answer) => [
    { method: 'notifications/tools/list_changed' },
    answer({ result: text('announced') }),
  ],
  vendor: (answer) => [answer({ result: vendorResult })],
  exit: () => process.exit(1),
  nodes: (answer) => [answer({ result: { content: Array(1_000_000).fill({}) } })],
  deep: (answer) => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const text = JSON.stringify({ jsonrpc: '2.0', ...answer({ result: { content: [], deep: 'DEEP' } }) });
    process.stdout.write(`${text.replace('"DEEP"', deep)}\n`);
    return [];
  },
  fail: (answer) => [answer({ result: { ...text('it failed'), isError: true } })],
  refuse: (answer) => [
    answer({ error: { code: -32602, message: `bad arguments, ${process.env.SERVER_SECRET}` } }),
  ],
  wait: (answer) => {
    waiting.push(answer({ result: text('at last') }));
    return [];
  },
  release: (answer) => [...waiting.splice(0), answer({ result: text('released') })],
  environment: (answer) => [answer({ result: text(process.env) })],
  late_progress: (answer, { _meta: { progressToken } = {} }) => [
    { method: 'notifications/progress', params: { progressToken, progress: 1 } },
    answer({ result: text('done') }),
    { method: 'notifications/progress', params: { progressToken, progress: 2 } },
  ],
  answer_and_exit: (answer) => {
    process.stdout.write(`${JSON.stringify(answer({ jsonrpc: '2.0', result: text('last words') }))}\n`, () =>
      process.exit(0),
    );
    return [];
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as Incoming;
  if (id === undefined) return;
  if (method === 'initialize') {
    const serverInfo = { name: 'odd', version: '1' };
    write({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
  }
  if (method === 'tools/list') write({ id, ...list(params?.cursor) });
  if (method === 'tools/call')
    write(...(tools[params!.name!]?.((outcome) => ({ id, ...outcome }), params!) ?? []));
});

process.stdout.write('this line is no message\n');
process.stderr.write(`${'noise '.repeat(60_000)}${process.env.SERVER_SECRET} end of noise\n`);

if (process.env.PIDS_FILE) {
  const stubborn = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); process.stdout.write('up')";
  const child = spawn(process.execPath, ['-e', stubborn], { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.once('data', () => writeFileSync(process.env.PIDS_FILE!, `${process.pid} ${child.pid}`));
  process.on('SIGTERM', () => {});
}
