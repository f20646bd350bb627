import { acceptClock as accept, type ClockHold, readClock } from '@signalbox/client/operator';
import { formatDuration } from '@signalbox/protocol/duration';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { count, printJson, printLines } from '../terminal/output.ts';

/** The options of `signalbox clock show` and `signalbox clock accept`. */
export interface ClockFlags extends ConnectionFlags {
  json?: boolean;
}

/** Shows whether the broker's clock is ahead of the time that it trusts, why that may be, and what is held back because of that. */
export async function showClock(flags: ClockFlags): Promise<void> {
  const hold = await withClient(flags, ({ client }) => readClock(client));
  if (flags.json) return printJson({ hold: hold ?? null });
  if (!hold) return printLines('the broker trusts its clock: messages expire on time');
  printLines(
    ...whatHappened(hold),
    `Nothing expires because of that for another ${formatDuration(hold.left_ms)}. Then the broker trusts its clock.`,
    `Held back: ${heldBack(hold)}.`,
    '',
    'If the time is right, make the broker trust it now: signalbox clock accept',
    'If it is wrong, set the clock right. Then the messages that are held back are delivered as usual.',
  );
}

/** Makes the broker trust its clock. */
export async function acceptClock(flags: ClockFlags): Promise<void> {
  const hold = await withClient(flags, ({ client }) => accept(client), { changes: !flags.json });
  if (flags.json) return printJson({ accepted: hold ?? null });
  if (!hold) return printLines('the broker already trusts its clock; nothing changed');
  printLines(
    `The broker trusts its clock: it is ${timeOf(hold.to)}, ${leapOf(hold)} later than ${timeOf(hold.from)}.`,
    `These messages expire now: ${heldBack(hold)}.`,
    'Senders of requests are told. Other messages are dead letters; see them with: signalbox dead list',
  );
}

/** Says what the broker saw. At its start it can't tell a leap of the clock from a time in which no broker ran. */
function whatHappened(hold: ClockHold): string[] {
  const { from, to, at_start } = hold;
  if (!at_start)
    return [`The broker's clock leapt by ${leapOf(hold)}, from ${timeOf(from)} to ${timeOf(to)}.`];
  return [
    `The broker found its clock ${leapOf(hold)} ahead when it started: ${timeOf(to)}, after ${timeOf(from)}.`,
    'Either no broker ran in that time, or the clock leapt. The broker cannot tell which.',
  ];
}

function leapOf({ from, to }: ClockHold): string {
  return formatDuration(to - from);
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}

function heldBack({ requests, messages }: ClockHold): string {
  return `${count(requests, 'request')}, ${count(messages, 'other message')}`;
}
