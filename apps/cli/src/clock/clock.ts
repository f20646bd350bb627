import { acceptClock as accept, type ClockHold, readClock } from '@signalbox/operator';
import { withSession } from '../connection/client-session.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { formatDuration } from '../terminal/duration.ts';
import { count, printJson, printLines } from '../terminal/output.ts';

/** The options of `signalbox clock show` and `signalbox clock accept`. */
export interface ClockFlags extends ConnectionFlags {
  json?: boolean;
}

/** Shows whether the broker's clock leapt, and what is held back because of that. */
export async function showClock(flags: ClockFlags): Promise<void> {
  const hold = await withSession(flags, ({ client }) => readClock(client));
  if (flags.json) return printJson({ hold: hold ?? null });
  if (!hold) return printLines('the broker believes its clock: messages expire on time');
  printLines(
    `The broker's clock leapt by ${leapOf(hold)}, from ${timeOf(hold.from)} to ${timeOf(hold.to)}.`,
    `Nothing expires because of that for another ${formatDuration(hold.left_ms)}. Then the clock is believed.`,
    `Held back: ${heldBack(hold)}.`,
    '',
    'If the time is right, you can believe it now: signalbox clock accept',
    'If it is wrong, set the clock back. What is held back then goes on.',
  );
}

/** Has the broker believe its clock. */
export async function acceptClock(flags: ClockFlags): Promise<void> {
  const hold = await withSession(flags, ({ client }) => accept(client));
  if (flags.json) return printJson({ accepted: hold ?? null });
  if (!hold) return printLines('the broker believes its clock already; nothing changed');
  printLines(
    `The broker believes its clock, which leapt by ${leapOf(hold)}.`,
    `What was held back expires now: ${heldBack(hold)}.`,
    'Senders of requests are told. Other messages are dead letters; see them with: signalbox dead list',
  );
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
