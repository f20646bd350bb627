import { join } from 'node:path';
import { asWorkers, startFleetBroker } from './fleet-broker.ts';
import type { FleetOrchestratorSetup } from './fleet-orchestrator-process.ts';
import type { Victim } from './fleet-report.ts';
import { monotonicMs } from './monotonic-clock.ts';
import { startRestarted } from './restarted-process.ts';

/** Broker and orchestrator with one MCP server, each in a process that can be killed and comes again at once. */
export interface FleetStack extends AsyncDisposable {
  url: string;
  /** Of each of the agents. */
  tokens: Readonly<Record<string, string>>;
  /** The processes that run now. */
  pids(): Promise<Record<Victim, number>>;
  /**
   * kill -9; see `RestartedProcess`. The MCP server's orchestrator starts it again: that is resolved at once, with undefined.
   */
  kill(victim: Victim, onKill: (at: number) => void): Promise<number | undefined>;
}

const answerMs = 10_000;

/** `server` is the MCP server, its arguments those of Node; `agents` are workers. */
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
