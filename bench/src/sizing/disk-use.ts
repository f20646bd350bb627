import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type NewMessage, openSqliteInboxStore } from '@signalbox/store';
import { temporaryDirectory } from '../growth/data-directory.ts';

const batchSize = 1000;
const inboxes = 100;

export interface DiskOrder {
  messages: number;
  bodyBytes: number;
  state: 'pending' | 'settled';
}

/** Stores messages, which wait or are settled at once, and returns the bytes on disk for each of them when the store is closed. */
export async function measureDisk({ messages, bodyBytes, state }: DiskOrder): Promise<number> {
  await using directory = await temporaryDirectory('sizing');
  const file = join(directory.path, 'messages.db');
  {
    await using store = await openSqliteInboxStore({ file, durability: 'process', reserveBytes: 4096 });
    const body = JSON.stringify('x'.repeat(bodyBytes - 2));
    for (let first = 0; first < messages; first += batchSize) {
      const batch = Array.from({ length: batchSize }, (_, i) => message(first + i, body));
      const appended = await store.commit({ messages: batch, attempts: [], settlements: [] });
      if (state === 'pending') continue;
      const settlements = appended.map((one, i) => {
        if (one.result !== 'stored') throw new Error(`the store answered '${one.result}' to a new message`);
        return { inbox: batch[i]!.inbox, seq: one.seq, outcome: 'acked' as const };
      });
      await store.commit({ messages: [], attempts: [], settlements });
    }
  }
  const sizes = (await readdir(directory.path)).map(
    async (name) => (await stat(join(directory.path, name))).size,
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0) / messages;
}

function message(n: number, body: string): NewMessage {
  const now = Date.now();
  const sender = { sender: 'sender', senderAddress: 'sender', senderRole: 'worker' };
  const id = `${now.toString(36)}-${n.toString().padStart(10, '0')}`;
  return {
    inbox: `in-${n % inboxes}`,
    id,
    ...sender,
    kind: 'note',
    createdAt: now,
    expiresAt: now + 1e9,
    body,
  };
}
