import { expect, test } from 'vitest';
import { type WhyWaiting, whyWaitingLines } from './why-waiting.ts';

const now = 1_000_000_000;
const reading: WhyWaiting = { connected: 1, reads: true, ever_connected: true };

test.each<[string, WhyWaiting | undefined, string[]]>([
  ['reads its mail', { ...reading, unread: 0 }, []],
  ['is not known', undefined, []],
  ['has mail before this', { ...reading, unread: 1 }, ['1 message waits for rosa before it']],
  [
    'never connected, and has mail',
    { connected: 0, reads: false, ever_connected: false, unread: 2 },
    ['rosa has never connected', '2 messages wait for rosa before it'],
  ],
  [
    'is offline',
    { connected: 0, reads: false, ever_connected: true, offline_since: now - 120_000 },
    ['rosa is not connected, for 2 min now'],
  ],
  [
    'was offline when the broker started',
    { connected: 0, reads: false, ever_connected: true },
    ['rosa is not connected'],
  ],
  [
    'reads nothing',
    { ...reading, reads: false },
    ['rosa is connected, and no program of it takes its mail now'],
  ],
  ['is held', { ...reading, on_hold: 'kim holds everything' }, ['rosa is held: kim holds everything']],
  [
    'has a program that failed',
    {
      ...{ connected: 0, reads: false, ever_connected: true, offline_since: now - 60_000 },
      failed: { at: now - 60_000, reason: 'ended with exit code 3: no\nkey' },
    },
    [
      'rosa is not connected, for 60 s now',
      'the program of rosa ended with exit code 3: no key (60 s ago, and it is not back)',
    ],
  ],
  [
    'has a failing program',
    { ...reading, failing: { since: now - 60_000, reason: 'no\ncredit' } },
    ['the program of rosa has failed for 60 s, and its mail waits: no credit'],
  ],
])('A message to an agent that %s says so.', (_, why, lines) => {
  expect(whyWaitingLines('rosa', why, now)).toEqual(lines);
});

test('A group without a connected agent is named.', () => {
  expect(whyWaitingLines('role:press', { connected: 0 }, now)).toEqual([
    'no agent of role:press is connected',
  ]);
  expect(whyWaitingLines('role:press', { connected: 2 }, now)).toEqual([]);
});
