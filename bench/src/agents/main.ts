import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startFleet } from '../fleet/fleet-stack.ts';
import { openSessions } from './agent-sessions.ts';
import { everythingServer, everythingTool } from './everything-server.ts';
import { startFace } from './face-process.ts';
import { memoryOf, type ProcessMemory } from './process-memory.ts';
import { measureUp, restMs } from './up-memory.ts';

const help = `npm run bench:agents -- [--shims N] [--faces N]
Measures what the MCP servers of many agents take of one machine's memory: N shims (100) on one shared face, and beside them N agents
(10) that serve MCP in processes of their own. Each agent has listed its tools and called one. Measures also all processes of
"signalbox up", whose face serves HTTP, after 32 agents have called a tool 50 times each. All are measured when they have rested
for 75 s. Exit code 1 if a shim takes more than 15 MB, 100 shims and their face more than 1.5 GB, or the processes of up together
more than 160 MB. Linux only.
`;
const targets = { shimBytes: 15e6, hundredBytes: 1.5e9, upBytes: 160e6 };

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      shims: { type: 'string', default: '100' },
      faces: { type: 'string', default: '10' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  const shims = await measure(Number(values.shims), Number(values.faces));
  const hundredBytes = shims.faceBytes + 100 * shims.shimBytes;
  process.stdout.write(`100 shims and their face: ${megabytes(hundredBytes)}\n`);
  const up = await measureUp();
  for (const { process: name, memory } of up) print(`${name} of up`, [memory]);
  const upBytes = up.reduce((sum, { memory }) => sum + memory.pssBytes, 0);
  process.stdout.write(`all processes of up: ${megabytes(upBytes)}\n`);
  const found = { shimBytes: shims.shimBytes, hundredBytes, upBytes };
  const missed = (Object.keys(targets) as (keyof typeof targets)[]).filter((of) => found[of] > targets[of]);
  for (const of of missed)
    process.stdout.write(`missed: ${of} is ${megabytes(found[of])} of at most ${megabytes(targets[of])}\n`);
  return missed.length > 0 ? 1 : 0;
}

async function measure(shimCount: number, faceCount: number) {
  await using opened = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'signalbox-bench-agents-'));
  opened.defer(() => rm(home, { recursive: true, force: true }));
  const agents = Array.from({ length: shimCount + faceCount }, (_, at) => `agent-${at}`);
  const { url, tokens } = opened.use(await startFleet(() => everythingServer, agents));
  const env = { SIGNALBOX_URL: url, SIGNALBOX_LOG: 'error', XDG_CACHE_HOME: home };
  const order = { tokens, tool: everythingTool };

  const socket = join(home, 'face.sock');
  const face = opened.use(await startFace(['face', '--socket', socket], env));
  const viaShims = { ...order, agents: agents.slice(0, shimCount) };
  const sharing = await openSessions(viaShims, { home, env: { ...env, SIGNALBOX_FACE: socket } });
  await delay(restMs);
  const shims = await Promise.all(sharing.pids.map(memoryOf));
  const shared = await memoryOf(face.pid);
  await sharing[Symbol.asyncDispose]();

  const alone = opened.use(await openSessions({ ...order, agents: agents.slice(shimCount) }, { home, env }));
  await delay(restMs);
  const faces = await Promise.all(alone.pids.map(memoryOf));
  print('shim', shims);
  print('shared face', [shared]);
  print('face of one agent', faces);
  return { shimBytes: mean(shims.map(({ pssBytes }) => pssBytes)), faceBytes: shared.pssBytes };
}

function print(kind: string, all: readonly ProcessMemory[]): void {
  const pss = all.map(({ pssBytes }) => pssBytes);
  const anonymous = mean(all.map(({ anonymousBytes }) => anonymousBytes));
  process.stdout.write(
    `${kind}: ${all.length} × ${megabytes(mean(pss))} PSS (largest ${megabytes(Math.max(...pss))}; ${megabytes(anonymous)} of it anonymous)\n`,
  );
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
