import { printNotes } from '../terminal/output.ts';

/** The wait before the first note, in milliseconds. Each further one is twice as long, up to the longest. */
const firstMs = 1000;
const longestMs = 30_000;

/** Returns what a command waits for, as in `the broker to answer`; nothing if there is nothing to tell. */
export type WaitingText = () => string | undefined | Promise<string | undefined>;

/**
 * Tells people on standard error what their command waits for, after a second and whenever that has changed. Where standard error is no
 * terminal, or the output is JSON, it says nothing: hooks and scripts take what is written there for the result.
 */
export class WaitingNote implements Disposable {
  #isQuiet: boolean;
  #text: WaitingText | undefined;
  #said: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor({ json = false }: { json?: boolean }) {
    this.#isQuiet = json || !process.stderr.isTTY;
  }

  /** Replaces what is waited for. The time until the note begins anew. */
  for(text: WaitingText): void {
    if (this.#isQuiet) return;
    this.#text = text;
    this.#wait(firstMs);
  }

  /** Ends the notes for good: the command is done, or shows by itself how things are. */
  [Symbol.dispose](): void {
    this.#isQuiet = true;
    this.#text = undefined;
    clearTimeout(this.#timer);
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#tell(ms), ms);
    this.#timer.unref();
  }

  async #tell(ms: number): Promise<void> {
    const asked = this.#text;
    const text = await textOf(asked);
    // The wait may be over by now, or be for another thing.
    if (asked === undefined || asked !== this.#text) return;
    // A figure that grows is no news.
    const news = text?.replace(/\d+/g, '');
    if (text !== undefined && news !== this.#said) printNotes(`signalbox: waiting for ${text}`);
    this.#said = news ?? this.#said;
    this.#wait(Math.min(ms * 2, longestMs));
  }
}

async function textOf(text: WaitingText | undefined): Promise<string | undefined> {
  try {
    return await text?.();
  } catch {
    // The command itself says what is wrong.
    return undefined;
  }
}
