import { bodyTextOf } from '@signalbox/protocol/body-text';
import type { KeptBody } from './kept-bodies.ts';
import type { LoggedMessage } from './logged-message.ts';

/** The approximate bytes that a store takes for a body that it keeps, besides those of the body. */
export const keptOverheadBytes = 200;

/** The most characters of a body that are searched. */
const maxSearched = 64 * 1024;

/**
 * Returns the text of a body that is searched, without accents and capitals: all texts and numbers in it, if it is JSON. Each letter of a
 * script that is written without spaces is a word.
 */
export function searchedText(body: string): string {
  const value = readable(body);
  return folded(typeof value === 'string' ? value : textsIn(value).join(' '));
}

/** Returns the text of a body as lists show it; `undefined` for JSON without one, and for a body that is too long to be read as JSON. */
export function listedText(body: string): string | undefined {
  return body.length > maxSearched ? undefined : bodyTextOf(readable(body))?.text;
}

/** Returns the words of a search in the form that {@link searchedText} gives them. One of them may have become several, with spaces. */
export function searchedWords(words: readonly string[]): string[] {
  return words.map((word) => folded(word).replaceAll('\0', ' ').trim()).filter((word) => word !== '');
}

/**
 * Returns the bodies among messages in the order of their numbers that are to be kept, by their kinds. Messages up to `afterSeq`, and those
 * that come again, are left out.
 */
export function* keptBodiesOf(
  messages: Iterable<LoggedMessage>,
  kinds: ReadonlySet<string>,
  afterSeq: number,
): Iterable<KeptBody> {
  const copies = new Set<string>();
  let highest = afterSeq;
  for (const { seq, shared, id, correlationId, thread, size, body, group } of messages) {
    const { sender, kind, createdAt } = shared;
    if (body === undefined || seq <= highest || !kinds.has(kind)) continue;
    const inbox = group?.copyOf ?? shared.inbox;
    if (group?.copyOf !== undefined) {
      const copy = `${sender} ${inbox} ${id}`;
      if (copies.has(copy)) continue;
      copies.add(copy);
    }
    highest = seq;
    const names = { thread: thread ?? correlationId ?? id, id, sender, inbox, kind };
    yield { seq, ...names, ...(correlationId !== undefined && { correlationId }), createdAt, size, body };
  }
}

/** Reads a body that is JSON and not too long to be searched whole. Any other body is a text. */
function readable(body: string): unknown {
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

const accents = /[\u0300-\u036f]/g;
const lettersApart =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/gu;

function folded(text: string): string {
  const plain = text.slice(0, maxSearched).normalize('NFKD').replace(accents, '').normalize('NFC');
  const small = plain.slice(0, maxSearched).toLowerCase().replaceAll('ς', 'σ');
  return small.replace(lettersApart, ' $& ');
}
