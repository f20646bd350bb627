import { steadyTime } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import { openMessages, openPostgresStore, serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { commit, hour, message, settle } from '../support/store/test-store.ts';

const minute = 60_000;

describe.skipIf(serverUrl === undefined)('The slices of settled messages on PostgreSQL', () => {
  it('are dropped whole when they are older than the retention, and not before', async () => {
    await using setup = await openPostgresStore({ retentionMs: 5 * hour });
    for (let i = 0; i < 10; i++) {
      await settle(setup, await commit(setup, [message(`id-${i}`)]));
      setup.advance(hour);
      await setup.store.sweep(steadyTime(setup.now()));
    }
    const remembered = [];
    for (let i = 0; i < 10; i++)
      remembered.push((await setup.store.find('inbox', 'ann', `id-${i}`)) !== undefined);
    expect(remembered.slice(0, 4)).toEqual([false, false, false, false]);
    expect(remembered.slice(-4)).toEqual([true, true, true, true]);
    const { entries } = await setup.store.history({ since: 0, limit: 99 });
    expect(entries.length).toBe(remembered.filter(Boolean).length);
  });

  it('are dropped by size, but never within the dedupe window', async () => {
    await using setup = await openPostgresStore({ retentionBytes: 200_000 });
    const fill = async (round: number): Promise<void> => {
      const messages = Array.from({ length: 200 }, (_, i) => message(`${round}-${i}`));
      await settle(setup, await commit(setup, messages));
      setup.advance(5 * minute);
      await setup.store.sweep(steadyTime(setup.now()));
    };
    for (let round = 0; round < 12; round++) await fill(round);
    expect(await setup.store.find('inbox', 'ann', '0-0')).toBeUndefined();
    for (const id of ['11-0', '10-199']) expect(await setup.store.find('inbox', 'ann', id)).toBeDefined();
  });

  it('may be dropped and begun by one store while another one settles and looks for repeats', async () => {
    await using schema = await testSchema();
    let clock = Date.now();
    const now = () => clock;
    const limits = { dedupeWindowMs: 1000, retentionMs: 20_000, now, monotonic: now };
    await using keeper = await openMessages({ ...schema, ...limits, broker: 'keeper' });
    await using worker = await openMessages({ ...schema, ...limits, broker: 'worker' });
    const setup = { store: worker } as Parameters<typeof commit>[0];
    let isOver = false;
    const keeping = async (): Promise<void> => {
      while (!isOver) {
        clock += 5000;
        await keeper.sweep(steadyTime(clock));
      }
    };
    const kept = keeping();
    for (let i = 0; i < 200; i++) {
      const [seq] = await commit(setup, [message(`id-${i}`)]);
      await settle(setup, [seq!]);
      await worker.find('inbox', 'ann', `id-${i}`);
      if (i % 20 === 0) await worker.history({ since: 0, limit: 10 });
    }
    isOver = true;
    await kept;
    expect(await worker.stats('inbox')).toMatchObject({ pending: 0 });
    const [slices] = await schema.sql('SELECT count(*)::int AS count, max(number) AS last FROM @slice');
    expect(slices?.last).toBeGreaterThan(10);
    expect(slices?.count).toBeLessThan(30);
  });
});
