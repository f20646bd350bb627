import { join } from 'node:path';
import { type NewMessage, openSqliteInboxStore, steadyTime } from '@signalbox/store';
import { startedAt } from './test-store.ts';

/** Writes a small store that uses every table of its schema, closes it, and returns its file. */
export async function smallStore(directory: string): Promise<string> {
  const file = join(directory, 'messages.db');
  let monotonic = 0;
  const store = await openSqliteInboxStore({
    memtableMessages: 30,
    segmentMessages: 16,
    reserveBytes: 4096,
    keepBodies: { kinds: ['ask'], ageMs: 1e12, bytes: 1e6 },
    retentionMs: 1,
    dedupeWindowMs: 1,
    file,
    durability: 'process',
    now: () => startedAt,
    monotonic: () => monotonic,
  });
  for (let round = 0; round < 12; round++) {
    const messages = Array.from({ length: 8 }, (_, n) => messageOf(round, n));
    const appended = await store.commit({ messages, attempts: [], settlements: [] });
    const settlements = appended.flatMap((one, n) =>
      one.result === 'stored' && n % 2 === 0
        ? [{ inbox: messages[n]!.inbox, seq: one.seq, outcome: n % 4 === 0 ? 'acked' : 'dead' } as const]
        : [],
    );
    await store.commit({ messages: [], attempts: [], settlements });
    if (round !== 7) continue;
    // The segments of settled messages go, and leave their open requests.
    for (let step = 0; step < 3; step++) {
      monotonic += 1_000_000;
      await store.sweep(steadyTime(startedAt + 1000));
    }
  }
  const later = Array.from({ length: 12 }, (_, n) => ({
    ...messageOf(20, n),
    createdAt: startedAt + 60_000 + n,
    scheduledAt: startedAt,
  }));
  await store.commit({ messages: later, attempts: [], settlements: [] });
  await store.commit({
    messages: await store.scheduled.due(startedAt + 60_002, 9, 1e6),
    attempts: [],
    settlements: [],
  });
  while (await store.kept.index(startedAt));
  await store.bindJournal('bob', { previous: [], next: 'one' });
  await store[Symbol.asyncDispose]();
  return file;
}

export function messageOf(round: number, n: number): NewMessage {
  const times = { createdAt: startedAt + round, expiresAt: startedAt + 1e9, openUntil: startedAt + 1e9 };
  const sender = { sender: 'ann', senderAddress: 'ann', senderRole: 'worker' };
  const id = `m-${round}-${n}`;
  const inbox = n % 3 === 0 ? 'eve#one' : 'bob';
  return { inbox, id, ...sender, kind: 'ask', ...times, body: `{"text":"${id.repeat(1 + 9 * n)}"}` };
}
