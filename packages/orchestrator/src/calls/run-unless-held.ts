import { handBack } from '@signalbox/client';
import type { ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import type { CallSubject, HeldCalls } from '../holds/held-calls.ts';
import type { IncomingCall } from './incoming-call.ts';

/** A call that may not start now because a hold is on it. */
export interface OnHold {
  onHold: CallSubject;
}

/** Attempts a call. If an attempt meets a hold, the call waits for the release, and is attempted again. */
export async function runUnlessHeld(
  holds: HeldCalls,
  { request, place, tracked }: Pick<IncomingCall, 'request' | 'place' | 'tracked'>,
  attempt: () => Promise<ToolCallResult | typeof handBack | OnHold>,
): Promise<ToolCallResult | typeof handBack> {
  for (;;) {
    const result = await attempt();
    if (typeof result === 'symbol' || !('onHold' in result)) return result;
    // Limits of their own bound the waiting calls, so they take no room of others.
    place[Symbol.dispose]();
    const onHold = (hold: string): void => tracked.held(hold);
    const end = await holds.wait({ request, subject: result.onHold, onHold });
    tracked.held(undefined);
    if (end.status === 'handed_back') return handBack;
    if (end.status === 'refused') return { error: end.error };
    const full = place.take(request.message.body ?? '');
    if (full) return { error: full };
  }
}
