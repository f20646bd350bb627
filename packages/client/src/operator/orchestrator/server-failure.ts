import type { ServerReport } from '@signalbox/protocol';

/** The longest part of a server's last line that is shown, in characters. */
const maxLastWords = 200;

/**
 * Says why a hosted server fails: its last error, and the last line that it wrote to its standard error, which only operators are told.
 * `undefined` if it has no error.
 */
export function serverFailure({
  state,
  last_error: error,
  stderr_tail: tail,
}: Pick<ServerReport, 'state' | 'last_error' | 'stderr_tail'>): string | undefined {
  const line = (state === 'backing_off' || state === 'ejected') && tail.trim().split(/\r?\n/).at(-1)?.trim();
  if (error === undefined || !line || error.includes(line)) return error;
  return `${error}; its last words: ${line.slice(0, maxLastWords)}`;
}
