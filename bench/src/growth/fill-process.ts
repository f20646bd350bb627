import { mkdir } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { brokerFiles } from '@signalbox/broker';
import { frameDefaults, replyIdOf, timeSortedId } from '@signalbox/protocol';
import {
  type InboxStore,
  type NewMessage,
  openSqliteInboxStore,
  openSqliteTokenStore,
  steadyTime,
} from '@signalbox/store';
import { serveParent, setupOf } from '../processes.ts';
import type { FillOrder } from './fill.ts';

const batchSize = 5000;
/** The messages were settled within the time for which the store remembers them at any size. */
const settledWithinMs = 9 * 60 * 1000;
/** Housekeeping runs after this many batches, about as often as in a broker. */
const batchesPerSweep = 4;
setupOf();
serveParent({ obey: (order) => fill(order as FillOrder), stop: async () => {} });

async function fill(order: FillOrder): Promise<void> {
  const { dataDir } = order;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  let now = Date.now();
  await using store = await openSqliteInboxStore({
    file: brokerFiles(dataDir).messages,
    durability: 'process',
    now: () => now,
  });
  if (order.type === 'pending') {
    await fillPending(store, order, now);
    await makeKnown(dataDir, order.inboxes);
  } else {
    await fillSettled(store, order, (time) => {
      now = time;
    });
  }
}

async function fillPending(
  store: InboxStore,
  { inboxes, each, bodyBytes }: Extract<FillOrder, { type: 'pending' }>,
  now: number,
): Promise<void> {
  const count = inboxes * each;
  const body = JSON.stringify({ n: 0, text: 'x'.repeat(bodyBytes - 16) });
  for (let first = 0; first < count; first += batchSize) {
    const messages = batch(first, count, (n) => {
      return { ...message(timeSortedId(now, serial(n)), `in-${n % inboxes}`, now), body };
    });
    await store.commit({ messages, attempts: [], settlements: [] });
    // The parent may have ended.
    await nextTurn();
  }
}

/** Stores a batch with each commit, and settles the batch before. */
async function fillSettled(
  store: InboxStore,
  { rows, until }: Extract<FillOrder, { type: 'settled' }>,
  setClock: (time: number) => void,
): Promise<void> {
  let unsettled: { inbox: string; seq: number; outcome: 'acked' }[] = [];
  for (let first = 0; first < rows || unsettled.length > 0; first += batchSize) {
    const now = Math.round(until - settledWithinMs * Math.max(0, 1 - first / rows));
    setClock(now);
    const messages = batch(first, rows, (n) => {
      const request = timeSortedId(now, serial(n - (n % 2)));
      return n % 2 === 0 ? message(request, 'server', now) : message(replyIdOf(request), 'client#mcp-1', now);
    });
    const stored = await store.commit({ messages, attempts: [], settlements: unsettled });
    unsettled = stored.map((one, i) => {
      if (one.result !== 'stored') throw new Error(`the store answered '${one.result}' to a new message`);
      return { inbox: messages[i]!.inbox, seq: one.seq, outcome: 'acked' };
    });
    if ((first / batchSize) % batchesPerSweep === 0) await store.sweep(steadyTime(now));
    await nextTurn();
  }
}

async function makeKnown(dataDir: string, inboxes: number): Promise<void> {
  await using tokens = await openSqliteTokenStore({ file: brokerFiles(dataDir).tokens });
  await tokens.addAgents(Array.from({ length: inboxes }, (_, n) => `in-${n}`));
}

function batch(first: number, count: number, make: (n: number) => NewMessage): NewMessage[] {
  return Array.from({ length: Math.max(0, Math.min(batchSize, count - first)) }, (_, i) => make(first + i));
}

function message(id: string, inbox: string, now: number): NewMessage {
  return {
    inbox,
    id,
    sender: 'sender',
    senderAddress: 'sender',
    senderRole: 'worker',
    kind: 'note',
    createdAt: now,
    expiresAt: now + frameDefaults.ttlMs,
  };
}

function serial(n: number): string {
  return n.toString().padStart(13, '0');
}
