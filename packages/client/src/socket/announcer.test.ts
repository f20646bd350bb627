import { expect, test } from 'vitest';
import { HandClock } from '../../test/hand-clock.ts';
import { Announcer } from './announcer.ts';
import { Outbox } from './outbox.ts';

function announced() {
  const clock = new HandClock();
  const outbox = new Outbox(clock);
  const sent: unknown[] = [];
  outbox.control = (frame) => {
    sent.push([clock.now(), 'status' in frame ? frame.status : frame.type]);
  };
  return { clock, sent, announcer: new Announcer({ outbox, clock }) };
}

test('of many announcements in a second the first goes out at once and the last when the second is over', () => {
  const { clock, sent, announcer } = announced();
  announcer.connected();
  for (const status of ['a', 'b', 'c']) announcer.announce(status);
  clock.advance(10_000);
  expect(sent).toEqual([
    [0, 'a'],
    [1100, 'c'],
  ]);
});

test('one that the broker refuses as too early is said again, as it is by then', () => {
  const { clock, sent, announcer } = announced();
  announcer.connected();
  announcer.announce('a');
  clock.advance(1100);
  announcer.announce('b');
  announcer.refused(50);
  announcer.refused(50);
  announcer.announce('c');
  clock.advance(10_000);
  expect(sent).toEqual([
    [0, 'a'],
    [1100, 'b'],
    [1250, 'c'],
  ]);
});

test('a refusal of the connection before is forgotten; the new one hears the status at once', () => {
  const { clock, sent, announcer } = announced();
  announcer.connected();
  announcer.announce('a');
  announcer.refused(500);
  announcer.disconnected();
  announcer.refused(500);
  clock.advance(5000);
  announcer.connected();
  clock.advance(10_000);
  expect(sent).toEqual([
    [0, 'a'],
    [5000, 'a'],
  ]);
});
