/** Counts the servers whose changed lists are being read, or are about to be. */
export class ListReadings {
  #underWay = 0;
  readonly #waiting = new Set<() => void>();

  /** Records that a server has announced a change. Returns the function to call when its list was read. */
  begin(): () => void {
    this.#underWay++;
    return () => {
      if (--this.#underWay > 0) return;
      for (const wake of this.#waiting) wake();
      this.#waiting.clear();
    };
  }

  /** Resolves when no list is being read, or after `mostMs` milliseconds. */
  async over(mostMs: number): Promise<void> {
    if (this.#underWay === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, mostMs);
      this.#waiting.add(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
