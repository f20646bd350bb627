import type { Failure } from '@signalbox/daemon/supervisor';
import { quotedLines, visibleLine } from '@signalbox/protocol/internal';

/** Writes a failure for people: what happened, and what to do about it. */
export function failureText({ code, message, hint, request_id, ask_again, also }: Failure): string {
  const lines = code === 'bad_config' ? message.split('\n') : messageLines(message);
  if (typeof hint === 'string') lines.push(`  ${hint}`);
  if (typeof request_id === 'string') lines.push(`  request id: ${request_id}`);
  if (typeof ask_again === 'string') lines.push(`  what became of it: ${ask_again}`);
  if (Array.isArray(also)) lines.push(...also.map((text) => `  and then: ${text}`));
  return `${lines.map(visibleLine).join('\n')}\n`;
}

/** A message may hold the words of a server or an agent, whose further lines are quoted. */
function messageLines(message: string): string[] {
  const [first = '', ...rest] = message.split('\n');
  return [
    `signalbox: ${first}`,
    ...(rest.length > 0 ? quotedLines(rest.join('\n')) : []).map((line) => `  ${line}`),
  ];
}
