import type { CounterLine } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { Ledger } from './ledger.ts';
import { doubledOf, judge, lostOf, type Verdict } from './oracle.ts';
import type { CallEnd } from './process-messages.ts';
import type { StoredMessages } from './stored-messages.ts';

interface Story {
  tool?: string;
  end?: CallEnd;
  asked?: { state: 'finished' | 'unknown'; result: boolean };
  /** The number of times that the tool started. */
  ran: number;
  stored?: Partial<StoredMessages>;
  /** The receipts of notes. */
  notes?: Record<string, boolean>;
}

/** The verdict on one call `a` of one worker. */
function verdictOn({ tool = 'count', end, asked, ran, stored, notes = {} }: Story): Verdict {
  const ledger = new Ledger();
  ledger.open({ id: 'a', worker: 'w', tool, timeoutMs: 0 });
  if (end) ledger.ended('a', end);
  if (asked) {
    ledger.orphaned('w');
    ledger.asked('a', asked);
  }
  for (const [id, receipt] of Object.entries(notes)) ledger.notes.set(id, receipt);
  const line: CounterLine = { tool, args: { label: 'a' }, pid: 1, at: 'start' };
  const counted = Array.from({ length: ran }, () => line);
  return judge(ledger, counted, { waitingCalls: [], settledCalls: new Set(['a']), inbox: [], ...stored });
}

const judged = (story: Story) => {
  const verdict = verdictOn(story);
  const { misreported } = verdict;
  return { lost: lostOf(verdict), doubled: doubledOf(verdict), misreported };
};
const kept = { lost: [], doubled: [], misreported: [] };
const failed = (mayHaveRun: boolean): CallEnd => ({ code: 'outcome_unknown', mayHaveRun });

test('A call that ran once and has its result is as promised; one that ran twice is doubled unless its tool may be repeated.', () => {
  expect(judged({ end: {}, ran: 1 })).toEqual(kept);
  expect(judged({ end: {}, ran: 2 })).toEqual({ ...kept, doubled: ['a'] });
  expect(judged({ end: {}, ran: 2, tool: 'echo' })).toEqual(kept);
  expect(judged({ asked: { state: 'finished', result: true }, ran: 2 })).toEqual({ ...kept, doubled: ['a'] });
});

test('A result of what never ran, or without a record, and a request left waiting count as lost.', () => {
  expect(judged({ end: {}, ran: 0 })).toEqual({ ...kept, lost: ['a'] });
  expect(judged({ asked: { state: 'finished', result: true }, ran: 0 })).toEqual({ ...kept, lost: ['a'] });
  expect(judged({ end: {}, ran: 1, stored: { settledCalls: new Set() } })).toEqual({ ...kept, lost: ['a'] });
  expect(judged({ end: {}, ran: 1, stored: { waitingCalls: ['a'] } })).toEqual({ ...kept, lost: ['a'] });
});

test('A failure may leave open whether the tool ran, but not deny that it did.', () => {
  expect(judged({ end: failed(true), ran: 1 })).toEqual(kept);
  expect(judged({ end: failed(false), ran: 0 })).toEqual(kept);
  expect(judged({ end: failed(false), ran: 1 })).toEqual({ ...kept, misreported: ['a'] });
});

test('A note with a receipt must be stored once; one without may be missing.', () => {
  const story = (inbox: string[], receipt: boolean): Story => ({
    end: {},
    ran: 1,
    notes: { n: receipt },
    stored: { inbox },
  });
  expect(judged(story(['n'], true))).toEqual(kept);
  expect(judged(story([], false))).toEqual(kept);
  expect(judged(story([], true))).toEqual({ ...kept, lost: ['n'] });
  expect(judged(story(['n', 'n'], true))).toEqual({ ...kept, doubled: ['n'] });
});

test('A call that reports no end by its deadline is silent, and lost; a second end is noticed.', async () => {
  const ledger = new Ledger();
  ledger.open({ id: 'a', worker: 'w', tool: 'count', timeoutMs: -2_000 });
  await ledger.quiet();
  const nothing: StoredMessages = { waitingCalls: [], settledCalls: new Set(), inbox: [] };
  expect(judge(ledger, [], nothing).silent).toEqual(['a']);
  ledger.ended('a', {});
  expect(judge(ledger, [], nothing).endedTwice).toBe(1);
});
