import type { InboxStore } from '@signalbox/store';
import type { Journal } from '@signalbox/store/journal';

/** The calls and notes that a store holds, and the calls that a journal does. */
export interface StoredMessages {
  /** The ids of tool calls that are neither answered nor given up. */
  waitingCalls: string[];
  /** The ids of tool calls that were settled, or whose ends are in the journal: a call on a lane is no message. */
  settledCalls: Set<string>;
  /** Returns the ids in one inbox, in order. */
  inbox: string[];
}

const everything = 1_000_000;

/** Reads both. Without a journal, only messages count. */
export async function storedMessagesOf(
  store: InboxStore,
  inbox: string,
  journal?: Pick<Journal, 'list'>,
): Promise<StoredMessages> {
  const { entries } = await store.history({ since: 0, limit: everything });
  const calls = entries.filter(({ kind }) => kind === 'mcp_request');
  return {
    waitingCalls: calls.filter(({ settled }) => !settled).map(({ id }) => id),
    settledCalls: new Set([
      ...calls.filter(({ settled }) => settled).map(({ id }) => id),
      ...((await journal?.list({ limit: everything })) ?? [])
        .filter(({ end }) => end)
        .map(({ requestId }) => requestId),
    ]),
    inbox: (await store.read(inbox, 0, everything, Number.MAX_SAFE_INTEGER)).map(({ id }) => id),
  };
}
