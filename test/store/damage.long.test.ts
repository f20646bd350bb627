import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Damage, type InboxStore, type NewMessage, openSqliteInboxStore } from '@signalbox/store';
import { verifyInboxStore } from '@signalbox/store/internal';
import { tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { inboxes, messageOf, writeFiles } from '../support/store/damage.ts';
import { randomOf } from '../support/store/random.ts';
import { edit, replaceText, startedAt } from '../support/store/test-store.ts';

const room = { memtableMessages: 60, segmentMessages: 16, reserveBytes: 4096 };

/** The messages that a store must hold, and those that it may hold. */
interface Sent {
  pending: ReadonlyMap<string, NewMessage>;
  dead: ReadonlyMap<string, NewMessage>;
  all: ReadonlyMap<string, NewMessage>;
}

/** Messages in the log, in segments of pending and settled messages, and among the dead letters. */
async function fill(store: InboxStore): Promise<Sent> {
  const all = new Map<string, NewMessage>();
  const pending = new Map<string, NewMessage>();
  const dead = new Map<string, NewMessage>();
  for (let round = 0; round < 40; round++) {
    const messages = Array.from({ length: 1 + (round % 8) }, (_, n) => messageOf(round, n));
    const appended = await store.commit({ messages, attempts: [], settlements: [] });
    await store.sync();
    const settlements = appended.flatMap((one, n) => {
      const message = messages[n]!;
      all.set(message.id, message);
      pending.set(message.id, message);
      if (one.result !== 'stored' || (round + n) % 3 > 0) return [];
      pending.delete(message.id);
      const outcome = (round + n) % 2 === 0 ? 'dead' : 'acked';
      if (outcome === 'dead') dead.set(message.id, message);
      return [{ inbox: message.inbox, seq: one.seq, outcome } as const];
    });
    await store.commit({ messages: [], attempts: [], settlements });
    await store.sync();
  }
  return { pending, dead, all };
}

/** The files of a store with the log of SQLite beside it, as after kill -9. With `whole` the log is in the database. */
async function filesOf(
  directory: string,
  whole: boolean,
): Promise<{ sent: Sent; files: Map<string, Buffer> }> {
  const file = join(directory, 'messages.db');
  const store = await openSqliteInboxStore({ ...room, file, durability: 'full', now: () => startedAt });
  const sent = await fill(store);
  const read = () =>
    new Map(
      ['', '-wal', '.mark']
        .filter((suffix) => existsSync(`${file}${suffix}`))
        .map((suffix) => [suffix, readFileSync(`${file}${suffix}`)]),
    );
  const killed = read();
  await store[Symbol.asyncDispose]();
  return { sent, files: whole ? read() : killed };
}

interface Outcome {
  /** Reports, and errors with which the store refused to go on. */
  reports: string[];
  refused: boolean;
}

/** Opens what is left as a broker would, accepts a loss if it must, and compares all that can be read with what was sent. */
async function expectHonest(file: string, { pending, dead, all }: Sent): Promise<Outcome> {
  const reports: string[] = [];
  let refused = false;
  const onDamage = ({ detail }: Damage) => void reports.push(detail);
  const open = (acceptLoss: boolean) =>
    openSqliteInboxStore({
      ...room,
      file,
      durability: 'process',
      now: () => startedAt,
      acceptLoss,
      onDamage,
    });
  const note = (thrown: unknown): void => {
    expect(thrown).toMatchObject({
      code: expect.stringMatching(/^store_(corrupt|damaged|too_new|unwritable)$/),
    });
    refused = true;
    reports.push(String(thrown));
  };
  let opened = await open(false).catch(note);
  if (!opened) opened = await open(true).catch(note);
  if (!opened) return { reports, refused };
  await using store = opened;
  const found = new Set<string>();
  try {
    for (const inbox of inboxes) {
      for (const message of await store.read(inbox, 0, 1e6, 1e9)) {
        const sent = all.get(message.id);
        expect(sent).toBeDefined();
        found.add(message.id);
        if (message.damaged) {
          reports.push(`damaged: ${message.id}`);
          expect(message.body).toBeUndefined();
        } else expect(message).toMatchObject({ ...sent });
        if (!pending.has(message.id)) expect(reports).not.toEqual([]);
      }
    }
    for (const letter of await store.dead.list(undefined, 0, 1e6)) {
      const whole = await store.dead.find(letter.seq);
      expect(dead.has(letter.id) && whole).toBeTruthy();
      if (whole?.damaged) reports.push(`damaged: ${letter.id}`);
      else expect(whole).toMatchObject({ ...all.get(letter.id) });
      found.add(letter.id);
    }
  } catch (thrown) {
    if ((thrown as { name: string }).name !== 'StoreError') throw thrown;
    note(thrown);
  }
  if (reports.length === 0)
    expect([...pending.keys(), ...dead.keys()].filter((id) => !found.has(id))).toEqual([]);
  return { reports, refused };
}

describe('A store with one flipped bit', () => {
  it.each([
    ['in the database', true, ''],
    ['in the log of SQLite', false, '-wal'],
  ])(
    '%s gives out no message that is altered, and reports each that is lost',
    async (_, isClosed, suffix) => {
      await using directory = await tempDir();
      const { sent, files } = await filesOf(directory.path, isClosed);
      const file = join(directory.path, 'copy.db');
      const random = randomOf(7);
      const content = files.get(suffix)!;
      let noticed = 0;
      let refusals = 0;
      const flips = 60;
      for (let flip = 0; flip < flips; flip++) {
        const place = Math.floor(random() * content.length);
        const bit = Math.floor(random() * 8);
        writeFiles(file, files);
        for (const left of ['-shm', ...(isClosed ? ['-wal'] : [])])
          if (existsSync(`${file}${left}`)) truncateSync(`${file}${left}`);
        const flipped = Buffer.from(content);
        flipped[place]! ^= 1 << bit;
        writeFileSync(`${file}${suffix}`, flipped);
        const { reports, refused } = await expectHonest(file, sent).catch((thrown) => {
          throw new Error(`flip ${flip}: bit ${bit} of byte ${place}`, { cause: thrown });
        });
        if (reports.length > 0) noticed++;
        if (refused) refusals++;
      }
      expect(noticed).toBeGreaterThan(flips / 10);
      // Most damage costs no more than a few messages, and stops no start.
      expect(refusals).toBeLessThan(flips / 4);
      // Its positive control: without a flip nothing is reported.
      writeFiles(file, files);
      const whole = { problems: [], messages: expect.any(Number), deadLetters: sent.dead.size };
      expect(await verifyInboxStore(file)).toMatchObject(whole);
      expect(await expectHonest(file, sent)).toEqual({ reports: [], refused: false });
    },
  );
});

describe('A store that is damaged in one place', () => {
  const damage: [string, (file: string) => void, RegExp][] = [
    [
      'a segment of another type',
      (file) => edit(file, 'UPDATE segment_content SET entries = CAST(entries AS BLOB)'),
      /segment \d+ was damaged/,
    ],
    [
      'a missing segment',
      (file) => edit(file, 'DELETE FROM segment WHERE number = (SELECT max(segment) FROM pending_range)'),
      /segment \d+ was damaged/,
    ],
    [
      'a missing content',
      (file) =>
        edit(file, 'DELETE FROM segment_content WHERE number = (SELECT max(segment) FROM pending_range)'),
      /messages to '.*' with sequence numbers .* are lost/,
    ],
    [
      'a missing range',
      (file) =>
        edit(file, 'DELETE FROM pending_range WHERE segment = (SELECT max(segment) FROM pending_range)'),
      /may come again/,
    ],
    [
      'a missing record',
      (file) => edit(file, 'DELETE FROM commit_log WHERE number = (SELECT max(number) - 3 FROM commit_log)'),
      /lost 1 commit \(number \d+\) in the middle of its log/,
    ],
    [
      'missing last records',
      (file) => edit(file, 'DELETE FROM commit_log WHERE number > (SELECT max(number) - 3 FROM commit_log)'),
      /lost its last 3 commits/,
    ],
    [
      'another number',
      (file) => edit(file, "UPDATE meta SET value = 1 WHERE key = 'seq_reserved'"),
      /the mark of used sequence numbers/,
    ],
    [
      'a column of another name',
      (file) => replaceText(file, 'token_ids TEXT NOT NULL', 'tokes_ids TEXT NOT NULL'),
      /store_corrupt|no column|no such column/,
    ],
  ];

  it.each(damage)('is honest with %s', async (_, harm, report) => {
    await using directory = await tempDir();
    const { sent, files } = await filesOf(directory.path, true);
    const file = join(directory.path, 'copy.db');
    writeFiles(file, files);
    harm(file);
    const problems = await verifyInboxStore(file).then(
      (verified) => verified.problems,
      (error) => [String(error)],
    );
    expect(problems).not.toEqual([]);
    const { reports } = await expectHonest(file, sent);
    expect(reports.join('\n')).toMatch(report);
  });
});
