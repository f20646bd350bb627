import type { ServerReport } from '@signalbox/protocol';
import { count } from '../terminal/output.ts';

/** Writes the state of a server on one line. */
export function serverText({ name, state, tool_count, pid, last_error }: ServerReport): string {
  if (state === 'ready')
    return `${name} is ready: ${count(tool_count, 'tool')}${pid === undefined ? '' : `, process ${pid}`}`;
  if (state === 'idle') return `${name} is idle: the first call starts it`;
  return `${name} is ${state}${last_error === undefined ? '' : `: ${last_error}`}`;
}
