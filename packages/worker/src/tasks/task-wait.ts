import { setTimeout as delay } from 'node:timers/promises';
import type { Asker } from '../executor/orchestrator-question.ts';
import { type TaskFields, workingTask } from './task-fields.ts';
import { beginTask } from './task-requests.ts';

/** Makes a task of a call that takes long. */
export class TaskWait implements Disposable {
  /** Resolves when the call is a task, and the orchestrator has that on disk. */
  readonly began: Promise<{ task: TaskFields }>;
  readonly #stop = new AbortController();
  #isTask = false;

  /** The time counts from now on. Without one, there is no task. */
  constructor(asker: Asker, callId: string, afterMs: number | undefined) {
    this.began = afterMs === undefined ? new Promise(() => {}) : this.#begin(asker, callId, afterMs);
  }

  /** Whether the call is a task. */
  get isTask(): boolean {
    return this.#isTask;
  }

  /** An orchestrator that does not know the call yet, or is away, is asked again: until it answers, the call is one like any other. */
  async #begin(asker: Asker, callId: string, afterMs: number): Promise<{ task: TaskFields }> {
    const { signal } = this.#stop;
    for (;;) {
      await delay(afterMs, undefined, { signal, ref: false }).catch(() => {});
      // It has ended, and nobody waits for this any more.
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
