import type { Asker } from '../executor/orchestrator-question.ts';
import { type TaskFields, workingTask } from './task-fields.ts';
import { beginTask } from './task-requests.ts';

/**
 * The time after which a call becomes a task by default, in milliseconds. The model goes on without the result of a task, so a call that
 * has a result soon is none.
 */
const defaultAfterMs = 45_000;

/** The longest pause before the orchestrator is asked once more, in milliseconds. */
const askAgainMs = 5_000;

/** Makes a task of a call that takes long, or that need not end soon: it goes on although nobody waits, and its reply is kept. */
export class TaskWait implements Disposable {
  /** Resolves when the call has become a task, and the orchestrator has stored that on disk. */
  readonly began: Promise<{ task: TaskFields }>;
  readonly #stop = new AbortController();
  readonly #hurry = new AbortController();
  #isTask = false;

  /** Starts the timer. `againMs` is the pause after a request that was not answered. */
  constructor(
    asker: Asker,
    callId: string,
    afterMs = defaultAfterMs,
    againMs = Math.min(afterMs, askAgainMs),
  ) {
    this.began = this.#begin(asker, callId, afterMs, againMs);
  }

  /** True if the call has become a task. */
  get isTask(): boolean {
    return this.#isTask;
  }

  /** Makes the call a task now, instead of after the time. */
  hurry(): void {
    this.#hurry.abort();
  }

  /** Asks again while the orchestrator does not know the call yet or is unreachable. Until it answers, the call is an ordinary one. */
  async #begin(
    asker: Asker,
    callId: string,
    afterMs: number,
    againMs: number,
  ): Promise<{ task: TaskFields }> {
    const { signal } = this.#stop;
    const first = AbortSignal.any([signal, this.#hurry.signal]);
    for (let tries = 0; ; tries++) {
      if (tries === 0) await pause(afterMs, first);
      else await pause(againMs, signal);
      // The call has ended, and nobody waits for this promise any more.
      if (signal.aborted) return new Promise(() => {});
      const { result: task } = await beginTask(asker, callId, signal);
      if (task?.state !== 'working' || signal.aborted) continue;
      this.#isTask = true;
      return { task: workingTask(callId, task) };
    }
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }
}

/** Resolves after a time in milliseconds, or when the signal aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    timer.unref();
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
