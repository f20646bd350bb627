import type { ServerReport } from '@signalbox/protocol';

/** The longest part of a server's last line that is shown, in characters. */
const maxLastWords = 200;

/** A line that names an error, as programs of Node and Python and the package managers write it. */
const namesError = /^(npm )?(uncaught )?[\w.]*(error|exception|err!)(?!\w)(?! code )/i;

/**
 * Says why a hosted server fails: its last error, and the line of its standard error that tells most, which only operators are told.
 * `undefined` if it has no error.
 */
export function serverFailure({
  state,
  last_error: error,
  stderr_tail: tail,
}: Pick<ServerReport, 'state' | 'last_error' | 'stderr_tail'>): string | undefined {
  const line = (state === 'backing_off' || state === 'ejected') && tellingLine(tail);
  if (error === undefined || !line || error.includes(line)) return error;
  return `${error}; its last words: ${line.slice(0, maxLastWords)}`;
}

/** Returns the last line that names an error; of npm, which writes advice below it, the first; else the last line. */
function tellingLine(tail: string): string | undefined {
  const lines = tail
    .trim()
    .split(/\r?\n/)
    .map((line) => line.trim());
  const errors = lines.filter((line) => namesError.test(line));
  return (errors[0]?.startsWith('npm ') ? errors[0] : errors.at(-1)) ?? lines.at(-1);
}
