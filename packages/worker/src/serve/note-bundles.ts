import type { StartTimer } from '@signalbox/client/internal';
import { longestTimerMs } from '@signalbox/serving';

/** The most messages of one bundle. */
const maxNotes = 16;
/** The most messages of all bundles. The broker hands out 64 ahead of their ends, and questions must fit among them. */
const maxNotesInAll = 32;
/** The size of the bodies at which a bundle waits no longer, in bytes. */
const maxBytes = 48 * 1024;

/** A message to which nobody waits for a reply. */
export interface Note {
  readonly thread: string | undefined;
  readonly bytes: number;
}

interface Bundle<N> {
  notes: N[];
  cancelTimer: () => void;
}

/**
 * Gathers notes of one thread, so that many of them cost one turn. The first of them waits at most `waitMs`, and the oldest bundle waits no
 * longer once there are many notes in total.
 */
export class NoteBundles<N extends Note> {
  readonly #options: { waitMs: number; startTimer: StartTimer; onReady: (notes: N[]) => void };
  readonly #bundles = new Map<string | undefined, Bundle<N>>();

  constructor(options: { waitMs: number; startTimer: StartTimer; onReady: (notes: N[]) => void }) {
    this.#options = options;
  }

  get count(): number {
    return [...this.#bundles.values()].reduce((sum, { notes }) => sum + notes.length, 0);
  }

  add(note: N): void {
    const { waitMs, startTimer } = this.#options;
    const { thread } = note;
    const bundle = this.#bundles.get(thread) ?? {
      notes: [],
      cancelTimer: startTimer(() => this.#ready(thread), Math.min(waitMs, longestTimerMs)),
    };
    this.#bundles.set(thread, bundle);
    bundle.notes.push(note);
    const bytes = bundle.notes.reduce((sum, one) => sum + one.bytes, 0);
    if (bundle.notes.length >= maxNotes || bytes >= maxBytes) this.#ready(thread);
    const [oldest] = this.#bundles.keys();
    if (this.count >= maxNotesInAll) this.#ready(oldest);
  }

  /** Removes a waiting note. Returns false if it does not wait. */
  remove(note: N): boolean {
    const bundle = this.#bundles.get(note.thread);
    const at = bundle?.notes.indexOf(note) ?? -1;
    if (!bundle || at < 0) return false;
    bundle.notes.splice(at, 1);
    if (bundle.notes.length === 0) this.#take(note.thread);
    return true;
  }

  /** Returns all waiting notes; no bundle is ready any more. */
  stop(): N[] {
    return [...this.#bundles.keys()].flatMap((thread) => this.#take(thread));
  }

  #ready(thread: string | undefined): void {
    this.#options.onReady(this.#take(thread));
  }

  #take(thread: string | undefined): N[] {
    const bundle = this.#bundles.get(thread);
    this.#bundles.delete(thread);
    bundle?.cancelTimer();
    return bundle?.notes ?? [];
  }
}
