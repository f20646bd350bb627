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
