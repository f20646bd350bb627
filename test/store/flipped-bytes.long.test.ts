import { join } from 'node:path';
import { openSqliteAuditLog, openSqliteTokenStore } from '@signalbox/store';
import { verifyAuditLog, verifyInboxStore, verifyTokenStore } from '@signalbox/store/internal';
import { tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { contentOf, flipBytes } from '../support/store/flipped-bytes.ts';
import { smallStore } from '../support/store/flipped-bytes-setup.ts';
import { startedAt } from '../support/store/test-store.ts';

const flips = 200;

it('Every byte of a store that is overwritten is found, or holds nothing that is ever read.', async () => {
  await using directory = await tempDir();
  const file = await smallStore(directory.path);
  for (const table of JSON.parse(contentOf(file))[1]) expect(table).not.toEqual([]);
  await expectFound(file, verifyInboxStore);
});

it('Every byte of a token store that is overwritten is found, or holds nothing that is ever read.', async () => {
  await using directory = await tempDir();
  const file = join(directory.path, 'tokens.db');
  {
    await using store = await openSqliteTokenStore({ file });
    for (let n = 0; n < 30; n++) {
      const more = n % 3 === 0 ? {} : { expiresAt: startedAt + n, parentId: 't0', roles: ['worker'] };
      const token = {
        id: `t${n}`,
        hash: `${n}`.repeat(20),
        agent: `agent-${n}`,
        role: 'worker',
        createdAt: n,
      };
      await store.add({ ...token, permissions: n % 2 === 0 ? ['mint'] : [], ...more });
    }
    await store.addAgents(Array.from({ length: 40 }, (_, n) => `agent-${n}`));
    for (let n = 0; n < 20; n++) {
      const reason = `the reason ${n} for which somebody holds an agent`;
      const by = { by: 'operator.kim', tokenId: 't1', createdAt: startedAt + n, cancelsRunning: n % 2 === 0 };
      await store.addHold({ id: `h${n}`, on: 'agent', name: `agent-${n}`, reason, ...by });
    }
  }
  await expectFound(file, verifyTokenStore);
});

it('Every byte of an audit log that is overwritten is found, or holds nothing that is ever read.', async () => {
  await using directory = await tempDir();
  const file = join(directory.path, 'audit.db');
  {
    await using log = await openSqliteAuditLog({ file, maxBytes: { refusal: 2000 } });
    for (let n = 0; n < 30; n++) {
      const event = { at: startedAt + n, agent: `agent-${n}`, detail: `the event ${n}` };
      log.record({ ...event, kind: 'change', code: 'token_issued' });
      log.record({ ...event, kind: 'refusal', code: 'forbidden' });
    }
    log.recordBatch({ from: 'orchestrator', id: 'b1' }, [
      { kind: 'call', at: startedAt, code: 'call_ok', detail: '' },
    ]);
  }
  await expectFound(file, verifyAuditLog);
});

type Verify = (file: string) => { problems: string[] } | Promise<{ problems: string[] }>;

async function expectFound(file: string, verify: Verify): Promise<void> {
  expect(await verify(file)).toMatchObject({ problems: [] });
  const { missed, unused } = await flipBytes(file, verify, { flips, seed: 3 });
  expect(missed).toEqual([]);
  // Its positive control: pages of a small database are largely empty, and no emptier.
  expect(unused).toBeLessThan((flips * 4) / 5);
}
