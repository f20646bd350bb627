import type { AuthState } from '@signalbox/server-auth';
import type { CallStats } from '../calls/server-calls.ts';
import type { McpServerConfig } from '../config/server-config.ts';
import { policyOf } from '../config/server-policy.ts';
import type { ServerState, ServerStatus } from '../host/host-api.ts';
import type { InstanceReport } from './instances/instance-condition.ts';

const bestFirst: readonly ServerState[] = [
  'ready',
  'starting',
  'backing_off',
  'needs_auth',
  'ejected',
  'stopped',
  'disabled',
  'idle',
];

/** The state of a server with these instances: of the one that fares best. */
export function bestState(instances: readonly { state: ServerState }[]): ServerState {
  const states = new Set(instances.map(({ state }) => state));
  return bestFirst.find((state) => states.has(state)) ?? 'idle';
}

export interface StatusFacts {
  name: string;
  config: McpServerConfig;
  state: ServerState;
  instances: readonly InstanceReport[];
  toolCount: number;
  calls: CallStats;
  auth: AuthState | undefined;
  lastError: string | undefined;
  nowMs: number;
}

const isUp = new Set<ServerState>(['starting', 'ready', 'backing_off']);

export function statusOf(facts: StatusFacts): ServerStatus {
  const { name, config, state, instances, auth, lastError } = facts;
  const { share, lazy } = policyOf(config);
  const pids = instances.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  const upSince = instances.flatMap(({ upSinceMs }) => (upSinceMs === undefined ? [] : [upSinceMs]));
  return {
    name,
    state,
    transport: config.type,
    share,
    lazy,
    instances: instances.filter((instance) => isUp.has(instance.state)).length,
    pids,
    ...(pids[0] !== undefined && { pid: pids[0] }),
    ...(upSince.length > 0 && { uptimeMs: facts.nowMs - Math.min(...upSince) }),
    restarts: sum(instances.map(({ restarts }) => restarts)),
    toolCount: facts.toolCount,
    inFlight: sum(instances.map(({ inFlight }) => inFlight)),
    ...facts.calls,
    ...(auth !== undefined && { auth }),
    ...(lastError !== undefined && { lastError }),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
