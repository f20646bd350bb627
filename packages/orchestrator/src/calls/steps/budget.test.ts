import { handBack, type ServedRequest } from '@signalbox/client';
import { toolCallError } from '@signalbox/protocol';
import { Cancellation } from '@signalbox/protocol/internal';
import { defaultCallSizeLimits } from '@signalbox/serving';
import { expect, test } from 'vitest';
import { BudgetLedger } from '../../budgets/budget-ledger.ts';
import { defaultCallLimits } from '../../scheduling/call-limits.ts';
import { createCallScheduler } from '../../scheduling/call-scheduler.ts';
import { Call } from '../call.ts';
import { CallRegistry } from '../call-registry.ts';
import { CallRoom } from '../call-room.ts';
import type { Attempt } from '../step.ts';
import { budget } from './budget.ts';
import { queue } from './queue.ts';

const onHold = { agent: 'rosa', role: 'worker', tool: 't', origin: undefined };
const cancelled = { error: toolCallError('cancelled', 'stopped', { mayHaveRun: false }) };
const done = { result: {} };

function callOf(requestId: string, cancellation = new Cancellation()): Call {
  const from = { agent: 'rosa', role: 'worker', address: 'rosa' };
  const request = { message: { id: requestId, from, seq: 1 }, cancellation, remainingMs: () => undefined };
  const slot = new CallRoom(defaultCallSizeLimits).slot('rosa');
  const served = request as unknown as ServedRequest;
  const call = new Call({ request: served, body: { op: 'call', tool: 't' }, slot });
  call.tracked = new CallRegistry(() => 0).add(call.name);
  return call;
}

test('A call counts against its budget when its turn comes and no hold is on it, however it ends then, and once.', async () => {
  const budgets = new BudgetLedger({ perWorker: { calls: 2, windowMs: 1_000 } }, () => 0);
  const scheduler = createCallScheduler(defaultCallLimits, () => 0);
  let end: Attempt = { onHold };
  const last = queue.before(async () => end, { scheduler });
  const pass = budget.before(last, { budgets });
  const gone = new Cancellation();
  gone.abort(new Error('gone'));
  expect(await pass(callOf('held'))).toEqual({ onHold });
  expect(await pass(callOf('gone', gone))).toMatchObject({ error: { code: 'cancelled' } });
  end = done;
  expect(await pass(callOf('held'))).toEqual(done);
  end = cancelled;
  expect(await pass(callOf('stopped'))).toEqual(cancelled);
  // The same requests are delivered again.
  expect(await pass(callOf('held'))).toEqual(cancelled);
  expect(await pass(callOf('further'))).toMatchObject({ error: { code: 'quota_exceeded' } });
  scheduler.close();
  expect(await pass(callOf('stopped'))).toBe(handBack);
});
