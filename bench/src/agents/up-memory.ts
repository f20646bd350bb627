import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { issueWorkerTokens, startUp } from '../signalbox-up.ts';
import { command, openHttpSessions } from './agent-sessions.ts';
import { everythingServer, everythingTool } from './everything-server.ts';
import { memoryOf, type ProcessMemory } from './process-memory.ts';

/** The processes of `signalbox up`, and their memory. */
export type UpMemory = readonly { process: string; memory: ProcessMemory }[];

/** The number of agents that call over HTTP, and how often each calls. */
const upLoad = { clients: 32, calls: 50 };
const echo = { name: 'mcp_everything__echo', arguments: { message: 'hello' } };
/** The time that processes rest before they are measured, in milliseconds. They give memory back after a minute of it. */
export const restMs = 75_000;

/**
 * Measures all processes of `signalbox up`, without the MCP server that it hosts, after agents have called a tool over HTTP: each one
 * call after the other, and all agents at the same time.
 */
export async function measureUp(): Promise<UpMemory> {
  await using opened = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'signalbox-bench-up-'));
  opened.defer(() => rm(home, { recursive: true, force: true }));
  const { name, args } = everythingServer;
  const config = {
    broker: { listen: '127.0.0.1:0', data: './state' },
    worker: { http: '127.0.0.1:0' },
    mcpServers: { [name]: { command: process.execPath, args } },
  };
  await writeFile(join(home, 'signalbox.yaml'), JSON.stringify(config));
  const env = { ...process.env, SIGNALBOX_LOG: 'error', XDG_CACHE_HOME: home };
  const start = () => startUp([command], { home, env });
  // The first start compiles the program and keeps what it compiled, which the later ones use.
  await (await start())[Symbol.asyncDispose]();
  const up = opened.use(await start());
  const { broker, orchestrator, face } = up.ready;
  const agents = Array.from({ length: upLoad.clients }, (_, at) => `agent-${at}`);
  const tokens = await issueWorkerTokens(up.ready, agents);
  const order = { agents, tokens, tool: everythingTool };
  const sessions = opened.use(await openHttpSessions(order, face!.url!));
  await Promise.all(
    sessions.clients.map(async (client) => {
      for (let call = 1; call < upLoad.calls; call++) await client.callTool(echo);
    }),
  );
  await delay(restMs);
  const pids = { supervisor: up.pid, broker: broker.pid, orchestrator: orchestrator.pid, face: face!.pid };
  return await Promise.all(
    Object.entries(pids).map(async ([process, pid]) => ({ process, memory: await memoryOf(pid) })),
  );
}
