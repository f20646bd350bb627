type Token = string | number;

/** The most calls whose numbers are known: as many as may wait for answers. Beyond it, those without progress for longest are forgotten. */
const maxCalls = 256;

interface ProgressLine {
  params?: { progressToken?: Token; progress?: number; total?: number };
}

/**
 * Keeps the progress of a call growing, as MCP demands, when another face continues it and counts from the start again. The new face's
 * numbers are added to the last one of the face before it.
 */
export class ProgressNumbers {
  readonly #calls = new Map<Token, { last: number; base: number }>();

  /** Returns the notification as the client may see it. */
  shown(line: string): string {
    const message = JSON.parse(line) as ProgressLine;
    const { progressToken, progress, total } = message.params ?? {};
    if (progressToken === undefined || typeof progress !== 'number') return line;
    const call = this.#calls.get(progressToken) ?? { last: 0, base: 0 };
    this.#calls.delete(progressToken);
    this.#calls.set(progressToken, call);
    if (this.#calls.size > maxCalls) this.#calls.delete(this.#calls.keys().next().value!);
    call.last = call.base + progress;
    if (call.base === 0) return line;
    Object.assign(message.params!, {
      progress: call.last,
      ...(typeof total === 'number' && { total: call.base + total }),
    });
    return JSON.stringify(message);
  }

  /** Begins to add, because the face that counted so far is lost. */
  faceLost(): void {
    for (const call of this.#calls.values()) call.base = call.last;
  }

  /** Forgets all numbers, because no call runs. */
  clear(): void {
    this.#calls.clear();
  }
}
