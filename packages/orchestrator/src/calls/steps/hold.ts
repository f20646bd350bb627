import { handBack } from '@signalbox/client';
import { holdText } from '@signalbox/protocol/internal';
import { type Call, continuesRunning, subjectOf } from '../call.ts';
import type { Attempt, CallDeps, Ended, OnHold, Step } from '../step.ts';
import { admit } from '../tool-refusals.ts';

/**
 * Makes a call wait while a hold is on it. After the release the call is attempted from here on again, also if it has met the hold only when
 * its turn came.
 */
export const hold: Step<Ended, Attempt> = {
  name: 'hold',
  explain({ catalog, role, name, origin }, { holds }) {
    const onEvery = holds.onEvery({ role, tool: name, origin });
    if (!onEvery)
      return { verdict: 'passes', says: 'no hold is on this role or tool, though one may be on an agent' };
    return admit(catalog, role, name).tool
      ? { verdict: 'waits', says: `a call waits for the release: ${holdText(onEvery)}` }
      : { verdict: 'passes', says: `a refused call does not wait for the release: ${holdText(onEvery)}` };
  },
  before(next, deps) {
    const { approvals, holds } = deps;
    return async (call) => {
      for (;;) {
        const asked = call.request.isFirst ? undefined : approvals?.of(call.name);
        call.asked = asked && (await asked);
        const isFree = holds.all.length === 0 || call.asked !== undefined;
        const ended = (isFree ? undefined : await heldAtFirst(deps, call)) ?? (await next(call));
        if (typeof ended === 'symbol' || !('onHold' in ended)) return ended;
        const end = await release(deps, call, ended);
        if (end) return end;
      }
    };
  },
};

/**
 * Tells whether a call has to wait before anything else. A call that is refused does not wait for that. One that waited for a decision goes
 * on: its hold is checked when it starts.
 */
async function heldAtFirst({ host, catalogs, holds }: CallDeps, call: Call): Promise<OnHold | undefined> {
  const { role, tool } = call.name;
  const catalog = catalogs.latest ?? (await catalogs.current());
  const subject = subjectOf(call, catalog);
  if (!holds.on(subject)) return undefined;
  const isAdmitted = call.question || admit(catalog, role, tool, { runs: continuesRunning(host, call) }).tool;
  return isAdmitted ? { onHold: subject } : undefined;
}

/** Waits until no hold is on the call any more. Resolves with the end of the call if it can't be attempted again. */
async function release(
  { holds }: CallDeps,
  { request, slot, tracked }: Call,
  { onHold }: OnHold,
): Promise<Ended | undefined> {
  if (!request.mayWait) return handBack;
  // Limits of their own bound the waiting calls, so they take no room of others.
  slot[Symbol.dispose]();
  const end = await holds.wait({ request, subject: onHold, onHold: (text) => tracked.held(text) });
  tracked.held(undefined);
  if (end.status === 'handed_back') return handBack;
  if (end.status === 'refused') return { error: end.error };
  const full = slot.take(request.message.body ?? '');
  return full && { error: full };
}
