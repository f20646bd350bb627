import type { InboxStore } from '@signalbox/store';

/** The calls and notes that a store holds. */
export interface StoredMessages {
  /** The ids of tool calls that are neither answered nor given up. */
  waitingCalls: string[];
  /** The ids of tool calls that were settled. */
  settledCalls: Set<string>;
  /** Returns the ids in one inbox, in order. */
  inbox: string[];
}

const everything = 1_000_000;

export async function storedMessagesOf(store: InboxStore, inbox: string): Promise<StoredMessages> {
  const { entries } = await store.history({ since: 0, limit: everything });
  const calls = entries.filter(({ kind }) => kind === 'mcp_request');
  return {
    waitingCalls: calls.filter(({ settled }) => !settled).map(({ id }) => id),
    settledCalls: new Set(calls.filter(({ settled }) => settled).map(({ id }) => id)),
    inbox: (await store.read(inbox, 0, everything, Number.MAX_SAFE_INTEGER)).map(({ id }) => id),
  };
}
