import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FleetBrokerSetup } from './fleet-broker-process.ts';
import { type RestartedProcess, startRestarted } from './restarted-process.ts';

/** A broker, and the directory that belongs to it. */
export interface FleetBroker extends AsyncDisposable {
  url: string;
  home: string;
  /** The directory in which its processes keep compiled code. */
  compiled: string;
  /** The tokens by agent. */
  tokens: Readonly<Record<string, string>>;
  process: RestartedProcess;
}

/** Starts a broker. `agents` holds the role of each agent. */
export async function startFleetBroker(agents: Readonly<Record<string, string>>): Promise<FleetBroker> {
  await using opened = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'signalbox-bench-fleet-'));
  opened.defer(() => rm(home, { recursive: true, force: true }));
  const compiled = join(home, 'compiled');
  const setup: FleetBrokerSetup = { dataDir: join(home, 'state'), port: 0, agents, compiled };
  const script = new URL('./fleet-broker-process.ts', import.meta.url);
  const process = opened.use(
    await startRestarted(script, setup, ({ port }) => ({ ...setup, port: Number(port), agents: {} })),
  );
  const { url, port: _, pid: __, ...tokens } = process.facts;
  const resources = opened.move();
  return {
    url: url!,
    home,
    compiled,
    tokens,
    process,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The roles of agents that are plain workers. */
export function asWorkers(agents: readonly string[]): Record<string, string> {
  return Object.fromEntries(agents.map((agent) => [agent, 'worker']));
}
