import { type ToolFacts, type ToolUpdate, withUpdate } from './tool-facts.ts';

/** The most tool calls that are remembered at a time. An agent that opens more loses what it told of the oldest. */
const maxCalls = 256;
const ends: ReadonlySet<string | undefined> = new Set(['completed', 'failed']);

/** The tool calls of a turn that have not ended, by their ids. */
export class ToolCalls {
  readonly #calls = new Map<string, ToolFacts>();
  readonly #listeners = new Set<(id: string) => void>();
  #completed = 0;

  /** The number of calls that were completed. */
  get completed(): number {
    return this.#completed;
  }

  /** Returns what was told of a call. */
  get(id: string): ToolFacts | undefined {
    return this.#calls.get(id);
  }

  /** Returns the calls in the order in which they began. */
  open(): { title: string; status: string }[] {
    return [...this.#calls.values()].map(({ title = 'a tool', status = 'pending' }) => ({ title, status }));
  }

  /** Records what an agent told of a call, and returns all that is known of it. */
  take(update: ToolUpdate): ToolFacts {
    const { toolCallId: id } = update;
    const facts = withUpdate(this.#calls.get(id), update);
    if (facts.status === 'completed') this.#completed++;
    if (ends.has(facts.status)) this.#calls.delete(id);
    else this.#calls.set(id, facts);
    const [oldest] = this.#calls.keys();
    if (this.#calls.size > maxCalls && oldest !== undefined) this.#calls.delete(oldest);
    for (const listener of this.#listeners) listener(id);
    return facts;
  }

  /** Calls `listener` with the id of each call of which something was told; returns a function that removes it. */
  onChanged(listener: (id: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
