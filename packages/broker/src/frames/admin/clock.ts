import type { AdminParams, AdminResult } from '@signalbox/protocol';
import { steadyTime } from '@signalbox/store';
import { isRequest } from '../../core/message-header.ts';
import { auditCaller, type Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationOutcome } from './operation.ts';

type Deps = Pick<FrameDeps, 'time' | 'store'>;

/** Runs `clock`: reports whether the clock is ahead of the time that the broker trusts, and what is held back because of that. */
export async function showClock(_params: AdminParams<'clock'>, deps: Deps): OperationOutcome<'clock'> {
  return { result: await holdOf(deps) };
}

/** Runs `clock_accept`: trusts the clock. Messages that are held back expire within about a second. */
export async function acceptClock(
  _params: AdminParams<'clock_accept'>,
  deps: Deps & Pick<FrameDeps, 'audit' | 'now'>,
  caller: Caller,
): OperationOutcome<'clock_accept'> {
  const held = await holdOf(deps);
  const hold = deps.time.accept();
  if (!hold) return { result: {} };
  auditCaller(caller, 'clock_accepted', { detail: `a leap of ${hold.to - hold.from} ms` }, deps);
  return { result: held };
}

async function holdOf({ time, store }: Deps): Promise<AdminResult<'clock'>> {
  const { hold, holdLeftMs } = time.look();
  if (!hold) return {};
  const kinds = Object.entries(await store.countExpired(steadyTime(time.now())));
  const countOf = (matches: (kind: string) => boolean): number =>
    kinds.reduce((sum, [kind, count]) => (matches(kind) ? sum + count : sum), 0);
  return {
    hold: {
      from: hold.from,
      to: hold.to,
      at_start: hold.atStart,
      left_ms: Math.ceil(holdLeftMs),
      requests: countOf(isRequest),
      messages: countOf((kind) => !isRequest(kind) && kind !== 'undeliverable'),
    },
  };
}
