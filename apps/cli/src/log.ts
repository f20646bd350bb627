import pino, { type Logger } from 'pino';
import { visible } from './output.ts';

const secret = ['authorization', 'Authorization', 'token', 'headers', 'env'];
const redact = { paths: secret.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: '[redacted]' };

/**
 * A logger on standard error: readable on a terminal, JSON lines elsewhere. The level is `SIGNALBOX_LOG`,
 * else `level`. Values under names that hold secrets are never written.
 */
export async function openLog(name: string, level: 'info' | 'warn'): Promise<Logger> {
  const wanted = process.env.SIGNALBOX_LOG ?? '';
  const options = {
    name,
    level: wanted in pino.levels.values || wanted === 'silent' ? wanted : level,
    redact,
  };
  if (!process.stderr.isTTY) return pino(options, pino.destination({ dest: 2, sync: true }));
  const { default: pretty } = await import('pino-pretty');
  return pino(
    options,
    pretty({
      destination: 2,
      sync: true,
      ignore: 'pid,hostname',
      translateTime: 'HH:MM:ss',
      messageFormat: (facts, key) => visible(String(facts[key] ?? '')),
    }),
  );
}

type Level = 'debug' | 'info' | 'warn' | 'error';

/** What the packages hand to a log: a stable event name, facts, and sometimes how much it matters. */
interface LogEvent {
  event: string;
  level?: Level;
  [fact: string]: unknown;
}

/** Lets a package write into a logger, each event at its own level, else at the one listed for it, else at `level`. */
export function logInto(
  log: Logger,
  level: Level,
  levels: Readonly<Record<string, Level>> = {},
): (event: LogEvent) => void {
  return ({ event, level: own, error, ...facts }) => {
    const at = own ?? levels[event] ?? level;
    log[at]({ event, ...facts, ...(error !== undefined && { err: error }) }, event.replaceAll('_', ' '));
  };
}
