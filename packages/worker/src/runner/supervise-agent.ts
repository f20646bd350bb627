import { setTimeout as delay } from 'node:timers/promises';
import { SignalboxError } from '@signalbox/protocol';
import { backoffMs, RestartBudget } from '@signalbox/serving';
import { type AgentRunOptions, hasFailed, type RunControl, runOnce } from './agent-run.ts';
import type { ProcessEnd } from './run-event.ts';

/** The conditions and the waits for starting a failed process again. Times are in milliseconds. */
interface RestartPolicy {
  firstDelayMs: number;
  longestDelayMs: number;
  /** This many failures within {@link windowMs} are a crash loop, which ends the restarts. */
  failures: number;
  windowMs: number;
}

/** The restart policy of `worker run --restart on-failure`. */
export const defaultRestartPolicy: RestartPolicy = {
  firstDelayMs: 1000,
  longestDelayMs: 30_000,
  failures: 5,
  windowMs: 60_000,
};

/** The options of one agent's processes, and the policy for its restarts. */
export interface SuperviseOptions extends AgentRunOptions {
  /** The policy for starting a failed process again; by default it is never restarted. */
  restart?: RestartPolicy;
  /** The time between two tries of a restart at an unreachable broker, in milliseconds; default 2 s. */
  brokerRetryMs?: number;
  /** Returns a random number for the waits: 0 ≤ value < 1. */
  random?: () => number;
  /** Returns monotonic milliseconds. */
  now?: () => number;
}

/** One agent under supervision. */
export interface SupervisedAgent {
  /**
   * Resolves when the last process has ended, with its exit; `undefined` if the agent was stopped before a process began. Rejects with
   * `SignalboxError` if a process can't be prepared or started; no process and no file is left then.
   */
  readonly ended: Promise<ProcessEnd | undefined>;
  /** Sends TERM, and KILL after the grace, and restarts no more. */
  stop(): void;
  /** Sends KILL, and restarts no more. */
  kill(): void;
}

const defaultBrokerRetryMs = 2000;

/** Runs one agent, and restarts it by its restart policy. */
export function superviseAgent(options: SuperviseOptions): SupervisedAgent {
  const stopping = new AbortController();
  const control: RunControl = { signal: stopping.signal, process: undefined };
  const stop = (): void => {
    stopping.abort();
    control.process?.stop();
  };
  const kill = (): void => {
    stopping.abort();
    control.process?.kill();
  };
  return { ended: supervise(options, control), stop, kill };
}

async function supervise(options: SuperviseOptions, control: RunControl): Promise<ProcessEnd | undefined> {
  const { setup, restart, onEvent, random = Math.random, now = () => performance.now() } = options;
  const { agent } = setup;
  const budget = restart && new RestartBudget(restart.failures - 1, restart.windowMs);
  let end: ProcessEnd | undefined;
  for (let restarts = 0; ; restarts++) {
    end = (await startedRun(options, restarts, control)) ?? end;
    if (control.signal.aborted || end === undefined || !hasFailed(end) || !budget || !restart) return end;
    const { firstDelayMs: firstMs, longestDelayMs: longestMs, failures, windowMs: withinMs } = restart;
    const attempt = budget.spend(now());
    if (attempt === undefined) {
      onEvent({ event: 'gave_up', agent, failures, withinMs });
      return end;
    }
    const inMs = backoffMs({ firstMs, longestMs, jitter: 0.5 }, attempt, random());
    onEvent({ event: 'restarting', agent, inMs, restarts: restarts + 1 });
    await pause(inMs, control.signal);
    if (control.signal.aborted) return end;
  }
}

/** Runs one process. If the broker is unreachable, the first process fails, and a restart waits for the broker. */
async function startedRun(
  options: SuperviseOptions,
  restarts: number,
  control: RunControl,
): Promise<ProcessEnd | undefined> {
  const { onEvent, setup, brokerRetryMs = defaultBrokerRetryMs } = options;
  for (;;) {
    try {
      return await runOnce(options, restarts, control);
    } catch (error) {
      const mayComeBack = restarts > 0 && error instanceof SignalboxError && error.retryable;
      if (!mayComeBack || control.process) throw error;
      const message = `waiting for the broker, to start the agent again: ${error.message}`;
      onEvent({ event: 'warning', agent: setup.agent, code: 'no_token_yet', message });
      await pause(brokerRetryMs, control.signal);
      if (control.signal.aborted) return undefined;
    }
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
}
