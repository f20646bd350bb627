import type { LogLevel } from '@signalbox/daemon';
import { visible } from '@signalbox/protocol';
import pino, { type Logger } from 'pino';

const secret = ['authorization', 'Authorization', 'token', 'headers', 'env'];
const redact = { paths: secret.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: '[redacted]' };

/**
 * Opens a logger on standard error: readable on a terminal, JSON lines elsewhere. The level is `SIGNALBOX_LOG`,
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

/** An event that a package hands to a log. Some packages say how much it matters, others leave that to `otherwise`. */
interface LoggedEvent {
  event: string;
  level?: LogLevel;
  message?: string;
  error?: unknown;
  [fact: string]: unknown;
}

/** Returns a port that writes events into a logger: at their own level, else at the one listed for them, else `otherwise`. */
export function logInto(
  log: Logger,
  otherwise: LogLevel = 'info',
  levels: Readonly<Record<string, LogLevel>> = {},
): (event: LoggedEvent) => void {
  return ({ event, level, message, error, ...facts }) => {
    const at = level ?? levels[event] ?? otherwise;
    log[at](
      { event, ...facts, ...(error !== undefined && { err: error }) },
      message ?? event.replaceAll('_', ' '),
    );
  };
}
