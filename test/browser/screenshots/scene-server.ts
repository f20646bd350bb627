import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/**
 * A stdio MCP server of a scene: its first argument is a file with its tools as JSON, the second the word that it writes to standard error.
 * A call with `steps` and `stepMs` takes that long and tells its progress; one with `fail` fails, and `crash` ends the process.
 */
const [, , toolFile = '', word = ''] = process.argv;

const tools = () => (existsSync(toolFile) ? JSON.parse(readFileSync(toolFile, 'utf8')) : []);

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

interface Call {
  arguments?: { steps?: number; stepMs?: number; fail?: string; crash?: boolean };
  _meta?: { progressToken?: string | number };
}

function call(id: number, { arguments: args = {}, _meta }: Call): void {
  const { steps = 0, stepMs = 0, fail, crash } = args;
  if (crash) {
    process.stderr.write('fatal: the remote end hung up unexpectedly\n');
    process.exit(1);
  }
  const text = fail ?? 'done: 3 files changed';
  const end = () => write({ id, result: { content: [{ type: 'text', text }], isError: fail !== undefined } });
  if (steps === 0) {
    end();
    return;
  }
  let step = 0;
  const timer = setInterval(() => {
    step++;
    const { progressToken } = _meta ?? {};
    const progress = { progressToken, progress: step, total: steps };
    if (step < steps && progressToken !== undefined)
      write({ method: 'notifications/progress', params: progress });
    if (step < steps) return;
    clearInterval(timer);
    end();
  }, stepMs);
}

process.stderr.write(`${word}\n`);
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') {
    const serverInfo = { name: 'scene', version: '1' };
    const capabilities = { tools: { listChanged: true } };
    write({ id, result: { protocolVersion: '2025-11-25', capabilities, serverInfo } });
  }
  if (method === 'tools/list') write({ id, result: { tools: tools() } });
  if (method === 'tools/call') call(id, params);
});
process.on('SIGHUP', () => write({ method: 'notifications/tools/list_changed' }));
