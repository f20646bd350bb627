import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openHttpSessions, openSessions } from '../agents/agent-sessions.ts';
import { everythingServer, everythingTool } from '../agents/everything-server.ts';
import { startFace } from '../agents/face-process.ts';
import { memoryOf, type ProcessMemory } from '../agents/process-memory.ts';
import { startFleet } from '../fleet/fleet-stack.ts';

/** The memory of one process, or of several of a kind together. */
export type MemoryRow = Pick<ProcessMemory, 'rssBytes' | 'pssBytes'> & { process: string };

/** The time that the processes rest before they are measured. */
const restMs = 5_000;

/** Measures all processes while so many workers have a session on a shim, and then with as many sessions at an HTTP face. */
export async function measureMemory(workers: number): Promise<MemoryRow[]> {
  await using opened = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'signalbox-bench-sizing-'));
  opened.defer(() => rm(home, { recursive: true, force: true }));
  const agents = Array.from({ length: workers }, (_, at) => `agent-${at}`);
  const fleet = opened.use(await startFleet(() => everythingServer, agents));
  const config = join(home, 'signalbox.yaml');
  await writeFile(config, 'worker: { limits: { agents: 100000, idleConnections: 100000 } }\n');
  const env = {
    SIGNALBOX_URL: fleet.url,
    SIGNALBOX_LOG: 'error',
    SIGNALBOX_CONFIG: config,
    XDG_CACHE_HOME: home,
  };
  const order = { agents, tokens: fleet.tokens, tool: everythingTool };
  const rows: MemoryRow[] = [];
  {
    const socket = join(home, 'face.sock');
    await using face = await startFace(['face', '--socket', socket], env);
    await using shims = await openSessions(order, { home, env: { ...env, SIGNALBOX_FACE: socket } });
    await delay(restMs);
    const { broker, orchestrator, server } = await fleet.pids();
    rows.push(
      await row('broker', [broker]),
      await row('orchestrator', [orchestrator]),
      await row('the MCP server that it hosts', [server]),
      await row('shared face', [face.pid]),
      await row(workers === 1 ? 'shim' : `${workers} shims together`, shims.pids),
    );
  }
  await using face = await startFace(['mcp', '--http', '127.0.0.1:0'], env, 'stderr');
  await using _sessions = await openHttpSessions(order, String(face.ready.url));
  await delay(restMs);
  const { broker } = await fleet.pids();
  rows.push(
    await row('HTTP face, in place of shared face and shims', [face.pid]),
    await row('broker with it', [broker]),
  );
  return rows;
}

async function row(name: string, pids: readonly number[]): Promise<MemoryRow> {
  const all = await Promise.all(pids.map(memoryOf));
  const sum = (of: (memory: ProcessMemory) => number): number =>
    all.reduce((total, one) => total + of(one), 0);
  return { process: name, rssBytes: sum((one) => one.rssBytes), pssBytes: sum((one) => one.pssBytes) };
}
