import type { CallEnd, CallState } from './process-messages.ts';

/** One call as its callers saw it. `open` until it ended; an `orphan`'s caller died before it could know. */
export interface CallEntry {
  readonly id: string;
  readonly worker: string;
  readonly tool: string;
  state: 'open' | 'ended' | 'orphan' | 'silent';
  end?: CallEnd;
  /** The answer of the orchestrator about an orphan. */
  asked?: { state: CallState; result: boolean };
}

/** The time after its deadline in which a call must report its end, in milliseconds. */
const graceMs = 2_000;
/** The time that the successor of an orphan's caller has to start and ask about it. */
const orphanMs = 30_000;

/** Records every call and note, and what was promised to its sender. */
export class Ledger {
  readonly calls = new Map<string, CallEntry>();
  /** Notes by id; true with a receipt. */
  readonly notes = new Map<string, boolean>();
  /** Calls that ended more than once. */
  endedTwice = 0;
  /** Calls that are no longer open. */
  settled = 0;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #waiting: (() => void)[] = [];

  open(call: { id: string; worker: string; tool: string; timeoutMs: number }): void {
    const { id, worker, tool, timeoutMs } = call;
    this.calls.set(id, { id, worker, tool, state: 'open' });
    this.#expectWithin(id, timeoutMs + graceMs);
  }

  ended(id: string, end: CallEnd): void {
    const call = this.calls.get(id)!;
    if (call.state !== 'open') this.endedTwice++;
    call.state = 'ended';
    call.end = end;
    this.#settled(id);
  }

  /** The calls that this worker's death left without a caller. */
  orphaned(worker: string): string[] {
    const orphans = [...this.calls.values()].filter(
      (call) => call.worker === worker && call.state === 'open',
    );
    for (const call of orphans) {
      call.state = 'orphan';
      this.#expectWithin(call.id, orphanMs);
    }
    return orphans.map(({ id }) => id);
  }

  asked(id: string, answer: { state: CallState; result: boolean }): void {
    this.calls.get(id)!.asked = answer;
    this.#settled(id);
  }

  /** Resolves when nothing is open: each call has ended, has been asked about, or is overdue and counts as silent. */
  async quiet(): Promise<void> {
    while (this.#timers.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #expectWithin(id: string, ms: number): void {
    clearTimeout(this.#timers.get(id));
    const overdue = (): void => {
      const call = this.calls.get(id)!;
      if (call.state === 'orphan') call.asked = { state: 'unanswered', result: false };
      else call.state = 'silent';
      this.#settled(id);
    };
    this.#timers.set(id, setTimeout(overdue, ms));
  }

  #settled(id: string): void {
    clearTimeout(this.#timers.get(id));
    if (this.#timers.delete(id)) this.settled++;
    if (this.#timers.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
