import type { Outcome } from '../inbox-store.ts';
import { jsonNumber, jsonText, jsonTextOrNull } from './json-text.ts';

/** The metadata that outlives a message. `size` is that of the body it had. */
export interface SettledMessage {
  id: string;
  inbox: string;
  sender: string;
  senderAddress: string;
  kind: string;
  correlationId: string | null | undefined;
  seq: number;
  size: number;
  createdAt: number;
}

/** How and when a message was settled. */
export interface Ending {
  at: number;
  outcome: Outcome;
  reason: string | null;
}

export type Settled = SettledMessage & Ending;

/** What neighbours mostly have in common. */
type Common = Omit<Settled, 'seq' | 'size' | 'id' | 'correlationId'>;

/** A page is JSON: what the messages after it, up to the next one, have in common, and the rest of each. */
type Entry = Common | [seq: number, size: number, id: string, correlationId?: string];

/** By hand: it is much of what a message costs in the end. */
export function encodeSettled(messages: readonly Settled[]): string {
  let text = '';
  let last: Settled | undefined;
  for (const one of messages) {
    if (last === undefined || !isLike(one, last)) text += `,${encodeCommon(one)}`;
    last = one;
    const correlation = one.correlationId == null ? '' : `,${jsonText(one.correlationId)}`;
    text += `,[${one.seq},${one.size},${jsonText(one.id)}${correlation}]`;
  }
  return `[${text.slice(1)}]`;
}

export function decodeSettled(text: string): Settled[] {
  const settled: Settled[] = [];
  let common: Common | undefined;
  for (const entry of JSON.parse(text) as Entry[]) {
    if (!Array.isArray(entry)) common = entry;
    else if (common) {
      const [seq, size, id, correlationId = null] = entry;
      settled.push({ ...common, seq, size, id, correlationId });
    }
  }
  return settled;
}

function isLike(a: Settled, b: Settled): boolean {
  return (
    a.createdAt === b.createdAt &&
    a.at === b.at &&
    a.outcome === b.outcome &&
    a.reason === b.reason &&
    a.kind === b.kind &&
    a.inbox === b.inbox &&
    a.sender === b.sender &&
    a.senderAddress === b.senderAddress
  );
}

function encodeCommon(one: Settled): string {
  const from = `"sender":${jsonText(one.sender)},"senderAddress":${jsonText(one.senderAddress)}`;
  const what = `"inbox":${jsonText(one.inbox)},${from},"kind":${jsonText(one.kind)}`;
  const times = `"createdAt":${jsonNumber(one.createdAt)},"at":${jsonNumber(one.at)}`;
  return `{${what},${times},"outcome":"${one.outcome}","reason":${jsonTextOrNull(one.reason)}}`;
}
