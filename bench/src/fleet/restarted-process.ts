import { type Child, startProcess } from '../processes.ts';
import { monotonicMs } from './monotonic-clock.ts';

/** A process that can be killed and is started again at once, as a supervisor would. Its facts hold its `pid`. */
export interface RestartedProcess extends AsyncDisposable {
  /** The facts of its first life. */
  facts: Record<string, string>;
  ask: Child['ask'];
  /**
   * kill -9. `onKill` is told the time just before it, of the monotonic clock that all processes share. Resolves when the
   * new process is ready, with the milliseconds since then.
   */
  kill(onKill: (at: number) => void): Promise<number>;
}

/** `next` is the setup of all lives but the first. */
export async function startRestarted<Setup>(
  script: URL,
  first: Setup,
  next: (facts: Record<string, string>) => Setup,
): Promise<RestartedProcess> {
  let living = await startProcess(script, first);
  const { facts } = living;
  return {
    facts,
    ask: (order, timeoutMs) => living.ask(order, timeoutMs),
    async kill(onKill) {
      const at = monotonicMs();
      onKill(at);
      process.kill(Number(living.facts.pid), 'SIGKILL');
      await living[Symbol.asyncDispose]();
      living = await startProcess(script, next(facts));
      return monotonicMs() - at;
    },
    [Symbol.asyncDispose]: () => living[Symbol.asyncDispose](),
  };
}
