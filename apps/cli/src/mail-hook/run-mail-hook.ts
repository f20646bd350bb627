import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { parseTokenFile } from '@signalbox/protocol/names';
import { trustedFace } from '@signalbox/worker/trusted-face';
import { hookEventOf } from './hook-answer.ts';

// This module and all that it loads stay small: an agent waits for it at both ends of each of its turns.

/** The agent's CLI waits for its hook, so a hook that would take longer tells nothing. */
const longestMs = 1_500;

/**
 * Runs as a hook of an agent CLI: reads the event from standard input, asks the shared face for new mail, and writes an answer for the
 * CLI if there is some. It never fails and never takes long: if the face does not answer in time, it tells nothing.
 */
export async function runMailHook([path = '', agent = '', tokenFile = '']: readonly string[]): Promise<void> {
  setTimeout(() => process.exit(0), longestMs).unref();
  try {
    const event = hookEventOf(await text(process.stdin));
    if (!event) return;
    const hint = await askFace(path, agent, tokenFile);
    if (hint !== undefined) process.stdout.write(`${JSON.stringify(event.answer(hint))}\n`);
  } catch {
    // The agent must not notice that the face is away, or that this hook cannot be read.
  }
}

/** Returns the face's hint at new mail. The face tells each message once, so an answer that nobody reads is lost. */
async function askFace(path: string, agent: string, tokenFile: string): Promise<string | undefined> {
  const { token } = parseTokenFile(readFileSync(tokenFile, 'utf8')) ?? {};
  const place = trustedFace(path);
  if (token === undefined || 'untrusted' in place) return undefined;
  const socket = connect(place);
  socket.write(`${JSON.stringify({ signalbox_hint: 1, agent, token })}\n`);
  const { hint } = JSON.parse(await text(socket)) as { hint?: unknown };
  return typeof hint === 'string' ? hint : undefined;
}
