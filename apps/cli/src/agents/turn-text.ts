import type { KeptProcess, ServedTurn } from '@signalbox/client/operator';
import { formatDuration } from '@signalbox/protocol/duration';
import { oneLine } from '../terminal/output.ts';

/** The longest description of a use of a tool. */
const callLength = 60;

/** Describes a turn of a served agent by its message, its thread, its age and the uses of tools that have not ended. `now` in epoch milliseconds. */
export function turnText(turn: ServedTurn, now: number): string {
  const { id, from, kind, messages, thread, since, calls = [] } = turn;
  const others = messages === undefined ? '' : ` and ${messages - 1} more`;
  const where = thread === undefined || thread === id ? '' : `, thread ${thread}`;
  const told = calls.map(({ title, status }) => oneLine(`[${status}] ${title}`, callLength));
  const text = `${kind} ${id} of ${from}${others}${where}, for ${formatDuration(Math.max(0, now - since))}`;
  return told.length === 0 ? text : `${text}: ${told.join(', ')}`;
}

/** Describes a process that is kept for a thread. `now` in epoch milliseconds. */
export function keptText({ pid, thread, since }: KeptProcess, now: number): string {
  return `process ${pid ?? '?'} for thread ${thread}, for ${formatDuration(Math.max(0, now - since))}`;
}
