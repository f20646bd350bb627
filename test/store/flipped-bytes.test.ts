import { type Damage, openSqliteInboxStore } from '@signalbox/store';
import { verifyInboxStore } from '@signalbox/store/internal';
import { tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { messageOf, smallStore } from '../support/store/flipped-bytes-setup.ts';
import { edit, replaceText, startedAt } from '../support/store/test-store.ts';

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
