import { bodyLimits, isDeeperThan, jsonSize, SignalboxError } from '@signalbox/protocol';
import { figure } from '@signalbox/protocol/internal';
import type { ToolProblem } from '../tool-calls/index.ts';
import { type Mended, mendedMessage } from './mending.ts';

/** A kind of entries that a server lists, and the limits of what is kept. */
export interface EntryKind<Entry> {
  /** The word for one entry: `tool`. */
  word: string;
  /** Returns the name of an entry in a problem; by default its key alone. */
  labelOf?: (key: string) => string;
  /** Returns the text that identifies an entry; of two entries with the same text, the first is kept. */
  keyOf: (entry: Entry) => string;
  /** Makes an {@link Entry} of one that a server sent, or returns its problem. */
  mended: (entry: unknown) => Mended<Entry>;
  /** Returns the name of an entry that may be malformed. */
  nameOf: (entry: object) => unknown;
  /** The most entries, and the name of their limit. */
  most: { count: number; limit: string };
  /** The most bytes of one entry as JSON, and of all. */
  bytes: { each: number; all: number };
}

/** One page of a list as the server sent it. */
export interface EntryPage {
  entries: unknown;
  nextCursor?: unknown;
}

/** The entries of a list in a form that clients accept, and the problems of those that were left out or mended. */
export interface EntryList<Entry> {
  entries: Entry[];
  /** The mended entries as their server sent them, by key. */
  sent: ReadonlyMap<string, object>;
  problems: ToolProblem[];
}

/** The most pages of a list. A server that sends more sends pages without end or without entries. */
const maxPages = 1_000;
/** The most problems of a list that are reported one by one; the others are counted. */
const maxProblems = 20;
/** The most mended entries of a list that are reported one by one. They have a bound of their own, so that they hide no problem. */
const maxMended = 5;
/**
 * The most levels of an entry. A manifest holds an entry within three more levels, and readers of message bodies accept a limited depth.
 */
const maxEntryDepth = 60;
/** The most values and names of one entry. Readers accept a manifest with one entry of this size. */
const maxEntryNodes = bodyLimits.maxNodes - 1000;

/**
 * Reads a paginated list to its end, or until it is longer than the limits of its kind allow. Entries that clients would refuse are mended,
 * or left out; those that are too large or past the limits are left out. All of that is reported. Throws `SignalboxError` `bad_tool_list`
 * if a page holds no array, and the errors of `readPage`.
 */
export async function readEntryList<Entry>(
  kind: EntryKind<Entry>,
  readPage: (cursor: string | undefined) => Promise<EntryPage>,
): Promise<EntryList<Entry>> {
  const { word } = kind;
  const kept = new KeptEntries(kind);
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const page = await readPage(cursor);
    if (!Array.isArray(page.entries))
      throw new SignalboxError('bad_tool_list', `the ${word} list is not an array`);
    for (const entry of page.entries) kept.add(entry);
    cursor = typeof page.nextCursor === 'string' && page.nextCursor !== '' ? page.nextCursor : undefined;
    if (cursor === undefined || kept.isFull) break;
    if (seen.has(cursor) || pages === maxPages) {
      const why = seen.has(cursor) ? 'repeats a cursor' : `does not end within ${maxPages} pages`;
      kept.report({ message: `the ${word} list ${why}; what was read so far is shown` });
      break;
    }
    seen.add(cursor);
  }
  return kept.list(cursor !== undefined);
}

/** Collects the entries of one list within the limits, and the problems of the others. */
class KeptEntries<Entry> {
  readonly #kind: EntryKind<Entry>;
  /** The entries by key, each with its JSON text. */
  readonly #entries = new Map<string, { entry: Entry; json: string }>();
  readonly #problems: ToolProblem[] = [];
  readonly #sent = new Map<string, object>();
  readonly #mended: ToolProblem[] = [];
  #unreported = 0;
  #bytes = 0;
  /** Set when an entry did not fit any more: all entries after it are left out, too. */
  #full: { first: string; why: string; others: number } | undefined;

  constructor(kind: EntryKind<Entry>) {
    this.#kind = kind;
  }

  /** True if every further entry is left out. */
  get isFull(): boolean {
    return this.#full !== undefined;
  }

  add(entry: unknown): void {
    if (this.#full) {
      this.#full.others++;
      return;
    }
    const read = this.#read(entry);
    if ('problem' in read) {
      this.report(read.problem);
      return;
    }
    const key = this.#kind.keyOf(read.entry);
    const earlier = this.#entries.get(key);
    if (earlier) {
      if (earlier.json !== read.json)
        this.report({
          tool: this.#label(key),
          message: `the server lists this ${this.#kind.word === 'tool' ? 'name' : this.#kind.word} twice; the first is shown`,
        });
      return;
    }
    const why = this.#whyFull(read.bytes);
    if (why !== undefined) {
      this.#full = { first: key, why, others: 0 };
      return;
    }
    this.#bytes += read.bytes;
    this.#entries.set(key, read);
    if (read.changed.length === 0) return;
    this.#sent.set(key, entry as object);
    if (this.#mended.length < maxMended)
      this.#mended.push({ tool: this.#label(key), message: mendedMessage(read.changed), isMended: true });
  }

  report(problem: ToolProblem): void {
    if (this.#problems.length < maxProblems) this.#problems.push(problem);
    else this.#unreported++;
  }

  /** Returns the list. `hasMore` says that the server has more pages, which were not read. */
  list(hasMore: boolean): EntryList<Entry> {
    const problems = [...this.#problems];
    if (this.#unreported > 0)
      problems.push({ message: `${this.#unreported} more ${this.#kind.word}s have problems` });
    if (this.#full) {
      const { first, why, others } = this.#full;
      const { word } = this.#kind;
      const after = hasMore ? ` with all ${word}s after it` : others === 0 ? '' : ` with ${others} after it`;
      problems.push({ tool: this.#label(first), message: `left out${after}: ${why}` });
    }
    problems.push(...this.#mended);
    const others = this.#sent.size - this.#mended.length;
    if (others > 0)
      problems.push({ message: `${others} more ${this.#kind.word}s were mended`, isMended: true });
    return { entries: [...this.#entries.values()].map(({ entry }) => entry), sent: this.#sent, problems };
  }

  #label(key: string): string {
    return this.#kind.labelOf?.(key) ?? key;
  }

  #whyFull(bytes: number): string | undefined {
    const { word, most, bytes: room } = this.#kind;
    if (this.#entries.size >= most.count) {
      return `the server has more than ${figure(most.count)} ${word}s; raise limits.${most.limit} of the server`;
    }
    if (this.#bytes + bytes > room.all) {
      return `the ${word}s of the server take more than ${figure(room.all)} bytes; raise limits.toolListBytes of the server`;
    }
    return undefined;
  }

  #read(
    entry: unknown,
  ): { entry: Entry; changed: readonly string[]; json: string; bytes: number } | { problem: ToolProblem } {
    const { word, nameOf, mended, bytes: room } = this.#kind;
    const refused = (message: string) => {
      const name = typeof entry === 'object' && entry !== null ? nameOf(entry) : undefined;
      const label = typeof name === 'string' && { tool: this.#label(name) };
      return { problem: { ...label, message: `left out${message}` } };
    };
    if (isDeeperThan(entry, maxEntryDepth)) {
      return refused(`: its definition nests deeper than ${maxEntryDepth} levels`);
    }
    const json = JSON.stringify(entry);
    const bytes = Buffer.byteLength(json);
    if (bytes > room.each) {
      return refused(
        `: its definition takes ${figure(bytes)} bytes, more than ${figure(room.each)}; raise limits.toolBytes of the server`,
      );
    }
    if (json.length > maxEntryNodes && jsonSize(json, bodyLimits).nodes > maxEntryNodes) {
      return refused(`: its definition has more than ${figure(maxEntryNodes)} values and names`);
    }
    const read = mended(entry);
    if ('problem' in read) return refused(`, not a valid ${word}: ${read.problem}`);
    return { entry: read.value, changed: read.changed, json, bytes };
  }
}
