import { setTimeout as delay } from 'node:timers/promises';
import type { Asker } from '../executor/orchestrator-question.ts';
import { type TaskFields, workingTask } from './task-fields.ts';
import { beginTask } from './task-requests.ts';

/** Makes a task of a call that takes long. */
export class TaskWait implements Disposable {
  /** Resolves when the call has become a task, and the orchestrator has stored that on disk. */
  readonly began: Promise<{ task: TaskFields }>;
  readonly #stop = new AbortController();
  #isTask = false;

  /** Starts the timer. */
  constructor(asker: Asker, callId: string, afterMs: number) {
    this.began = this.#begin(asker, callId, afterMs);
  }

  /** True if the call has become a task. */
  get isTask(): boolean {
    return this.#isTask;
  }

  /** Asks again while the orchestrator does not know the call yet or is unreachable. Until it answers, the call is an ordinary one. */
  async #begin(asker: Asker, callId: string, afterMs: number): Promise<{ task: TaskFields }> {
    const { signal } = this.#stop;
    for (;;) {
      await delay(afterMs, undefined, { signal, ref: false }).catch(() => {});
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
