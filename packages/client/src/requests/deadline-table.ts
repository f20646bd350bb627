import { longestTimerMs } from '@signalbox/serving';
import type { StartTimer } from '../clock.ts';

interface Entry {
  at: number;
  run: (() => void) | undefined;
}

/** A deadline, as `cancel` takes it. */
export type Deadline = Entry;

/**
 * Runs any number of deadlines on one timer. It is a binary heap whose cancelled entries are swept when they outnumber the
 * live ones, so that a request that is answered long before its deadline costs two array writes. A timer of its own for each
 * request costs more (ADR 10).
 */
export class DeadlineTable {
  readonly #now: () => number;
  readonly #startTimer: StartTimer;
  #heap: Entry[] = [];
  #cancelled = 0;
  #armedFor = Number.POSITIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: { now: () => number; startTimer: StartTimer }) {
    this.#now = clock.now;
    this.#startTimer = clock.startTimer;
  }

  /** The number of deadlines that are neither due nor cancelled. */
  get size(): number {
    return this.#heap.length - this.#cancelled;
  }

  /** Calls `run` once when the clock reaches `at`, unless it is cancelled before. */
  add(at: number, run: () => void): Deadline {
    const entry: Entry = { at, run };
    this.#heap.push(entry);
    siftUp(this.#heap, this.#heap.length - 1);
    if (at < this.#armedFor) this.#arm(at);
    return entry;
  }

  /** Cancels a deadline; one that was due has no effect any more. */
  cancel(deadline: Deadline): void {
    if (deadline.run === undefined) return;
    deadline.run = undefined;
    this.#cancelled++;
    if (this.#cancelled > 64 && this.#cancelled * 2 > this.#heap.length) this.#sweep();
  }

  /** Forgets every deadline without running it. */
  clear(): void {
    this.#heap = [];
    this.#cancelled = 0;
    this.#disarm();
  }

  #sweep(): void {
    this.#heap = this.#heap.filter((entry) => entry.run !== undefined);
    for (let i = (this.#heap.length >> 1) - 1; i >= 0; i--) siftDown(this.#heap, i);
    this.#cancelled = 0;
    if (this.#heap.length === 0) this.#disarm();
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#armedFor = Number.POSITIVE_INFINITY;
  }

  #arm(at: number): void {
    this.#disarm();
    this.#armedFor = at;
    const delay = Math.min(longestTimerMs, Math.max(0, Math.ceil(at - this.#now())));
    this.#cancelTimer = this.#startTimer(() => this.#fire(), delay);
  }

  #fire(): void {
    this.#cancelTimer = undefined;
    this.#armedFor = Number.POSITIVE_INFINITY;
    const now = this.#now();
    for (let top = this.#heap[0]; top !== undefined; top = this.#heap[0]) {
      const { run } = top;
      if (run !== undefined && top.at > now) break;
      removeTop(this.#heap);
      if (run === undefined) {
        this.#cancelled--;
      } else {
        top.run = undefined;
        run();
      }
    }
    const next = this.#heap[0];
    if (next !== undefined && next.at < this.#armedFor) this.#arm(next.at);
  }
}

function siftUp(heap: Entry[], from: number): void {
  let at = from;
  const entry = heap[at]!;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (heap[parent]!.at <= entry.at) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = entry;
}

function siftDown(heap: Entry[], from: number): void {
  let at = from;
  const entry = heap[at]!;
  for (;;) {
    let child = at * 2 + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && heap[child + 1]!.at < heap[child]!.at) child++;
    if (heap[child]!.at >= entry.at) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = entry;
}

function removeTop(heap: Entry[]): void {
  const last = heap.pop()!;
  if (heap.length === 0) return;
  heap[0] = last;
  siftDown(heap, 0);
}
