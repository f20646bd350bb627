import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { within } from '@signalbox/serving';
import { startAgentProcess } from '../../runner/agent-process.ts';
import { bytesTo, talkOutput } from '../talk-streams.ts';
import { TurnStream } from '../turn-output.ts';
import { openAcpConnection } from './acp-connection.ts';
import { type AcpOffers, initialize, openSession } from './acp-session.ts';
import { talkFailure } from './turn-verdict.ts';

/** The ways of an agent that speaks ACP, as far as they show without a turn. */
export interface AcpReport extends AcpOffers {
  /** The ids of its modes, and the one in which it begins; absent if it names none. */
  modes?: readonly string[];
  currentMode?: string;
  /** True if it starts an MCP server that is named in a session. */
  startsServer: boolean;
  /** Why it begins no session. */
  problem?: string;
}

/** The longest time for the whole check, and for the start of the MCP server after a session has begun, in milliseconds. */
const limitMs = 60_000;
const serverMs = 10_000;
const graceMs = 2_000;
const pollMs = 100;

/** Starts an agent, begins a session with an MCP server that only notes its start, and ends it. Rejects with `SignalboxError` `usage`. */
export async function checkAcpAgent(start: {
  program: string;
  argv: readonly string[];
  cwd: string;
  env: Record<string, string>;
  version: string;
}): Promise<AcpReport> {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-check-'));
  const output = talkOutput();
  const child = await startAgentProcess({
    ...start,
    stdin: 'open',
    output: { stdout: output.writer, stderr: new TurnStream() },
    onOutput: () => {},
    graceMs,
  });
  try {
    const connection = await openAcpConnection(
      { input: bytesTo(child.input!), output: output.stream },
      {
        onUpdate: () => {},
        onAsked: () => {},
        onPermission: async () => ({ outcome: 'cancelled' }),
      },
    );
    const timer = setTimeout(() => connection.close(), limitMs);
    try {
      const offers = await initialize(connection, start.version);
      return { ...offers, ...(await begun(connection, offers, { cwd: start.cwd, directory })) };
    } catch (thrown) {
      // Its last words may say more than the lost connection does.
      child.stop();
      await child.exited;
      await child.cleanUp();
      const told = child.tail.lastLine(400);
      const why = talkFailure(thrown).failed ?? messageOf(thrown);
      throw new SignalboxError('usage', `it does not speak ACP: ${told === '' ? why : told}`, {
        cause: thrown,
      });
    } finally {
      clearTimeout(timer);
      connection.close();
    }
  } finally {
    child.input?.end();
    await within(child.exited, graceMs);
    child.stop();
    await child.exited;
    await child.cleanUp();
    await rm(directory, { recursive: true, force: true });
  }
}

/** The program of an MCP server without tools, which makes a file when it starts. */
const checkServer = (file: string): string => `
require('node:fs').writeFileSync(${JSON.stringify(file)}, '');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const about = { capabilities: { tools: {} }, serverInfo: { name: 'check', version: '1.0.0' } };
  const result = method === 'initialize' ? { protocolVersion: params.protocolVersion, ...about } : { tools: [] };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
});`;

async function begun(
  connection: Awaited<ReturnType<typeof openAcpConnection>>,
  offers: AcpOffers,
  { cwd, directory }: { cwd: string; directory: string },
): Promise<Omit<AcpReport, keyof AcpOffers>> {
  const started = join(directory, 'started');
  const server = { command: process.execPath, args: ['-e', checkServer(started)], env: {} };
  const quiet = { warn: () => {}, onLoading: () => {} };
  try {
    const session = await openSession(connection, offers, { cwd, server, session: undefined, ...quiet });
    const { modes, currentMode } = session;
    return {
      ...(modes && { modes }),
      ...(currentMode !== undefined && { currentMode }),
      // Some agents start it after their answer.
      startsServer: await startOf(started, serverMs),
    };
  } catch (thrown) {
    return { startsServer: existsSync(started), problem: talkFailure(thrown).failed ?? messageOf(thrown) };
  }
}

/** Waits for a file. Resolves with false if it does not come in time. */
async function startOf(file: string, waitMs: number): Promise<boolean> {
  const until = performance.now() + waitMs;
  while (!existsSync(file)) {
    if (performance.now() > until) return false;
    await delay(pollMs);
  }
  return true;
}
