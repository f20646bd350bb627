import { setTimeout as delay } from 'node:timers/promises';
import type { BrokerClient } from '@signalbox/client';
import { agentOf, messageOf, SignalboxError } from '@signalbox/protocol';
import { untilText } from '@signalbox/protocol/duration';
import { longestTimerMs } from '@signalbox/serving';
import { newMailOf, newMailText } from '@signalbox/worker/mail-hint';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { type ExitCode, exitCodes } from '../terminal/exit-codes.ts';
import { printJson, printLines, printNotes } from '../terminal/output.ts';
import { type FoundMail, findMail, type Mark, readMark, writeMark } from './new-mail.ts';
import { countHeldBack, heldBackText } from './waiting-messages.ts';

/** The options of `signalbox inbox --wait`. `timeout` in milliseconds; without it the wait has no end. */
export interface WaitFlags extends ConnectionFlags {
  timeout?: number;
  /** The file that remembers which mail was told. */
  mark?: string;
  json?: boolean;
}

const shortestPauseMs = 1_000;

/**
 * Waits until mail comes that was neither read nor told before, and takes none. Returns the exit code: `newMail`, or `ok` at the timeout.
 */
export async function waitForMail(flags: WaitFlags): Promise<ExitCode> {
  const { timeout = Number.POSITIVE_INFINITY, mark, json } = flags;
  const after = mark === undefined ? undefined : await readMark(mark);
  const { found, heldBack, agent } = await withClient(flags, async ({ client, connection, waits }) => {
    const end = timeout === Number.POSITIVE_INFINITY ? 'Ctrl-C ends it' : untilText(timeout, Date.now());
    waits.for(async () => {
      if (client.state.name !== 'ready')
        return `the broker at ${client.url}, to which the connection is lost`;
      const heldBack = await countHeldBack(client, connection.agent);
      const held = heldBack > 0 ? `; ${heldBackText(connection.agent, heldBack)}` : '';
      return `mail for ${connection.agent}, ${end}${held}`;
    });
    const found = await firstMail(client, connection.agent, { after, timeoutMs: timeout });
    return {
      found,
      heldBack: found === undefined ? await countHeldBack(client, connection.agent).catch(() => 0) : 0,
      agent: agentOf(connection.agent),
    };
  });
  if (found === undefined) {
    if (json) printJson({ messages: 0, from: [], ...(heldBack > 0 && { held_back: heldBack }) });
    else if (heldBack > 0) printNotes(heldBackText(agent, heldBack));
    return exitCodes.ok;
  }
  if (mark !== undefined) await remember(mark, found.upTo);
  const mail = newMailOf(found.messages);
  if (json) printJson(mail);
  else printLines(newMailText(mail, `for ${agent}`));
  return exitCodes.newMail;
}

/** Resolves with the first mail after a mark, or `undefined` at the timeout. It looks at once, and then every 1 to 2 s. */
async function firstMail(
  client: BrokerClient,
  address: string,
  { after, timeoutMs }: { after: Mark | undefined; timeoutMs: number },
): Promise<FoundMail | undefined> {
  const deadline = performance.now() + timeoutMs;
  const over = new AbortController();
  const timeUp = pause(Math.min(timeoutMs, longestTimerMs), over.signal);
  try {
    for (;;) {
      // Without a broker the look waits for the next connection.
      const found = await Promise.race([findMail(client, address, after), timeUp]);
      if (found === undefined || found.messages.length > 0) return found;
      const left = deadline - performance.now();
      await pause(Math.min(left, shortestPauseMs * (1 + Math.random())), over.signal);
    }
  } finally {
    over.abort();
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<undefined> {
  await delay(Math.max(0, ms), undefined, { signal }).catch(() => {});
}

async function remember(file: string, upTo: Mark): Promise<void> {
  try {
    await writeMark(file, upTo);
  } catch (cause) {
    throw new SignalboxError('usage', `--mark: ${file} cannot be written: ${messageOf(cause)}`, {
      cause,
      details: {
        hint: 'name a file in a directory that you may write to; the mail would be told again without it',
      },
    });
  }
}
