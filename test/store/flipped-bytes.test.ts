import { join } from 'node:path';
import {
  type Damage,
  type NewMessage,
  openSqliteAuditLog,
  openSqliteInboxStore,
  openSqliteTokenStore,
  steadyTime,
} from '@signalbox/store';
import { verifyAuditLog, verifyInboxStore, verifyTokenStore } from '@signalbox/store/internal';
import { tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { contentOf, flipBytes } from '../support/store/flipped-bytes.ts';
import { edit, replaceText, startedAt } from '../support/store/test-store.ts';

const flips = 200;

/** Writes a small store that uses every table of its schema, closes it, and returns its file. */
async function smallStore(directory: string): Promise<string> {
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

function messageOf(round: number, n: number): NewMessage {
  const times = { createdAt: startedAt + round, expiresAt: startedAt + 1e9, openUntil: startedAt + 1e9 };
  const sender = { sender: 'ann', senderAddress: 'ann', senderRole: 'worker' };
  const id = `m-${round}-${n}`;
  const inbox = n % 3 === 0 ? 'eve#one' : 'bob';
  return { inbox, id, ...sender, kind: 'ask', ...times, body: `{"text":"${id.repeat(1 + 9 * n)}"}` };
}

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

const damage: [string, (file: string) => void, RegExp][] = [
  [
    'the sender of a dead letter',
    (file) =>
      edit(file, "UPDATE dead_letter SET sender = 'kim' WHERE seq = (SELECT min(seq) FROM dead_letter)"),
    /dead letter \d+ says/,
  ],
  [
    'the time of a dead letter',
    (file) => edit(file, 'UPDATE dead_letter SET dead_at = dead_at + 1'),
    /dead letter \d+ says/,
  ],
  [
    'the recipient of a scheduled message',
    (file) =>
      edit(file, "UPDATE scheduled SET inbox = 'kim' WHERE number = (SELECT min(number) FROM scheduled)"),
    /scheduled message \d+ says/,
  ],
  [
    'the time at which a scheduled message was sent',
    (file) => edit(file, 'UPDATE scheduled SET sent_at = sent_at + 1'),
    /scheduled message \d+ says/,
  ],
  ['the hash of an id', damageHashes, /index of ids in segment \d+ is damaged/],
  [
    'the definition of a table',
    (file) => replaceText(file, 'generation TEXT NOT NULL', 'generation TEXT NOT NULl'),
    /definition of 'journal'/,
  ],
];

it.each(damage)('Reading a store through finds that %s was altered.', async (_, harm, problem) => {
  await using directory = await tempDir();
  const file = await smallStore(directory.path);
  harm(file);
  const { problems } = await verifyInboxStore(file);
  expect(problems[0]).toMatch(problem);
  expect(problems.every((text) => problem.test(text))).toBe(true);
});

function damageHashes(file: string): void {
  edit(file, "UPDATE segment_content SET hashes = x'00' || substr(hashes, 2)");
}

it('A message that comes again is known again, although the index of its id was damaged.', async () => {
  await using directory = await tempDir();
  const file = await smallStore(directory.path);
  damageHashes(file);
  const reports: string[] = [];
  const onDamage = ({ detail }: Damage) => void reports.push(detail);
  await using store = await openSqliteInboxStore({
    file,
    durability: 'process',
    now: () => startedAt,
    onDamage,
  });
  const again = [messageOf(0, 1), messageOf(8, 1)];
  const [first, second] = await store.commit({ messages: again, attempts: [], settlements: [] });
  expect([first?.result, second?.result]).toEqual(['duplicate', 'duplicate']);
  expect(reports.join()).toMatch(/segment \d+ was damaged and is repaired: no pending message is lost/);
});

it('Words of kept bodies are found again after their index was damaged, and a damaged body is left out.', async () => {
  await using directory = await tempDir();
  const file = await smallStore(directory.path);
  edit(file, "UPDATE kept_words_data SET block = x'00112233445566778899'");
  edit(file, "UPDATE kept_body SET body = 'altered' WHERE id = 'm-3-1'");
  expect((await verifyInboxStore(file)).problems.join()).toMatch(
    /the body of message \d+ that is kept is damaged/,
  );
  await using store = await openSqliteInboxStore({
    file,
    durability: 'process',
    now: () => startedAt,
    keepBodies: { kinds: ['ask'], ageMs: 1e12, bytes: 1e6 },
  });
  const found = async (word: string): Promise<string[]> => {
    const { threads } = await store.kept.threads({ words: [word], limit: 9 });
    return threads.map(({ newest }) => newest.id);
  };
  const messages = [{ ...messageOf(30, 1), body: 'a late word' }];
  await store.commit({ messages, attempts: [], settlements: [] });
  expect(await found('late')).toEqual(['m-30-1']);
  expect(await found('m-3-2m')).toEqual(['m-3-2']);
  expect(await found('altered')).toEqual([]);
  expect(await store.kept.thread('m-3-1', 0, 9, 1e6)).toEqual([]);
});
