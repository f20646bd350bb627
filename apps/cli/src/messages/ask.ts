import { outcomeError } from '@signalbox/client/operator/internal';
import { SignalboxError } from '@signalbox/protocol';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { untilText } from '../terminal/duration.ts';
import { linesOf, printJson, printLines, printNotes } from '../terminal/output.ts';
import { bodyText } from './message-text.ts';
import { textArgument } from './text-argument.ts';
import {
  recipientText,
  type WhyWaiting,
  whyWaiting,
  whyWaitingLines,
  withRecipientHint,
} from './why-waiting.ts';

/** The options of `signalbox ask`. `timeout` in milliseconds. */
export interface AskFlags extends ConnectionFlags {
  timeout: number;
  thread?: string;
  json?: boolean;
}

/** Asks an agent and prints what it answers. Says at once, and again if no answer comes, why it may take long. */
export async function ask(to: string, argument: string, flags: AskFlags): Promise<void> {
  const question = await textArgument(argument);
  const { outcome, waiting } = await withClient(flags, async (connected) => {
    const { client, waits } = connected;
    using withdrawal = withdrawOnSignal();
    const before = await whyWaiting(client, to);
    if (!flags.json) tell(whyWaitingLines(to, before, Date.now()));
    const todo = `to answer, ${untilText(flags.timeout, Date.now())} at the latest`;
    waits.for(() => recipientText(connected, to, todo));
    const outcome = await client.request(to, 'ask', question, {
      timeoutMs: flags.timeout,
      signal: withdrawal.signal,
      ...(flags.thread !== undefined && { thread: flags.thread }),
    });
    const isLate = outcome.status === 'timed_out' || outcome.status === 'undeliverable';
    return {
      outcome,
      waiting:
        outcome.status === 'completed'
          ? before
          : isLate
            ? withoutOwn(await whyWaiting(client, to), before)
            : undefined,
    };
  });
  if (outcome.status !== 'completed')
    throw withRecipientHint(withReasons(outcomeError(outcome, to), to, waiting), to);
  if (flags.json) printJson({ reply: outcome.reply.json ?? null, ...(waiting && { waiting }) });
  else printLines(linesOf(bodyText(outcome.reply.json, { indent: 2 })));
}

/** Counts of the mail that waits only what was there before our question: the broker may still count that one. */
function withoutOwn(now: WhyWaiting | undefined, before: WhyWaiting | undefined): WhyWaiting | undefined {
  if (now?.unread === undefined) return now;
  return { ...now, unread: Math.min(now.unread, before?.unread ?? 0) };
}

function tell(lines: readonly string[]): void {
  if (lines.length > 0) printNotes(...lines);
}

/** Adds to an error why no answer may have come. */
function withReasons(error: SignalboxError, to: string, waiting: WhyWaiting | undefined): SignalboxError {
  const reasons = whyWaitingLines(to, waiting, Date.now());
  if (reasons.length === 0) return error;
  const { code, message, retryable, details } = error;
  return new SignalboxError(code, [message, ...reasons].join('; '), {
    retryable,
    cause: error,
    details: { ...details, waiting },
  });
}
