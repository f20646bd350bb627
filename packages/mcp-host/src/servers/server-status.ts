import type { CallStats } from '../calls/server-calls.ts';
import type { McpServerConfig, ServerSharing } from '../config/server-config.ts';
import { policyOf } from '../config/server-policy.ts';
import type { AskedQuestions } from '../questions/question-counts.ts';
import type { AuthState } from '../server-auth/index.ts';
import type { ToolProblem } from '../tool-calls/index.ts';
import type { StartFailure } from './starts/start-failure.ts';

/**
 * The state of a hosted server or of one of its instances.
 * - `idle`: not started; the first call starts it.
 * - `queued`: its start waits for its turn, or for a process slot.
 * - `away`: the orchestrator that hosts it is not there. It is asked for again and again.
 * - `not_offered`: its orchestrator is there and has never offered it. It is asked for again and again.
 * - `ejected`: it failed too often, or its command is missing. It stays so until a reload.
 * - `refused`: it is a worker of Signalbox. It stays so until a reload.
 * - `needs_auth`: a person has to sign in. It stays so until a reload.
 * - `stopped`: an operator stopped it, or the host is closed.
 * - `disabled`: the configuration disables it.
 */
export type ServerState =
  | 'idle'
  | 'queued'
  | 'starting'
  | 'ready'
  | 'backing_off'
  | 'away'
  | 'not_offered'
  | 'ejected'
  | 'refused'
  | 'needs_auth'
  | 'stopped'
  | 'disabled';

/** The status of a hosted server with all its instances. Times are in milliseconds. */
export interface ServerStatus extends CallStats {
  name: string;
  /** The best state of any instance. */
  state: ServerState;
  transport: McpServerConfig['type'];
  /** The label of the orchestrator that hosts a server elsewhere. */
  label?: string;
  share: ServerSharing;
  lazy: boolean;
  /** The number of instances that are starting, ready or backing off. */
  instances: number;
  /** The process ids of a stdio server, those of processes that are starting included. */
  pids: number[];
  /** The first of {@link pids}. */
  pid?: number;
  /** The uptime of the longest-running instance. */
  uptimeMs?: number;
  /** The number of starts after the first, of all present instances. */
  restarts: number;
  toolCount: number;
  /** The problems of its tools, at most about twenty; free of secrets. */
  toolProblems: readonly ToolProblem[];
  /** The number of calls that wait for an answer of the server. */
  inFlight: number;
  /** The questions that it asked its callers in the middle of calls. */
  questions: AskedQuestions;
  /** The state of the sign-in, for a server that has one. */
  auth?: AuthState;
  /** The last error of any instance, free of secrets. */
  lastError?: string;
  /** The time for which the oldest running start has been under way. */
  startingMs?: number;
  /** The last log messages that it sent; free of secrets, and for operators only. */
  logMessages: string[];
  /** The failure of the last start of an instance that has not started since; free of secrets, and for operators only. */
  startFailure?: StartFailure;
}

/** The status of one instance. */
export interface InstanceStatus {
  state: ServerState;
  pid: number | undefined;
  /** The number of calls that wait for an answer. */
  inFlight: number;
  /** The number of starts after the first. */
  restarts: number;
  /** The time of the last start that succeeded, while the instance is ready; in monotonic milliseconds. */
  upSinceMs: number | undefined;
  /** The time at which the start that is under way began; in monotonic milliseconds. */
  startingSinceMs: number | undefined;
  lastError: string | undefined;
  startFailure: StartFailure | undefined;
  logMessages: readonly string[];
}

/** The reason why no list of a server's tools is known: its first start is running, or no start has succeeded. */
export interface ToolGap {
  state: 'starting' | 'away' | 'failed';
  /** The last error, free of secrets. */
  reason?: string;
}

const bestFirst: readonly ServerState[] = [
  'ready',
  'starting',
  'queued',
  'backing_off',
  'away',
  'not_offered',
  'needs_auth',
  'ejected',
  'refused',
  'stopped',
  'disabled',
  'idle',
];

/** Returns the best state of these instances; `idle` if there are none. */
export function bestState(instances: readonly { state: ServerState }[]): ServerState {
  const states = new Set(instances.map(({ state }) => state));
  return bestFirst.find((state) => states.has(state)) ?? 'idle';
}

/** The facts that a {@link ServerStatus} is made of. */
export interface StatusFacts {
  name: string;
  config: McpServerConfig;
  state: ServerState;
  instances: readonly InstanceStatus[];
  toolCount: number;
  toolProblems: readonly ToolProblem[];
  calls: CallStats;
  questions: AskedQuestions;
  auth: AuthState | undefined;
  lastError: string | undefined;
  startFailure: StartFailure | undefined;
  nowMs: number;
}

const isUp = new Set<ServerState>(['queued', 'starting', 'ready', 'backing_off']);

/** Returns the status of a server from its facts. */
export function statusOf(facts: StatusFacts): ServerStatus {
  const { name, config, state, instances, auth, lastError, startFailure } = facts;
  const { share, lazy } = policyOf(config);
  const pids = instances.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  const starting = instances.flatMap(({ startingSinceMs }) => startingSinceMs ?? []);
  const upSince = instances.flatMap(({ upSinceMs }) => (upSinceMs === undefined ? [] : [upSinceMs]));
  return {
    name,
    state,
    transport: config.type,
    ...(config.type === 'remote' && { label: config.label }),
    share,
    lazy,
    instances: instances.filter((instance) => isUp.has(instance.state)).length,
    pids,
    ...(pids[0] !== undefined && { pid: pids[0] }),
    ...(upSince.length > 0 && { uptimeMs: facts.nowMs - Math.min(...upSince) }),
    restarts: sum(instances.map(({ restarts }) => restarts)),
    toolCount: facts.toolCount,
    toolProblems: facts.toolProblems,
    inFlight: sum(instances.map(({ inFlight }) => inFlight)),
    ...facts.calls,
    questions: facts.questions,
    logMessages: instances.flatMap(({ logMessages }) => logMessages).slice(-5),
    ...(auth !== undefined && { auth }),
    ...(lastError !== undefined && { lastError }),
    ...(starting.length > 0 && { startingMs: facts.nowMs - Math.min(...starting) }),
    ...(startFailure && { startFailure }),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
