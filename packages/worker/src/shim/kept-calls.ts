import { jsonLine, readJson } from '@signalbox/protocol/json-lines';
import { repeatedId } from './call-key.ts';

/** The most calls that are kept, and their characters. */
const maxCalls = 200;
const maxCharacters = 4 * 1024 * 1024;

interface RepeatableCall {
  params?: { _meta?: { progressToken?: unknown } };
}

/** The answered calls that a face asked to have repeated at the next one, such as questions that other agents have not answered yet. */
export class KeptCalls {
  readonly #lines = new Map<number, string>();
  #characters = 0;

  /** Keeps a call. Beyond the limits the oldest ones are forgotten. */
  keep(n: number, line: string): void {
    this.drop(n);
    this.#lines.set(n, line);
    this.#characters += line.length;
    for (const oldest of this.#lines.keys()) {
      if (this.#lines.size <= maxCalls && this.#characters <= maxCharacters) return;
      this.drop(oldest);
    }
  }

  /** Forgets a call that has its last answer. */
  drop(n: number): void {
    this.#characters -= this.#lines.get(n)?.length ?? 0;
    this.#lines.delete(n);
  }

  /** Returns the lines for a new face. Their answers and their progress are not for the client. */
  repeated(): string[] {
    return [...this.#lines].map(([n, line]) => {
      const call = readJson(line) as RepeatableCall;
      delete call.params?._meta?.progressToken;
      return `${n} ${jsonLine({ ...call, id: repeatedId(n) })}`;
    });
  }
}
