import { startExitDeadline, stopTimeoutMs } from '../../process/exit-deadline.ts';
import { exitCodes } from '../../terminal/exit-codes.ts';

/** The agents, as signals act on them. */
interface Stoppable {
  stop(): void;
  kill(): void;
}

/**
 * The first SIGTERM, SIGHUP or SIGINT asks the agents to end, a second one kills them, and a third leaves all to the
 * cleanup process. The agents have `graceMs` to end; if this process is still there some time after that, it leaves all to the cleanup
 * process, too. On a terminal Ctrl-C reaches the agent itself, which may use it for something else. Then this process ignores SIGINT.
 */
export function stopOnSignals(
  agents: Stoppable,
  { terminal, graceMs }: { terminal: boolean; graceMs: number },
): Disposable & { readonly asked: boolean } {
  let asked = 0;
  const ask = (): void => {
    asked++;
    if (asked === 1) startExitDeadline(graceMs + stopTimeoutMs);
    if (asked === 1) agents.stop();
    else if (asked === 2) agents.kill();
    else process.exit(exitCodes.interrupted);
  };
  const leaveToAgent = (): void => {};
  const listeners = { SIGTERM: ask, SIGHUP: ask, SIGINT: terminal ? leaveToAgent : ask };
  const each = Object.entries(listeners) as [NodeJS.Signals, () => void][];
  for (const [signal, listener] of each) process.on(signal, listener);
  return {
    get asked() {
      return asked > 0;
    },
    [Symbol.dispose]: () => {
      for (const [signal, listener] of each) process.off(signal, listener);
    },
  };
}
