import { expect, test } from 'vitest';
import { abortSignalOf, Cancellation } from './cancellation.ts';

test('a cancellation tells each listener once, except those that were removed or come later', () => {
  const cancellation = new Cancellation();
  const told: string[] = [];
  const removed = () => told.push('removed');
  cancellation.addEventListener('abort', () => {
    told.push('first');
    cancellation.removeEventListener('abort', removed);
  });
  cancellation.addEventListener('abort', removed);
  cancellation.addEventListener('abort', () => told.push('last'));
  cancellation.abort('enough');
  cancellation.abort('again');
  cancellation.addEventListener('abort', () => told.push('late'));
  expect(told).toEqual(['first', 'last']);
  expect(cancellation).toMatchObject({ aborted: true, reason: 'enough' });
});

test('the AbortSignal of a cancellation aborts with it, with its reason, also if it was made later', () => {
  const cancellation = new Cancellation();
  const signal = abortSignalOf(cancellation);
  expect(signal.aborted).toBe(false);
  cancellation.abort('enough');
  for (const made of [signal, abortSignalOf(cancellation)]) {
    expect(made.aborted).toBe(true);
    expect(made.reason).toBe('enough');
  }
  expect(abortSignalOf(signal)).toBe(signal);
});
