import { expect, test } from 'vitest';
import { type CircuitMessage, ProgramCircuit } from './program-circuit.ts';

const second = 1_000;
const hour = 3_600 * second;

function setUp() {
  const clock = { now: 0 };
  const circuit = new ProgramCircuit({ retryWaitMs: 30 * second, now: () => clock.now, random: () => 1 });
  return {
    circuit,
    clock,
    fail: (message: CircuitMessage, change: { attempt?: number; isUnavailable?: boolean } = {}) =>
      circuit.failed({ message, attempt: 1, reason: 'exit code 1', isUnavailable: false, ...change }),
  };
}

const of = (sender: string, id: string): CircuitMessage => ({ key: `${sender} ${id}`, sender });
const [ann1, ann2, ann3, bob1, carl1] = [
  of('ann', '1'),
  of('ann', '2'),
  of('ann', '3'),
  of('bob', '1'),
  of('carl', '1'),
];

test('The tries of one message are 30 s apart, then twice as much, up to ten minutes, and each is an attempt.', () => {
  const { circuit, fail } = setUp();
  const waits = [1, 2, 3, 4, 5, 6, 7].map((attempt) => fail(ann1, { attempt }));
  expect(waits.map(({ retryMs }) => retryMs / second)).toEqual([30, 60, 120, 240, 480, 600, 600]);
  expect(waits.every(({ counts, isGivenUp }) => counts && !isGivenUp)).toBe(true);
  expect(circuit.failing).toBeUndefined();
  expect(circuit.choose([ann1, bob1])).toBe(ann1);
});

test('A wait is never near zero.', () => {
  const circuit = new ProgramCircuit({ retryWaitMs: 30 * second, now: () => 0, random: () => 0 });
  const failure = { message: ann1, attempt: 1, reason: 'x', isUnavailable: false };
  expect(circuit.failed(failure).retryMs).toBe(15 * second);
});

test('After a second message has failed, the program is failing: its further failures are no attempts.', () => {
  const { circuit, clock, fail } = setUp();
  expect(fail(ann1)).toMatchObject({ counts: true });
  expect(fail(bob1)).toEqual({ counts: true, retryMs: 30 * second, isGivenUp: false });
  expect(circuit.failing).toBe('exit code 1');
  expect(circuit.choose([ann1, bob1])).toBeUndefined();
  clock.now += 30 * second;
  expect(circuit.choose([ann1, bob1])).toBe(ann1);
  expect(fail(ann1)).toEqual({ counts: false, retryMs: 60 * second, isGivenUp: false });
});

test('One probe runs at a time, and a message that has not failed is the next.', () => {
  const { circuit, clock, fail } = setUp();
  fail(ann1);
  fail(ann2);
  clock.now += 30 * second;
  expect(circuit.choose([ann1, ann2, ann3])).toBe(ann3);
  const ended = circuit.begin();
  expect(circuit.choose([ann1, bob1])).toBeUndefined();
  ended();
  expect(circuit.choose([ann1, bob1])).toBe(bob1);
});

test('One sender’s poison stops nobody else’s mail: another sender’s message is tried at once, and its success ends the waiting.', () => {
  const { circuit, fail } = setUp();
  fail(ann1);
  fail(ann2);
  expect(circuit.choose([ann3, bob1])).toBe(bob1);
  circuit.succeeded(bob1);
  expect(circuit.failing).toBeUndefined();
  expect(circuit.choose([ann3])).toBe(ann3);
});

test('A program that says that it can’t work is failing at once, and burns no attempt.', () => {
  const { circuit, fail } = setUp();
  expect(fail(ann1, { isUnavailable: true })).toEqual({
    counts: false,
    retryMs: 30 * second,
    isGivenUp: false,
  });
  expect(circuit.choose([ann2])).toBeUndefined();
  expect(circuit.choose([ann2, carl1])).toBe(carl1);
});

test('A message is given up after a day without an attempt of its own, but not while others succeed.', () => {
  const { circuit, clock, fail } = setUp();
  const unavailable = { isUnavailable: true };
  fail(ann1, unavailable);
  clock.now += 23 * hour;
  expect(fail(ann1, unavailable).isGivenUp).toBe(false);
  clock.now += hour;
  expect(fail(ann1, unavailable)).toMatchObject({ isGivenUp: true, counts: false });
  circuit.succeeded(ann1);
  expect(fail(ann1, unavailable).isGivenUp).toBe(false);
});
