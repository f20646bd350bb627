import type { LogLevel } from '@signalbox/daemon';
import { withTexts } from '@signalbox/mcp-host/redaction';
import { visible, visibleLine } from '@signalbox/protocol/internal';
import pino, { type Logger } from 'pino';

const secret = ['authorization', 'Authorization', 'token', 'headers', 'env'];
const redact = { paths: secret.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: '[redacted]' };

/**
 * Opens a logger on standard error: readable on a terminal, JSON lines elsewhere. The level is `SIGNALBOX_LOG`,
 * else `level`. Values under names that hold secrets are never written.
 */
export async function openLog(name: string, level: 'info' | 'warn'): Promise<Logger> {
  const wanted = process.env.SIGNALBOX_LOG ?? '';
  const shown = wanted in pino.levels.values || wanted === 'silent' ? wanted : level;
  const withStack = shown === 'debug' || shown === 'trace';
  const options = {
    name,
    level: shown,
    redact,
    serializers: {
      err: (error: unknown) => (withStack ? pino.stdSerializers.err(error as Error) : loggedError(error)),
    },
  };
  if (!process.stderr.isTTY) return pino(options, pino.destination({ dest: 2, sync: true }));
  const { default: pretty } = await import('pino-pretty');
  return pino(
    {
      ...options,
      formatters: { log: visibleFacts },
      serializers: { err: (error: unknown) => visibleFacts(options.serializers.err(error)) },
    },
    pretty({
      destination: 2,
      sync: true,
      ignore: 'pid,hostname',
      translateTime: 'HH:MM:ss',
      messageFormat: (facts, key) => messageText(String(facts[key] ?? '')),
    }),
  );
}

/** Writes out what nobody sees in the facts of a line. An error stays what it is, for its serializer. */
function visibleFacts(facts: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(facts).map(([name, fact]) => [
      visible(name),
      fact instanceof Error ? fact : withTexts(fact, visible),
    ]),
  );
}

/** Indents further lines of a message, so that none looks like an entry of its own. */
function messageText(message: string): string {
  return message
    .split('\n')
    .map((line) => visibleLine(line))
    .join('\n      ');
}

/** Describes an error with a code in its own words. Any other is a defect of ours, whose stack is needed to find it. */
function loggedError(error: unknown): object {
  if (!(error instanceof Error) || !('code' in error)) return pino.stdSerializers.err(error as Error);
  return { code: error.code, message: error.message };
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
