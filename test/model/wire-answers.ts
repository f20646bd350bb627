import { deepStrictEqual } from 'node:assert/strict';
import type { WireFrame } from '@signalbox/testing';

/** The answer to a deliver: `delivered`, `duplicate`, or the code of the refusal. */
export function answerOf(frame: WireFrame): string {
  if (frame.type === 'error') return frame.code as string;
  return frame.duplicate === true ? 'duplicate' : 'delivered';
}

/** Throws unless an ack or nack of this number counted, or did not, as it should. */
export function expectCounted(frame: WireFrame, seq: number, counts: boolean): void {
  const { accepted, rejected } = frame;
  deepStrictEqual(
    { accepted, rejected },
    counts ? { accepted: [seq], rejected: [] } : { accepted: [], rejected: [seq] },
  );
}
