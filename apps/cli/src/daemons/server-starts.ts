import type { OrchestratorReport, ServerStart } from '@signalbox/daemon/orchestrator';
import { startFailureLines, stderrLines } from '../servers/server-report.ts';
import { count } from '../terminal/output.ts';
import { stillStarting } from '../tools/not-ready.ts';

/** The wait before the first line about servers that are still starting, in milliseconds. Each further wait is twice as long. */
const firstWaitMs = 2000;

/** The lines of standard error that show why a start failed. */
const shownStderrLines = 20;

/**
 * Shows how the servers of an orchestrator start: a failure at once, from time to time those that are still starting, and a server
 * that is ready later than the orchestrator's report.
 */
export class ServerStarts implements Disposable {
  readonly #print: (lines: string[]) => void;
  readonly #now: () => number;
  readonly #sinceMs: number;
  readonly #pending: Set<string>;
  #isReported = false;
  #timer: NodeJS.Timeout | undefined;

  /** `now` is in monotonic milliseconds. */
  constructor(servers: readonly string[], print: (lines: string[]) => void, now = () => performance.now()) {
    this.#pending = new Set(servers);
    this.#print = print;
    this.#now = now;
    this.#sinceMs = now();
    this.#wait(firstWaitMs);
  }

  /** Takes the outcome of a first start. */
  take(start: ServerStart): void {
    this.#pending.delete(start.server);
    if (this.#pending.size === 0) clearTimeout(this.#timer);
    if (start.error !== undefined || this.#isReported) this.#print(startLines(start));
  }

  /** Notes that the orchestrator's report was printed, which names the servers that are ready by then. */
  reported({ notReady }: Pick<OrchestratorReport, 'notReady'>): void {
    this.#isReported = true;
    const starting = new Set(
      notReady.filter(({ state }) => state === 'starting').map(({ server }) => server),
    );
    for (const server of this.#pending) if (!starting.has(server)) this.#pending.delete(server);
    if (this.#pending.size === 0) clearTimeout(this.#timer);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #wait(ms: number): void {
    if (this.#pending.size === 0) return;
    this.#timer = setTimeout(() => {
      const seconds = Math.round((this.#now() - this.#sinceMs) / 1000);
      this.#print([`${stillStarting([...this.#pending])} (${seconds} s)`]);
      this.#wait(ms * 2);
    }, ms);
  }
}

/** The states of a server whose start has failed. A server elsewhere may also be awaited. */
const failed: ReadonlySet<string> = new Set(['backing_off', 'ejected', 'refused', 'needs_auth']);

/** Writes the outcome of the first start of a server, with all that shows why it failed. */
export function startLines({ server, state, tools, error, failure, stderr }: ServerStart): string[] {
  if (state === 'ready') return [`${server} is ready: ${count(tools, 'tool')}`];
  if (error === undefined) return [`${server} is ${state}`];
  if (!failed.has(state)) return [`${server} is not ready: ${error}`];
  return [
    `${server} failed to start: ${error}`,
    ...startFailureLines(failure),
    ...stderrLines(stderr, shownStderrLines),
  ];
}
