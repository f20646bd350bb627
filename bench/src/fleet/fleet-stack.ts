import { join } from 'node:path';
import { asWorkers, startFleetBroker } from './fleet-broker.ts';
import type { FleetOrchestratorSetup } from './fleet-orchestrator-process.ts';
import type { Victim } from './fleet-report.ts';
import { monotonicMs } from './monotonic-clock.ts';
import { startRestarted } from './restarted-process.ts';

/** A broker and an orchestrator with one MCP server. Each is a process that can be killed and is started again at once. */
export interface FleetStack extends AsyncDisposable {
  url: string;
  /** The token of each agent. */
  tokens: Readonly<Record<string, string>>;
  /** The processes that run now. */
  pids(): Promise<Record<Victim, number>>;
  /**
   * Kills a process with signal 9; see `RestartedProcess`. For the MCP server, which its orchestrator starts again, this resolves at once
   * with undefined.
   */
  kill(victim: Victim, onKill: (at: number) => void): Promise<number | undefined>;
}

const answerMs = 10_000;

/** Starts a fleet. `server` is the MCP server, given as arguments of Node; `agents` are workers. */
export async function startFleet(
  server: (home: string) => FleetOrchestratorSetup['server'],
  agents: readonly string[],
): Promise<FleetStack> {
  await using opened = new AsyncDisposableStack();
  const broker = opened.use(await startFleetBroker({ orchestrator: 'orchestrator', ...asWorkers(agents) }));
  const { url, home, compiled, tokens } = broker;
  const setup: FleetOrchestratorSetup = {
    url,
    token: tokens.orchestrator!,
    journalFile: join(home, 'journal.db'),
    server: server(home),
    compiled,
  };
  const script = new URL('./fleet-orchestrator-process.ts', import.meta.url);
  const orchestrator = opened.use(await startRestarted(script, setup, () => setup));
  const serverPid = async (): Promise<number> => {
    const pid = await orchestrator.ask<number | null>('server', answerMs);
    if (pid === null) throw new Error('the MCP server has no process');
    return pid;
  };
  const killServer = async (onKill: (at: number) => void): Promise<undefined> => {
    const pid = await serverPid();
    onKill(monotonicMs());
    process.kill(pid, 'SIGKILL');
  };
  const resources = opened.move();
  return {
    url,
    tokens,
    pids: async () => ({
      broker: Number(broker.process.facts.pid),
      orchestrator: Number(orchestrator.facts.pid),
      server: await serverPid(),
    }),
    kill: async (victim, onKill) => {
      if (victim === 'server') return await killServer(onKill);
      return await (victim === 'broker' ? broker.process : orchestrator).kill(onKill);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
