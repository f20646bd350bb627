import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unlessAborted, waitFor } from '../abortable.ts';
import { type Child, startProcess } from '../processes.ts';
import { emptyTally } from './call-tallies.ts';
import type { FleetReport, KillRound, Victim } from './fleet-report.ts';
import { type FleetStack, startFleet } from './fleet-stack.ts';
import type {
  CallsMade,
  Recovered,
  RecoveryCallersSetup,
  RecoveryOrder,
} from './recovery-callers-process.ts';

export interface RecoveryOptions {
  rounds: number;
  signal: AbortSignal;
  tell: (line: string) => void;
}

const victims: readonly Victim[] = ['broker', 'orchestrator', 'server'];
const toolMs = 20;
/** Clients and the host pace those that come back within 10 s of a loss; a fleet that has run for a while is what is asked for. */
const calmMs = 10_500;
const answerMs = 60_000;

/** Workers that keep calling, while the broker, the orchestrator and the MCP server are killed in turn. */
export async function recoveries(
  workers: number,
  options: RecoveryOptions,
): Promise<Pick<FleetReport, 'recovery' | 'calm'>> {
  const { rounds, signal, tell } = options;
  const agents = Array.from({ length: workers }, (_, n) => `worker-${n + 1}`);
  let counterFile = '';
  await using stack = await startFleet((home) => {
    counterFile = join(home, 'counted');
    return { name: 'counting', args: [countingServer, counterFile] };
  }, agents);
  const setup: RecoveryCallersSetup = {
    url: stack.url,
    tool: 'mcp_counting__count',
    toolMs,
    counterFile,
    workers: agents.map((agent) => ({ agent, token: stack.tokens[agent]! })),
  };
  await using callers = await startProcess(new URL('./recovery-callers-process.ts', import.meta.url), setup);
  const order = <T>(one: RecoveryOrder): Promise<T> =>
    unlessAborted(signal, () => callers.ask<T>(one, answerMs));
  await order({ op: 'start' });
  const kills = new Map<Victim, KillRound[]>(victims.map((victim) => [victim, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const victim of victims) {
      await waitFor(calmMs, signal);
      const kill = await unlessAborted(signal, () => killOnce(victim, stack, callers));
      kills.get(victim)!.push(kill);
      tell(`round ${round} of ${rounds}: kill -9 of the ${victim}: ${summary(kill)}`);
    }
  }
  const { tallies, calm } = await order<CallsMade>({ op: 'stop' });
  const recovery = victims.map((victim) => ({
    victim,
    kills: kills.get(victim)!,
    tally: tallies[victim] ?? emptyTally(),
  }));
  return { recovery, calm };
}

const countingServer = fileURLToPath(new URL('./counting-server-process.ts', import.meta.url));

async function killOnce(victim: Victim, stack: FleetStack, callers: Child): Promise<KillRound> {
  const told = Promise.withResolvers<Recovered>();
  const [{ workersMs, connectedMs }, readyMs] = await Promise.all([
    told.promise,
    stack.kill(victim, (at) => {
      const order: RecoveryOrder = { op: 'killing', victim, at };
      callers.ask<Recovered>(order, answerMs).then(told.resolve, told.reject);
    }),
  ]);
  const connected = connectedMs.at(-1) ?? undefined;
  return {
    workersMs,
    ...(readyMs !== undefined && { readyMs }),
    ...(connected !== undefined && { connectedMs: connected }),
  };
}

function summary({ workersMs, readyMs, connectedMs }: KillRound): string {
  const ms = (value: number | null | undefined): string =>
    value == null ? 'not in time' : `${value.toFixed(0)} ms`;
  const ready = readyMs === undefined ? '' : `, ready after ${ms(readyMs)}`;
  const connected = connectedMs === undefined ? '' : `, all connected after ${ms(connectedMs)}`;
  return `half of the workers after ${ms(workersMs[Math.floor(workersMs.length / 2)])}, the last after ${ms(workersMs.at(-1))}${ready}${connected}`;
}
