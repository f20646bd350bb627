import type { Amount } from './caps.ts';
import { ageOf, type ExpiryTime } from './expiry-time.ts';

/** The number of dead letters and bytes of bodies that are kept: of all, and of each sender and each recipient agent. */
export interface DeadLetterBounds {
  maxCount: number;
  maxBytes: number;
  maxCountPerAgent: number;
  maxBytesPerAgent: number;
}

/** The same bounds, and the age at which a dead letter is dropped. */
export interface DeadLetterLimits extends DeadLetterBounds {
  maxAgeMs: number;
}

const MiB = 1024 * 1024;

export const defaultDeadLetterLimits: DeadLetterLimits = {
  maxAgeMs: 30 * 24 * 60 * 60 * 1000,
  maxCount: 10_000,
  maxBytes: 256 * MiB,
  maxCountPerAgent: 2000,
  maxBytesPerAgent: 64 * MiB,
};

/** The most dead letters that one step drops. */
export const dropsPerStep = 500;
/** The time between two checks while no dead letter is new, in milliseconds. Then only the age of a letter can pass a bound. */
export const quietTrimMs = 60_000;

/** The facts of a dead letter that the bounds depend on. */
export interface CountedLetter {
  readonly seq: number;
  readonly size: number;
  readonly sender: string;
  /** The agent that had it in its inbox. */
  readonly recipient: string;
}

/** Returns the dead letters that are too old or beyond the bounds. `letters` must be in order, the oldest first. */
export function droppedOf<T extends CountedLetter & { readonly deadAt: number }>(
  letters: readonly T[],
  limits: DeadLetterLimits,
  time: ExpiryTime,
): T[] {
  const isOld = ({ deadAt }: T): boolean => ageOf(deadAt, time) > limits.maxAgeMs;
  const surplus = surplusOf(
    letters.filter((letter) => !isOld(letter)),
    limits,
  );
  return letters.filter((letter) => isOld(letter) || surplus.has(letter));
}

/**
 * Returns the dead letters that are beyond the bounds. `letters` must be in order, the oldest first. Each sender keeps its newest letters
 * within the bounds per agent. If the letters of several senders are too many, for one recipient or in total, the sender with the most
 * loses its oldest letter, again and again. So no sender can push out the letters of others.
 */
export function surplusOf<T extends CountedLetter>(letters: readonly T[], bounds: DeadLetterBounds): Set<T> {
  const surplus = new Set<T>();
  const perAgent = { messages: bounds.maxCountPerAgent, bytes: bounds.maxBytesPerAgent };
  for (const key of ['sender', 'recipient'] as const) {
    for (const group of Map.groupBy(letters, (letter) => letter[key]).values())
      trim(group, perAgent, surplus);
  }
  trim(letters, { messages: bounds.maxCount, bytes: bounds.maxBytes }, surplus);
  return surplus;
}

/** Adds letters to `surplus` until the others are within a bound. */
function trim<T extends CountedLetter>(letters: readonly T[], bound: Amount, surplus: Set<T>): void {
  const left = letters.filter((letter) => !surplus.has(letter));
  const all = amountOf(left);
  if (isWithin(all, bound)) return;
  const senders = [...Map.groupBy(left, ({ sender }) => sender).values()].map((own) => ({
    own,
    next: 0,
    ...amountOf(own),
  }));
  while (!isWithin(all, bound)) {
    const most = senders.reduce((a, b) => (shareOf(b, bound) > shareOf(a, bound) ? b : a));
    const oldest = most.own[most.next++];
    if (!oldest) return;
    surplus.add(oldest);
    for (const amount of [most, all]) {
      amount.messages--;
      amount.bytes -= oldest.size;
    }
  }
}

function amountOf(letters: readonly CountedLetter[]): Amount {
  return { messages: letters.length, bytes: letters.reduce((sum, { size }) => sum + size, 0) };
}

function isWithin({ messages, bytes }: Amount, bound: Amount): boolean {
  return messages <= bound.messages && bytes <= bound.bytes;
}

/** Returns the part of a bound that an amount takes: the larger one of the parts that its messages and its bytes take. */
function shareOf({ messages, bytes }: Amount, bound: Amount): number {
  return Math.max(messages / bound.messages, bytes / bound.bytes);
}
