import { outcomeError } from '@signalbox/client/operator/internal';
import { isJsonObject, SignalboxError } from '@signalbox/protocol';
import { untilText } from '@signalbox/protocol/duration';
import { requireLifetime, withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { linesOf, oneLine, printJson, printLines, printNotes } from '../terminal/output.ts';
import { bodyText } from './message-text.ts';
import { textArgument } from './text-argument.ts';
import {
  busyLines,
  recipientText,
  type WhyWaiting,
  whyWaiting,
  whyWaitingLines,
  withoutOwn,
  withRecipientHint,
} from './why-waiting.ts';

/** The longest progress that is shown, in characters. */
const progressLength = 300;

/** The options of `signalbox ask`. `timeout` in milliseconds. */
export interface AskFlags extends ConnectionFlags {
  timeout: number;
  thread?: string;
  json?: boolean;
}

/** Asks an agent and prints what it answers. Says at once, and again if no answer comes, why it may take long. */
export async function ask(to: string, argument: string, flags: AskFlags): Promise<void> {
  const question = await textArgument(argument);
  const { outcome, waiting, progress } = await withClient(flags, async (connected) => {
    const { client, waits } = connected;
    requireLifetime(client, '--timeout', flags.timeout);
    using withdrawal = withdrawOnSignal();
    const before = await whyWaiting(client, to);
    if (!flags.json) tell(whyWaitingLines(to, before, Date.now()));
    const todo = `to answer, ${untilText(flags.timeout, Date.now())} at the latest`;
    let progress: string | undefined;
    waits.for(async () => {
      // News of the question itself goes before news of the agent.
      if (progress !== undefined) return `${to} ${todo}; ${progress}`;
      return await recipientText(connected, to, todo, before);
    });
    const outcome = await client.request(to, 'ask', question, {
      timeoutMs: flags.timeout,
      signal: withdrawal.signal,
      onProgress: (body) => {
        progress = progressText(body);
      },
      ...(flags.thread !== undefined && { thread: flags.thread }),
    });
    const isLate = outcome.status === 'timed_out' || outcome.status === 'undeliverable';
    return {
      outcome,
      ...(outcome.status === 'timed_out' && progress !== undefined && { progress }),
      waiting:
        outcome.status === 'completed'
          ? before
          : isLate
            ? withoutOwn(await whyWaiting(client, to), before)
            : undefined,
    };
  });
  if (outcome.status !== 'completed')
    throw withRecipientHint(withReasons(outcomeError(outcome, to), to, waiting, progress), to);
  if (flags.json) printJson({ reply: outcome.reply.json ?? null, ...(waiting && { waiting }) });
  else printLines(linesOf(bodyText(outcome.reply.json, { indent: 2 })));
}

/** Returns what the recipient says of its work. */
function progressText(body: unknown): string | undefined {
  const message = isJsonObject(body) ? body.message : undefined;
  return typeof message === 'string' && message !== '' ? oneLine(message, progressLength) : undefined;
}

function tell(lines: readonly string[]): void {
  if (lines.length > 0) printNotes(...lines);
}

/** Adds to an error why no answer may have come, and what the recipient said last. */
function withReasons(
  error: SignalboxError,
  to: string,
  waiting: WhyWaiting | undefined,
  progress: string | undefined,
): SignalboxError {
  const reasons = [
    ...(progress === undefined ? busyLines(to, waiting) : [progress]),
    ...whyWaitingLines(to, waiting, Date.now()),
  ];
  if (reasons.length === 0) return error;
  const { code, message, retryable, details } = error;
  return new SignalboxError(code, [message, ...reasons].join('; '), {
    retryable,
    cause: error,
    details: { ...details, ...(waiting && { waiting }), ...(progress !== undefined && { progress }) },
  });
}
