import { messageOf, SignalboxError } from '@signalbox/protocol';
import { visible } from './output.ts';

/** A failure as `--json` prints it under `error`. */
export interface Failure {
  code: string;
  message: string;
  retryable: boolean;
  [fact: string]: unknown;
}

/** Any thrown thing as a failure: by its own code where it has one of our form, else `internal`. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof SignalboxError) {
    return { ...thrown.details, code: thrown.code, message: thrown.message, retryable: thrown.retryable };
  }
  const own = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  return {
    code: /^[a-z][a-z_]+$/.test(own) ? own : 'internal',
    message: messageOf(thrown),
    retryable: false,
  };
}

/** The error that a failure was made of, for a process that got it from another one. */
export function errorOf({ code, message, retryable, ...details }: Failure): SignalboxError {
  return new SignalboxError(code, message, { retryable, details });
}

/** A failure for people: what happened, and what to do about it. */
export function failureText({ code, message, hint, request_id, ask_again }: Failure): string {
  const lines = code === 'bad_config' ? [message] : [`signalbox: ${message}`];
  if (typeof hint === 'string') lines.push(`  ${hint}`);
  if (typeof request_id === 'string') lines.push(`  request id: ${request_id}`);
  if (typeof ask_again === 'string') lines.push(`  what became of it: ${ask_again}`);
  return `${visible(lines.join('\n'))}\n`;
}
