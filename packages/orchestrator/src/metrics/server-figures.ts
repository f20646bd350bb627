import type { McpHost, ServerStatus } from '@signalbox/mcp-host';
import { type OrchestratorFigures, orchestratorFigureLimits, orchestratorMetrics } from '@signalbox/protocol';
import { Counter, type Sample } from '@signalbox/serving/monitoring';
import type { CallScheduler } from '../scheduling/call-scheduler.ts';
import { labelValue } from './call-meter.ts';

const openness = { closed: 0, half_open: 0.5, open: 1 } as const;
const troubled = new Set<ServerStatus['state']>(['backing_off', 'away', 'ejected', 'refused', 'needs_auth']);
const { samples: maxServers, problems: maxProblems, problemLength } = orchestratorFigureLimits;

/** The dependencies of {@link ServerFigures}. */
export interface ServerFiguresDeps {
  host: Pick<McpHost, 'servers'>;
  scheduler: Pick<CallScheduler, 'serverLoad' | 'running' | 'waiting'>;
}

/** Reads the present state of the hosted servers. */
export class ServerFigures {
  readonly #deps: ServerFiguresDeps;
  readonly #restarts = new Counter(orchestratorMetrics.restarts, maxServers);
  /** The restarts that each server reported last. The number falls when an instance ends for good. */
  #toldRestarts = new Map<string, number>();

  constructor(deps: ServerFiguresDeps) {
    this.#deps = deps;
  }

  /** Returns the figures of all hosted servers, and sentences about their problems. */
  collect(): { figures: OrchestratorFigures; problems: string[] } {
    const { host, scheduler } = this.#deps;
    const servers = host.servers().slice(0, maxServers - 1);
    this.#countRestarts(servers);
    const loads = servers.map(({ name }) => ({ name, ...scheduler.serverLoad(name) }));
    return {
      figures: {
        running: loadSamples(loads, 'running', scheduler.running),
        waiting: loadSamples(loads, 'waiting', scheduler.waiting),
        servers: servers.map(({ name, state }) => [[labelValue(name), state], 1]),
        circuits: servers.map(({ name, circuit }) => [[labelValue(name)], openness[circuit]]),
        restarts: this.#restarts.collect().samples,
      },
      problems: servers.flatMap(problemsOf).slice(0, maxProblems),
    };
  }

  #countRestarts(servers: readonly ServerStatus[]): void {
    for (const { name, restarts } of servers)
      this.#restarts.add(labelValue(name), '', Math.max(0, restarts - (this.#toldRestarts.get(name) ?? 0)));
    this.#toldRestarts = new Map(servers.map(({ name, restarts }) => [name, restarts]));
  }
}

/** Returns the calls of each server. Calls of tools that no hosted server lists, such as capabilities, count under `other`. */
function loadSamples(
  loads: readonly { name: string; running: number; waiting: number }[],
  what: 'running' | 'waiting',
  total: number,
): Sample[] {
  const samples = loads.map((load): Sample => [[labelValue(load.name)], load[what]]);
  const ofServers = loads.reduce((sum, load) => sum + load[what], 0);
  return [...samples, [['other'], total - ofServers]];
}

function problemsOf({ name, state, circuit }: ServerStatus): string[] {
  const server = `server '${name}'`;
  const problems = [
    ...(troubled.has(state) ? [`${server} is in the state ${state}`] : []),
    ...(circuit === 'open' ? [`the circuit of ${server} is open`] : []),
  ];
  return problems.map((problem) => problem.slice(0, problemLength));
}
