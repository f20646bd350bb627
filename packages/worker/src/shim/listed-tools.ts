/** The longest lists that are kept, in characters. */
const maxKept = 1024 * 1024;

interface ListAnswer {
  result?: { tools?: { name?: unknown; outputSchema?: unknown }[] };
}

/**
 * Remembers which tools have an output schema. Clients check the structured content of every result against it, also that of a
 * failure. The lists are kept as text and parsed when a call fails, which is rare.
 */
export class ListedTools {
  #pages: string[] = [];
  #characters = 0;

  /** Records the answer to `tools/list`; the first page replaces the earlier list. */
  listed(answer: string, { isFirstPage }: { isFirstPage: boolean }): void {
    if (isFirstPage) {
      this.#pages = [];
      this.#characters = 0;
    }
    this.#characters += answer.length;
    if (this.#characters > maxKept) this.#pages = [];
    else this.#pages.push(answer);
  }

  /** Returns true if the tool may have an output schema. It may have one if the lists were too long to be kept. */
  mayHaveOutputSchema(tool: string): boolean {
    if (this.#characters > maxKept) return true;
    return this.#pages.some((page) => {
      const { result } = JSON.parse(page) as ListAnswer;
      return result?.tools?.some(({ name, outputSchema }) => name === tool && outputSchema !== undefined);
    });
  }
}
