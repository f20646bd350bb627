/**
 * Requests that faces send to the client, such as elicitations. Two faces may use the same id, so the client sees each id with the number
 * of its face in front.
 */
export class FaceQuestions {
  readonly #open = new Set<string>();

  /** Records a question and returns the id that the client sees. */
  ask(face: number, id: unknown): string {
    const shown = shownId(face, id);
    this.#open.add(shown);
    return shown;
  }

  /** Returns the id that the face knows, as JSON, if the question is still open, and closes it. */
  answer(shown: unknown): string | undefined {
    if (typeof shown !== 'string' || !this.#open.delete(shown)) return undefined;
    return shown.slice(shown.indexOf(':') + 1);
  }

  /** Ends a question that its face withdraws, and returns the id that the client sees. */
  withdraw(face: number, id: unknown): string | undefined {
    const shown = shownId(face, id);
    return this.#open.delete(shown) ? shown : undefined;
  }

  /** Ends all questions, because their face is lost, and returns the ids that the client sees. */
  withdrawAll(): string[] {
    const open = [...this.#open];
    this.#open.clear();
    return open;
  }
}

function shownId(face: number, id: unknown): string {
  return `${face}:${JSON.stringify(id)}`;
}
