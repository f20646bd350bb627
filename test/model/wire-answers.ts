import { deepStrictEqual } from 'node:assert/strict';
import type { WireClient, WireFrame } from '@signalbox/testing';

/** How a deliver was answered: `delivered`, `duplicate`, or the code of the refusal. */
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

/** Resolves when the broker has handled what this client sent before. */
export async function barrier(client: WireClient, request_id: string): Promise<void> {
  client.send({ type: 'list_connected', request_id, role: 'nobody' });
  await client.next('connected', { request_id });
}
