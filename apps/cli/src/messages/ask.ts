import { outcomeError } from '@signalbox/client/operator/internal';
import { withSession } from '../connection/client-session.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { linesOf, printJson, printLines } from '../terminal/output.ts';
import { bodyText } from './message-text.ts';
import { textArgument } from './text-argument.ts';

/** The options of `signalbox ask`. `timeout` in milliseconds. */
export interface AskFlags extends ConnectionFlags {
  timeout: number;
  thread?: string;
  json?: boolean;
}

/** Asks an agent and prints what it answers. */
export async function ask(to: string, argument: string, flags: AskFlags): Promise<void> {
  const question = await textArgument(argument);
  const outcome = await withSession(flags, async ({ client }) => {
    using withdrawal = withdrawOnSignal();
    return await client.request(to, 'ask', question, {
      timeoutMs: flags.timeout,
      signal: withdrawal.signal,
      ...(flags.thread !== undefined && { thread: flags.thread }),
    });
  });
  if (outcome.status !== 'completed') throw outcomeError(outcome, to);
  if (flags.json) printJson({ reply: outcome.reply.json ?? null });
  else printLines(linesOf(bodyText(outcome.reply.json, { indent: 2 })));
}
