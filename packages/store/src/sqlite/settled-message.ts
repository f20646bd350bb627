import type { Outcome } from '../inbox-store.ts';

/** The metadata that outlives a message. `size` is that of the body it had. */
export interface SettledMessage {
  id: string;
  inbox: string;
  sender: string;
  senderAddress: string;
  kind: string;
  correlationId: string | null;
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

/** A settled message as a page holds it: JSON without names, in this order. */
type Entry = [
  id: string,
  inbox: string,
  sender: string,
  senderAddress: string,
  kind: string,
  correlationId: string | null,
  seq: number,
  size: number,
  createdAt: number,
  at: number,
  outcome: Outcome,
  reason: string | null,
];

export type Settled = SettledMessage & Ending;

export function encodeSettled(messages: readonly Settled[]): string {
  const entries = messages.map((one): Entry => {
    const { id, inbox, sender, senderAddress, kind, correlationId, seq, size, createdAt } = one;
    const ids = [id, inbox, sender, senderAddress, kind, correlationId] as const;
    return [...ids, seq, size, createdAt, one.at, one.outcome, one.reason];
  });
  return JSON.stringify(entries);
}

export function decodeSettled(text: string): Settled[] {
  return (JSON.parse(text) as Entry[]).map(
    ([id, inbox, sender, senderAddress, kind, correlationId, ...rest]) => {
      const [seq, size, createdAt, at, outcome, reason] = rest;
      return {
        id,
        inbox,
        sender,
        senderAddress,
        kind,
        correlationId,
        seq,
        size,
        createdAt,
        at,
        outcome,
        reason,
      };
    },
  );
}
