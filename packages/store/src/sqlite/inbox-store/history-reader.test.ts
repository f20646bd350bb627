import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { append, commit, message, seqOf } from '../../conformance/store-under-test.ts';
import type { Outcome } from '../../message.ts';
import { openSqliteInboxStore } from './inbox-store.ts';

/** More messages than the reader examines before others have their turn, and than it keeps for a short page. */
const rows = 2300;

const rooms: [string, { limit: number; memtableMessages: number }][] = [
  ['and go to segments', { limit: 10_000, memtableMessages: 360 }],
  ['and come from segments', { limit: 300, memtableMessages: 4000 }],
];

it.each(rooms)(
  'tells of each message once while they are settled %s',
  async (_, { limit, memtableMessages }) => {
    const directory = mkdtempSync(join(tmpdir(), 'signalbox-history-'));
    try {
      await using store = await openSqliteInboxStore({
        file: join(directory, 'messages.db'),
        durability: 'process',
        reserveBytes: 0,
        memtableMessages,
      });
      const ended = new Map<number, Outcome>();
      let created = 0;
      const add = async (inbox: string, count: number): Promise<number[]> => {
        const createdAt = created++;
        const ids = Array.from({ length: count }, (_, i) => `${inbox}-${i}`);
        return (
          await append(
            store,
            ids.map((id) => message({ id, inbox, createdAt })),
          )
        ).map(seqOf);
      };
      const settle = async (inbox: string, seqs: number[], outcome: Outcome): Promise<void> => {
        for (const seq of seqs) ended.set(seq, outcome);
        await commit(store, { settlements: seqs.map((seq) => ({ inbox, seq, outcome })) });
      };
      // Most are in segments, the last ones in the memtable.
      const slow = await add('slow', rows);
      const early = await add('early', 1200);
      for (let page = 0; page < 3; page++) await settle('early', early.splice(0, 370), 'acked');
      const recent = await add('recent', 90);
      const all = [...slow, ...ended.keys(), ...early, ...recent];
      const endedBefore = new Set(ended.keys());

      let isRead = false;
      const reading = store.history({ since: 0, until: created, limit }).finally(() => {
        isRead = true;
      });
      for (let turn = 0; !isRead; turn++) {
        const outcome = turn % 2 === 0 ? 'acked' : 'expired';
        for (const [inbox, seqs] of Object.entries({ slow, early, recent })) {
          // They are from the start, the end and the middle: some were examined, and some not yet.
          const chosen = [0, seqs.length - 8, seqs.length >> 1].flatMap((at) => seqs.splice(at, 4));
          await settle(inbox, chosen, outcome);
        }
        await add(`new-${turn}`, 85);
        await nextTurn();
      }
      const { entries } = await reading;
      expect(entries.map(({ seq }) => seq)).toEqual(all.slice(0, limit));
      const isWrong = ({ seq, settled }: (typeof entries)[number]) =>
        settled ? settled.outcome !== ended.get(seq) : endedBefore.has(seq);
      expect(entries.filter(isWrong)).toEqual([]);
      expect(entries.filter(({ seq, settled }) => settled && !endedBefore.has(seq))).not.toEqual([]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  },
);
