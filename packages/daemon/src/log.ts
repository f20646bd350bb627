/** The importance of a log event. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** An event for a log: a stable name, a sentence for people where the name does not say it, and facts without secrets. */
export interface LogEvent {
  event: string;
  level: LogLevel;
  message?: string;
  [fact: string]: unknown;
}

/** The port through which a daemon reports what happens while it runs. */
export type Log = (event: LogEvent) => void;

/** Gives events without a level the one that a table lists for them, else `info`. */
export function withLevels(
  log: Log,
  levels: Readonly<Record<string, LogLevel>>,
): (event: { event: string; [fact: string]: unknown }) => void {
  return (event) => log({ level: levels[event.event] ?? 'info', ...event });
}
