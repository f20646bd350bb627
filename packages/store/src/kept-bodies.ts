/** Says which bodies a store keeps after their messages were settled, and for how long. */
export interface KeepBodies {
  /** The kinds of messages. */
  kinds: readonly string[];
  /** The longest time for which a body is kept, in milliseconds since its message was created. */
  forMs: number;
  /** The bytes of bodies beyond which the oldest ones are forgotten. */
  bytes: number;
}

/** A message whose body is kept. A message to all members of a group is kept once, as a message to the group. */
export interface KeptBody {
  seq: number;
  /** The thread that the message belongs to: the one that it names, else its correlation id, else its id. */
  thread: string;
  id: string;
  correlationId?: string;
  sender: string;
  inbox: string;
  kind: string;
  createdAt: number;
  /** The bytes of its body. */
  size: number;
  body: string;
}

/** Selects threads. All conditions must hold for one and the same message of a thread. */
export interface ThreadsQuery {
  /** Only threads with messages that this agent sent, or that were sent to one of its inboxes. */
  agent?: string;
  /** Only threads with a message that holds, for each of these words, a word which begins with it. */
  words?: readonly string[];
  limit: number;
  /** The cursor of the page before. The other conditions must be those of that page. */
  cursor?: number;
}

/** A thread with the newest of its messages that was asked for. */
export interface KeptThread {
  newest: KeptBody;
  /** The number of its messages, at most {@link maxCounted}. */
  messages: number;
  /** The time of its first message that is kept, in epoch milliseconds. */
  since: number;
}

/** Threads, the one with the newest message first. There is a `cursor` if there may be more. */
export interface KeptThreadsPage {
  threads: KeptThread[];
  cursor?: number;
}

/** The number at which the messages of a thread are no longer counted. */
export const maxCounted = 1000;

/**
 * The bodies that a store keeps, with an index of their threads and words. A body is kept in the commit that stores its message, and becomes
 * part of the index later, by {@link KeptBodies.index}. Both reads first bring the index up to the present. Methods reject as those of the
 * store.
 */
export interface KeptBodies {
  /** What is kept; `undefined` if nothing is. */
  readonly keeps: KeepBodies | undefined;
  /** Brings a small part of the bodies into the index, and forgets some that are too old or too many. Resolves with true if there are more. */
  index(now: number): Promise<boolean>;
  threads(query: ThreadsQuery): Promise<KeptThreadsPage>;
  /**
   * Reads the messages of a thread after `afterSeq`, in order: at most `limit` messages and `maxBytes` of bodies, but at least one message.
   */
  thread(thread: string, afterSeq: number, limit: number, maxBytes: number): Promise<KeptBody[]>;
  /** Forgets the bodies of a thread, except those of messages that are still pending. Resolves with their number. */
  forget(thread: string): Promise<number>;
}

/** The most characters of a body that are searched. Of a longer one that is JSON, these are searched as they stand. */
const maxSearched = 64 * 1024;

/** Returns what is searched of a body: all texts in it, with words apart in scripts that are written without spaces. */
export function searchedText(body: string): string {
  const value = valueOf(body);
  return apart(typeof value === 'string' ? value : textsIn(value).join(' '));
}

/** Returns the text of a body that is a text, or a JSON object with the field `text`; `undefined` for other JSON. Of a long body, the beginning. */
export function textOfBody(body: string): string | undefined {
  const value = valueOf(body);
  if (typeof value === 'string') return value;
  const { text } = (value ?? {}) as { text?: unknown };
  return typeof text === 'string' ? text : undefined;
}

function valueOf(body: string): unknown {
  if (body.length > maxSearched) return body.slice(0, maxSearched);
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** Lists the texts and numbers in JSON data, in their order. */
function textsIn(value: unknown): string[] {
  const texts: string[] = [];
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === 'string' || typeof next === 'number') texts.push(String(next));
    else if (typeof next === 'object' && next !== null) left.push(...Object.values(next).reverse());
  }
  return texts;
}

/** Returns the words of a search in the form that {@link searchedText} gives them. */
export function searchedWords(words: readonly string[]): string[] {
  return words.map((word) => apart(word).replaceAll('\0', ' ').trim()).filter((word) => word !== '');
}

/** Makes a word of each letter of a script that is written without spaces, so that it is found inside a sentence. */
function apart(text: string): string {
  return text.replace(
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/gu,
    ' $& ',
  );
}
