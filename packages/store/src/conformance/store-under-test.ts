import type { GivenCaps } from '../caps.ts';
import { steadyTime } from '../expiry-time.ts';
import type { Appended, Batch, InboxStore } from '../inbox-store.ts';
import type { KeepBodies } from '../kept-bodies.ts';
import type { NewMessage, StoredMetadata } from '../message.ts';

/** A store over storage of its own, which disposing removes. */
export interface StoreUnderTest extends AsyncDisposable {
  readonly store: InboxStore;
  /** Closes the store and opens another one over the same storage. */
  reopen(): Promise<InboxStore>;
  /** Advances the store's clock, which never moves by itself. */
  advance(ms: number): void;
  now(): number;
  /** After this time and enough sweeps a settled id has been forgotten. */
  readonly forgottenAfterMs: number;
  /** The number of messages that the store keeps in memory. Older messages are in segments. */
  readonly memoryRoom: number;
}

export type OpenStore = (caps?: GivenCaps, keepBodies?: KeepBodies) => Promise<StoreUnderTest>;

export function message(change: Partial<NewMessage> & { id: string }): NewMessage {
  return {
    inbox: 'inbox',
    sender: 'ann',
    senderAddress: 'ann#one',
    senderRole: 'worker',
    kind: 'note',
    createdAt: 1_700_000_000_000,
    expiresAt: 9_000_000_000_000,
    body: '"body"',
    ...change,
  };
}

export function commit(store: InboxStore, batch: Partial<Batch>): Promise<Appended[]> {
  return store.commit({ messages: [], settlements: [], attempts: [], ...batch });
}

export function append(store: InboxStore, messages: NewMessage[]): Promise<Appended[]> {
  return commit(store, { messages });
}

export function ack(store: InboxStore, inbox: string, seq: number): Promise<Appended[]> {
  return commit(store, { settlements: [{ inbox, seq, outcome: 'acked' }] });
}

export function seqOf(appended: Appended | undefined): number {
  if (appended?.result !== 'stored') throw new Error(`expected it to be stored: ${appended?.result}`);
  return appended.seq;
}

export async function ids(store: InboxStore, inbox: string, afterSeq = 0): Promise<string[]> {
  return (await store.read(inbox, afterSeq, 1000, 1e9)).map(({ id }) => id);
}

export async function bodies(store: InboxStore, inbox: string): Promise<(string | undefined)[]> {
  return (await store.read(inbox, 0, 1000, 1e9)).map(({ body }) => body);
}

/** Sweeps often enough to cover the stores of these tests several times over. */
export async function sweepAll({ store, now }: StoreUnderTest): Promise<StoredMetadata[]> {
  const found = new Map<number, StoredMetadata>();
  for (let step = 0; step < 20; step++) {
    for (const metadata of await store.sweep(steadyTime(now()))) found.set(metadata.seq, metadata);
  }
  return [...found.values()];
}

export async function forgetAll(setup: StoreUnderTest): Promise<void> {
  for (let pass = 0; pass < 2; pass++) {
    setup.advance(setup.forgottenAfterMs);
    await sweepAll(setup);
  }
}
