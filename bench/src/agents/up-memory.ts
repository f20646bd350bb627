import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { connectBroker } from '@signalbox/client';
import { issueToken } from '@signalbox/client/operator';
import { command, openHttpSessions } from './agent-sessions.ts';
import { everythingServer, everythingTool } from './everything-server.ts';
import { memoryOf, type ProcessMemory } from './process-memory.ts';

/** The processes of `signalbox up`, and their memory. */
export type UpMemory = readonly { process: string; memory: ProcessMemory }[];

/** The line that `signalbox up --json` prints when it is ready. */
interface UpReady {
  broker: { pid: number; url: string; operatorTokenFile: string };
  orchestrator: { pid: number };
  face: { pid: number; url: string };
}

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
  const file = join(home, 'signalbox.yaml');
  await writeFile(file, JSON.stringify(config));
  // The first start compiles the program and keeps what it compiled, which the later ones use.
  await (await startUp(file, home))[Symbol.asyncDispose]();
  const up = opened.use(await startUp(file, home));
  const { broker, orchestrator, face } = up.ready;
  const tokens = await tokensOf(up.ready);
  const order = { agents: Object.keys(tokens), tokens, tool: everythingTool };
  const sessions = opened.use(await openHttpSessions(order, face.url));
  await Promise.all(
    sessions.clients.map(async (client) => {
      for (let call = 1; call < upLoad.calls; call++) await client.callTool(echo);
    }),
  );
  await delay(restMs);
  const pids = { supervisor: up.pid, broker: broker.pid, orchestrator: orchestrator.pid, face: face.pid };
  return await Promise.all(
    Object.entries(pids).map(async ([process, pid]) => ({ process, memory: await memoryOf(pid) })),
  );
}

async function startUp(file: string, home: string) {
  const env = { ...process.env, SIGNALBOX_LOG: 'error', XDG_CACHE_HOME: home };
  const up = spawn(process.execPath, [command, 'up', '--config', file, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  });
  const exited = once(up, 'exit');
  const end = async (): Promise<void> => {
    up.kill();
    await exited;
  };
  const ended = exited.then(() => Promise.reject(new Error('signalbox up ended')));
  ended.catch(() => {});
  const [line] = await Promise.race([once(createInterface(up.stdout), 'line'), ended]);
  return { pid: up.pid!, ready: JSON.parse(line) as UpReady, [Symbol.asyncDispose]: end };
}

/** Issues a token to each agent. */
async function tokensOf({ broker }: UpReady): Promise<Record<string, string>> {
  const token = (await readFile(broker.operatorTokenFile, 'utf8')).trim();
  await using operator = await connectBroker({ url: broker.url, token, agent: 'operator' });
  const tokens: Record<string, string> = {};
  for (let at = 0; at < upLoad.clients; at++) {
    const agent = `agent-${at}`;
    tokens[agent] = (await issueToken(operator, { agent, role: 'worker' })).token;
  }
  return tokens;
}
