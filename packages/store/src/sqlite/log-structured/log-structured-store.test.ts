import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { expect, it } from 'vitest';
import { append, commit, message } from '../../conformance/store-under-test.ts';
import type { DeadLetter } from '../../dead-letters.ts';
import { steadyTime } from '../../expiry-time.ts';
import type { Appended, Batch, InboxStore } from '../../inbox-store.ts';
import type { NewMessage, Outcome, StoredMessage } from '../../message.ts';
import { closeDatabase, openDatabase } from '../database.ts';
import { markFile } from '../inbox-store/durable-mark.ts';
import { inboxSchema } from '../inbox-store/inbox-schema.ts';
import { SqliteInboxStore, type SqliteInboxStoreOptions } from '../inbox-store/inbox-store.ts';
import { PendingSegments } from './pending-segments.ts';
import { Segments } from './segments.ts';

const clock = 5000;
const bodies = [undefined, '', '"body"', 'ünï 漢字 😀 \u0000', `"${'long '.repeat(40)}"`];
const outcomes: Outcome[] = ['acked', 'expired', 'dead', 'cancelled'];

/** Limits, and the places where messages are with them. */
const rooms: [string, Partial<SqliteInboxStoreOptions>, string[]][] = [
  ['all messages are in the memtable', {}, ['log']],
  ['some are in segments', { memtableMessages: 35 }, ['log', 'pending', 'settled']],
  ['all messages are in segments', { memtableMessages: 0 }, ['pending', 'settled']],
  ['the commit log holds few bytes', { memtableBytes: 900 }, ['log', 'pending', 'settled']],
  ['segments are small', { memtableMessages: 26, segmentMessages: 3 }, ['log', 'pending', 'settled']],
  ['each segment holds one message', { memtableMessages: 0, segmentMessages: 1 }, ['pending', 'settled']],
];

it.each(rooms)(
  'a copy of the files holds all that was committed, at any time, where %s',
  async (_, room, used) => {
    using files = scratch();
    const { store } = files.open(room);
    const traffic = new Traffic();
    for (let round = 1; round <= 18; round++) {
      await traffic.flow(store);
      if (round % 9 !== 0) continue;
      const copy = files.copy().open(room);
      const state = await stateOf(copy.store, traffic.sent);
      expect(state).toMatchObject(traffic.expected());
      expect(state).toEqual(await stateOf(store, traffic.sent));
      expectTrueCounts(copy.db);
      expect(placesOf(copy.db)).toEqual(used);
      await expectToGoOn(copy.store, traffic);
      expectTrueCounts(copy.db);
      expect(copy.db.prepare('SELECT * FROM pending_count').all()).toEqual([]);
    }
  },
);

it.each([...rooms.slice(1, 3), ...rooms.slice(4)])(
  'a log cut short gives what was there after some commit, where %s',
  async (_, room) => {
    using files = scratch();
    const { store } = files.open(room);
    const traffic = new Traffic();
    const rounds = 10;
    const all = firstMessages(rounds * perRound);
    const states = [JSON.stringify(await stateOf(store, all))];
    for (let round = 0; round < rounds; round++) {
      await traffic.flow(store);
      states.push(JSON.stringify(await stateOf(store, all)));
    }
    const found: number[] = [];
    for (let part = 0; part <= 6; part++) {
      const copy = files.copy(part / 6).open(room);
      found.push(states.indexOf(JSON.stringify(await stateOf(copy.store, all))));
      expectTrueCounts(copy.db);
    }
    expect(found).not.toContain(-1);
    expect(found).toEqual(found.toSorted((a, b) => a - b));
    expect(found.at(-1)).toBe(rounds);
    expect(new Set(found).size).toBeGreaterThan(3);
  },
);

const writes = [
  'INSERT ON meta',
  'INSERT ON segment',
  'INSERT ON segment_content',
  'UPDATE ON segment',
  'DELETE ON segment',
  'DELETE ON segment_content',
  'INSERT ON pending_range',
  'UPDATE ON pending_range',
  'DELETE ON pending_range',
  'DELETE ON commit_log',
  'INSERT ON pending_count',
  'INSERT ON commit_log',
  // This is nearly always possible, and it leaves a record half made.
  'INSERT ON dead_letter',
];

it('a commit that fails at any of its writes changes nothing, and the next ones work', async () => {
  using files = scratch();
  const room = { memtableMessages: 16, segmentMessages: 5 };
  const { store, db } = files.open(room);
  const traffic = new Traffic();
  const failed = new Set<string>();
  for (let round = 0; round < 7; round++) {
    const batch = traffic.next();
    const failing = { ...batch, messages: [message({ id: 'never', inbox: 'slow' }), ...batch.messages] };
    const sent = firstMessages(traffic.sent.length + perRound);
    const before = await stateOf(store, sent);
    for (const write of writes) {
      failed.add(await failingAt(db, write, () => store.commit(failing)));
      expect(await stateOf(store, sent), `${write}, round ${round}`).toEqual(before);
    }
    traffic.applied(batch, await store.commit(batch));
    for (const one of [store, files.copy().open(room).store])
      expect(await stateOf(one, traffic.sent), `round ${round}`).toMatchObject(traffic.expected());
  }
  expect([...failed].sort()).toEqual([...writes].sort());
  const copy = files.copy().open(room);
  expectTrueCounts(copy.db);
  for (const one of [copy.store, store]) await expectToGoOn(one, traffic);
});

it('a store that cannot read its log after a failed commit fails until it can, and has lost nothing', async () => {
  using files = scratch();
  const { store, db } = files.open({ memtableMessages: 35 });
  const traffic = new Traffic();
  for (let round = 0; round < 9; round++) await traffic.flow(store);
  const before = await stateOf(store, traffic.sent);
  // It hides the table: writing to a view fails, and so does reading this one.
  db.exec(
    "CREATE TEMP VIEW commit_log AS SELECT abs(-9223372036854775808) AS number, 0 AS kept, '' AS entries, x'' AS bodies",
  );
  const batch = traffic.next();
  await expect(store.commit(batch)).rejects.toMatchObject({ code: 'store_failed' });
  await expect(store.commit(batch)).rejects.toMatchObject({ code: 'store_failed' });
  await expect(store.read('fast', 0, 9, 1e9)).rejects.toMatchObject({ code: 'store_failed' });
  await expect(store.history({ since: 0, limit: 9 })).rejects.toMatchObject({ code: 'store_failed' });
  db.exec('DROP VIEW temp.commit_log');
  expect(await stateOf(store, traffic.sent)).toEqual(before);
  traffic.applied(batch, await store.commit(batch));
  for (const one of [store, files.copy().open({}).store])
    expect(await stateOf(one, traffic.sent)).toMatchObject(traffic.expected());
  await expectToGoOn(store, traffic);
});

it('a step of housekeeping that fails forgets nothing', async () => {
  using files = scratch();
  let passed = 0;
  const { store, db } = files.open({ memtableMessages: 16, monotonic: () => passed });
  const traffic = new Traffic();
  for (let round = 0; round < 8; round++) await traffic.flow(store);
  const before = await stateOf(store, traffic.sent);
  passed = 25 * 60 * 60 * 1000;
  const later = clock + passed;
  for (const write of ['DELETE ON segment_content', 'DELETE ON segment']) {
    db.exec(`CREATE TEMP TRIGGER failing BEFORE ${write} BEGIN SELECT RAISE(ABORT, 'not now'); END`);
    await expect(store.sweep(steadyTime(later))).rejects.toMatchObject({ code: 'store_failed' });
    db.exec('DROP TRIGGER failing');
    expect(await stateOf(store, traffic.sent)).toEqual(before);
  }
  await store.sweep(steadyTime(later));
  const { fast, slow, found } = await stateOf(store, traffic.sent);
  expect({ fast, slow }).toEqual({ fast: before.fast, slow: before.slow });
  expect(found.filter((one) => one?.outcome === undefined && one !== undefined)).toHaveLength(
    fast.read.length + slow.read.length,
  );
  expect(found).toContain(undefined);
});

/** Runs `run`, which must fail. Returns the write that failed: `write`, or else the last one of a commit. */
async function failingAt(db: Database, write: string, run: () => Promise<unknown>): Promise<string> {
  const dropping = write === 'INSERT ON pending_count' ? write : 'DELETE ON commit_log';
  const last = { counting: 'INSERT ON pending_count', last: 'INSERT ON commit_log' };
  for (const [name, what] of Object.entries({ first: write, dropping, ...last }))
    db.exec(`CREATE TEMP TRIGGER ${name} BEFORE ${what} BEGIN SELECT RAISE(ABORT, '<${what}>'); END`);
  try {
    await run();
  } catch (thrown) {
    return /<(.*)>/.exec((thrown as Error).message)?.[1] ?? expect.fail(String(thrown));
  } finally {
    db.exec('DROP TRIGGER first; DROP TRIGGER dropping; DROP TRIGGER counting; DROP TRIGGER last');
  }
  return expect.fail(`it did not fail at ${write}`);
}

/**
 * Checks that everything sent is a repeat, that a new message is none, that a dead letter comes back, and that settling all leaves nothing.
 */
async function expectToGoOn(store: InboxStore, traffic: Traffic): Promise<void> {
  const repeats = await append(store, traffic.sent);
  expect(new Set(repeats.map(({ result }) => result))).toEqual(new Set(['duplicate']));
  const [letter] = await store.dead.list('fast', 0, 1);
  expect(await store.dead.retry(letter!.seq, clock)).toMatchObject({ result: 'stored' });
  await append(store, [message({ id: 'new', inbox: 'fast' })]);
  const fast = await store.read('fast', 0, 1000, 1e9);
  expect(fast.slice(-2)).toMatchObject([{ id: letter!.id }, { id: 'new' }]);
  expect(fast).toEqual(fast.toSorted((a, b) => a.seq - b.seq));
  const settlements = [...fast, ...(await store.read('slow', 0, 1000, 1e9))].map(({ inbox, seq }) => ({
    inbox,
    seq,
    outcome: 'acked' as const,
  }));
  await commit(store, { settlements });
  expect(await store.inboxes('', 9)).toEqual([]);
  for (const inbox of ['fast', 'slow'])
    expect(await store.stats(inbox)).toEqual({ pending: 0, bytes: 0, headSeq: 0 });
}

/** Returns the places where messages are: the log, and the kinds of segments. */
function placesOf(db: Database): string[] {
  const kinds = db.prepare<[], string>('SELECT DISTINCT kind FROM segment ORDER BY kind').pluck().all();
  return db.prepare('SELECT 1 FROM commit_log').get() === undefined ? kinds : ['log', ...kinds];
}

/** Checks that the counts match the pending messages in segments, and that ranges of an inbox do not overlap. */
function expectTrueCounts(db: Database): void {
  const segments = new Segments(db);
  const pending = new PendingSegments(db, segments, 128);
  const counts = new Map<string, { inbox: string; sender: string; pending: number; bytes: number }>();
  for (const segment of segments.all()) {
    const messages = segment.kind === 'pending' ? pending.messagesIn(segment) : [];
    expect(segment.pending).toBe(messages.length);
    for (const { shared, size } of messages) {
      const { inbox, sender } = shared;
      const { pending, bytes } = counts.get(`${inbox} ${sender}`) ?? { pending: 0, bytes: 0 };
      counts.set(`${inbox} ${sender}`, { inbox, sender, pending: pending + 1, bytes: bytes + size });
    }
  }
  const sorted = [...counts.keys()].sort().map((key) => counts.get(key));
  expect(
    db.prepare('SELECT inbox, sender, pending, bytes FROM pending_count ORDER BY inbox, sender').all(),
  ).toEqual(sorted);
  const overlapping = `SELECT 1 FROM pending_range AS a JOIN pending_range AS b USING (inbox)
    WHERE a.last <> b.last AND a.first <= b.last AND b.first <= a.last`;
  expect(db.prepare(overlapping).all()).toEqual([]);
  expect(db.prepare('SELECT 1 FROM segment WHERE pending = 0 AND kind = ?').all('pending')).toEqual([]);
}

/** Returns everything that a store tells. */
async function stateOf(store: InboxStore, sent: readonly NewMessage[]) {
  const of = async (inbox: string) => ({
    stats: await store.stats(inbox),
    read: await store.read(inbox, 0, 1000, 1e9),
    tried: await store.tried(inbox, [], 1000),
  });
  const letters = await store.dead.list(undefined, 0, 1000);
  return {
    inboxes: await store.inboxes('', 9),
    fast: await of('fast'),
    slow: await of('slow'),
    found: await Promise.all(sent.map(({ inbox, sender, id }) => store.find(inbox, sender, id))),
    dead: await Promise.all(letters.map(({ seq }) => store.dead.find(seq))),
    withToken: await store.sentWith('token', 1000),
    history: (await store.history({ since: 0, limit: 1000 })).entries,
  };
}

const perRound = 6;

function firstMessages(count: number): NewMessage[] {
  return Array.from({ length: count }, (_, i) => {
    const body = bodies[i % bodies.length];
    const { body: _body, ...rest } = message({
      id: (Math.imul(i + 1, 0x9e3779b1) >>> 0).toString(36),
      inbox: i % 3 === 2 ? 'slow' : 'fast',
      sender: i % 2 === 0 ? 'ann' : 'bob',
      createdAt: i,
      ...(i % 4 === 0 && { tokenId: 'token' }),
      ...(i % 7 === 0 && { correlationId: `c${i}` }),
    });
    return { ...rest, ...(body !== undefined && { body }) };
  });
}

/** Messages of all kinds to `fast`, where most are settled soon, and to `slow`. It knows which of them a store must have. */
class Traffic {
  sent: NewMessage[] = [];
  readonly #seqs: number[] = [];
  readonly #waiting = new Map<number, StoredMessage>();
  readonly #outcomes = new Map<number, Outcome>();
  readonly #dead: DeadLetter[] = [];

  async flow(store: InboxStore): Promise<void> {
    const batch = this.next();
    this.applied(batch, await store.commit(batch));
  }

  next(): Batch {
    const from = this.sent.length;
    const [replied, ...fast] = this.#in('fast').slice(0, -3);
    const slow = from % 4 === 0 ? this.#in('slow').slice(0, 1) : [];
    const settlements = [...fast.slice(0, 3), ...slow].map(({ inbox, seq }, i) => {
      const outcome = outcomes[(from + i) % outcomes.length]!;
      return { inbox, seq, outcome, ...(outcome !== 'acked' && { reason: `since it is ${outcome}` }) };
    });
    const tried = [...this.#in('fast').slice(-1), ...this.#in('slow').slice(0, 1), ...fast.slice(0, 1)];
    const messages = firstMessages(from + perRound).slice(from);
    const reply = { ...messages.at(-1)!, ...(replied && { settles: { inbox: 'fast', seq: replied.seq } }) };
    return {
      messages: [...messages.slice(0, -1), reply],
      settlements,
      attempts: tried.map(({ inbox, seq }, i) => ({ inbox, seq, attempts: from + i })),
    };
  }

  applied({ messages, attempts, settlements }: Batch, appended: readonly Appended[]): void {
    for (const [i, { settles, tokenId, ...sent }] of messages.entries()) {
      const answer = appended[i];
      if (answer?.result !== 'stored') expect.fail(answer?.result);
      const { seq } = answer;
      this.#seqs.push(seq);
      this.#waiting.set(seq, { ...sent, seq, attempts: 0, size: Buffer.byteLength(sent.body ?? '') });
      if (settles) this.#end(settles.seq, 'acked');
    }
    this.sent = firstMessages(this.sent.length + messages.length);
    for (const { seq, attempts: count } of attempts) this.#waiting.get(seq)!.attempts = count;
    for (const { seq, outcome } of settlements) this.#end(seq, outcome);
  }

  expected() {
    const of = (inbox: string) => {
      const read = this.#in(inbox);
      const bytes = read.reduce((sum, { size }) => sum + size, 0);
      return { read, stats: { pending: read.length, bytes, headSeq: read.at(-1)?.seq ?? 0 } };
    };
    const found = this.#seqs.map((seq) => {
      const outcome = this.#outcomes.get(seq);
      return { seq, ...(outcome && { outcome }) };
    });
    const history = found.map(({ seq, outcome }, i) => {
      const { id, createdAt } = this.sent[i]!;
      return { seq, id, createdAt, ...(outcome && { settled: { at: clock, outcome } }) };
    });
    return { fast: of('fast'), slow: of('slow'), found, history, dead: this.#dead };
  }

  #in(inbox: string): StoredMessage[] {
    return [...this.#waiting.values()].filter((one) => one.inbox === inbox);
  }

  #end(seq: number, outcome: Outcome): void {
    const letter = this.#waiting.get(seq)!;
    if (outcome === 'dead') this.#dead.push({ ...letter, deadAt: clock, reason: 'since it is dead' });
    this.#outcomes.set(seq, outcome);
    this.#waiting.delete(seq);
  }
}

interface Opened {
  readonly db: Database;
  readonly store: InboxStore;
}

/** Files of a store that are removed at the end; `copy` makes others, with this much of the log. */
interface Files {
  open(room: Partial<SqliteInboxStoreOptions>): Opened;
  copy(part?: number): Files;
}

function scratch(): Files & Disposable {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-messages-'));
  const opened: Database[] = [];
  let copies = 0;
  const filesAt = (file: string): Files => ({
    open: (room) =>
      openDatabase({ file, synchronous: 'normal', schema: inboxSchema }, (db) => {
        opened.push(db);
        db.pragma('synchronous = off');
        const fixed = {
          durability: 'process',
          reserveBytes: 0,
          now: () => clock,
          monotonic: () => clock,
          // A copy shows what a power cut leaves: it lacks what was not synced.
          boot: basename(file),
        } as const;
        return { db, store: new SqliteInboxStore(db, { file, ...fixed, ...room }) };
      }),
    copy: (part = 1) => {
      const copy = join(directory, `copy-${++copies}.db`);
      copyFileSync(file, copy);
      copyFileSync(markFile(file), markFile(copy));
      const log = readFileSync(`${file}-wal`);
      writeFileSync(`${copy}-wal`, log.subarray(0, log.length * part));
      return filesAt(copy);
    },
  });
  return {
    ...filesAt(join(directory, 'messages.db')),
    [Symbol.dispose]() {
      for (const db of opened) closeDatabase(db);
      rmSync(directory, { recursive: true });
    },
  };
}
