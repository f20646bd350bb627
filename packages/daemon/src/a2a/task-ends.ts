import type { Message } from '@signalbox/protocol';
import { visibleLine } from '@signalbox/protocol/internal';
import type { OutsideChange } from '@signalbox/store/outside-tasks';

/** The most characters of a dead letter's reason that a caller is told. */
const detailLength = 500;

/** The reason of a task that nobody answered. */
export const unanswered = 'nobody answered before the deadline';

/** The reason of a task whose message one broker may have stored, while another one answers now. */
export const brokerReplaced =
  'the broker was replaced while the message was sent; the agent may have read it';

/**
 * The words in which callers are told why their message is not taken, by the code of the broker. The broker's own words may name other
 * agents.
 */
export const refusedFor: Readonly<Record<string, string>> = {
  forbidden: 'the role of this token may not ask this agent',
  unknown_recipient: 'this agent has never been connected',
  held: 'an operator holds this caller; try again later',
  inbox_full: 'the inbox of this agent is full; try again later',
  quota_exceeded: 'too many messages of this caller, or to this agent, wait for answers; try again later',
  rate_limited: 'too many messages in a short time; try again later',
  storage_full: 'the broker has no room; try again later',
};

/** Returns the reason of a rejected task. */
export function refusedForGood(code: string): string {
  return refusedFor[code] ?? `the broker refused the message: ${code}`;
}

const undeliverable: Readonly<Record<string, string>> = {
  expired: unanswered,
  dead: 'the agent could not answer',
  damaged: 'the message was damaged on the disk',
  dropped: 'the message was taken away before it was answered',
  forbidden: 'the token that the message was sent with is no longer good',
};

/** Returns the end of a task that a message to its caller brings; `undefined` if the message brings none. */
export function endOf({ kind, from, body }: Message): Omit<OutsideChange, 'at'> | undefined {
  if (kind === 'reply') return { state: 'completed', result: body ?? 'null' };
  if (kind !== 'undeliverable' || from.agent !== 'broker') return undefined;
  const { reason = 'unknown', detail } = read(body);
  const why = undeliverable[reason] ?? `the message was not answered: ${reason}`;
  const more = detail === undefined ? '' : `: ${visibleLine(detail.slice(0, detailLength))}`;
  return { state: 'failed', reason: `${why}${more}` };
}

function read(body: string | undefined): { reason?: string; detail?: string } {
  try {
    const { reason, detail } = JSON.parse(body ?? '{}') as { reason?: unknown; detail?: unknown };
    return {
      ...(typeof reason === 'string' && { reason: visibleLine(reason) }),
      ...(typeof detail === 'string' && { detail }),
    };
  } catch {
    return {};
  }
}
