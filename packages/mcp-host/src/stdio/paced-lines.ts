import type { NoticeBudget } from '../notice-budget.ts';

/** The callbacks of {@link PacedLines}. */
export interface PacedLinesDeps {
  /** Handles a line. Returns true if the line is an awaited answer, which costs nothing. */
  take: (line: string) => boolean;
  /** Called when no further lines should come. */
  onPause: () => void;
  /** Called when further lines may come. */
  onResume: () => void;
}

/** Hands on the lines of a server one after the other, as fast as its {@link NoticeBudget} allows. */
export class PacedLines {
  readonly #budget: NoticeBudget;
  readonly #deps: PacedLinesDeps;
  #waiting: string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(budget: NoticeBudget, deps: PacedLinesDeps) {
    this.#budget = budget;
    this.#deps = deps;
  }

  /** Hands the lines on, at once unless earlier lines wait. */
  push(lines: string[]): void {
    if (this.#timer) this.#waiting = this.#waiting.concat(lines);
    else this.#handOn(lines);
  }

  /** Drops the lines that wait. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#waiting = [];
  }

  #handOn(lines: string[]): void {
    for (const [i, line] of lines.entries()) {
      if (this.#deps.take(line)) continue;
      const waitMs = this.#budget.spend(1, line.length);
      if (waitMs === 0) continue;
      this.#waiting = lines.slice(i + 1);
      this.#deps.onPause();
      this.#timer = setTimeout(this.#goOn, waitMs);
      return;
    }
  }

  readonly #goOn = (): void => {
    this.#timer = undefined;
    const lines = this.#waiting;
    this.#waiting = [];
    this.#handOn(lines);
    if (!this.#timer) this.#deps.onResume();
  };
}
