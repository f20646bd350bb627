import type { Approval, DecideReply } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { duration } from '../../parts/numbers.ts';

/** Returns the result of a decision in words: its effect, or who was first. */
export function decisionText({ decided, approval, standing }: DecideReply): {
  tone: 'good' | 'bad';
  text: string;
} {
  if (!decided) return { tone: 'bad', text: `Nothing was changed: ${endText(approval)}` };
  const call = `${toolLabel(approval)} of ${approval.agent}`;
  if (approval.state === 'denied') return { tone: 'good', text: `Denied: ${call} is not called` };
  if (approval.kept_until !== undefined)
    return { tone: 'good', text: `Approved: ${call} runs once, when its caller calls again within the hour` };
  const further = standing
    ? `, and needs no decision for ${duration(standing.until - standing.created_at)}`
    : '';
  return { tone: 'good', text: `Approved: ${call} is called${further}` };
}

/** Returns how an approval ended, and why, in words. */
export function endText({ state, by, reason }: Approval): string {
  const why = reason === undefined ? '' : `: ${reason}`;
  switch (state) {
    case 'pending':
      return 'the call still waits';
    case 'approved':
    case 'denied':
      return `${by?.agent ?? 'somebody'} has ${state} this call${by?.standing === undefined ? '' : ' by a standing approval'}${why}`;
    case 'expired':
      return 'nobody decided in time, and its agent was told';
    case 'superseded':
      return `the call is not what was asked for any more${why}`;
    case 'cancelled':
      return `the call was cancelled${why}`;
  }
}
