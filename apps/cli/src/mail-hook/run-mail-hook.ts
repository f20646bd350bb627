import { text } from 'node:stream/consumers';
import { askFace } from './ask-face.ts';
import { hookEventOf } from './hook-answer.ts';

// This module and all that it loads stay small: an agent waits for it at both ends of each of its turns.

/** The agent's CLI waits for its hook, so a hook that would take longer tells nothing. */
const longestMs = 1_500;

/**
 * Runs as a hook of an agent CLI: reads the event from standard input, asks the shared face for new mail, and writes an answer for the
 * CLI if there is some. It never fails and never takes long: if the face does not answer in time, it tells nothing.
 */
export async function runMailHook(words: readonly string[]): Promise<void> {
  const [path = '', agent = '', tokenFile = '', cli] = words;
  setTimeout(() => process.exit(0), longestMs).unref();
  try {
    const event = hookEventOf(await text(process.stdin), cli);
    if (!event) return;
    const answer = await askFace({ path, agent, tokenFile });
    if (answer?.hint !== undefined) process.stdout.write(`${JSON.stringify(event.answer(answer.hint))}\n`);
  } catch {
    // The agent must not notice that the face is away, or that this hook cannot be read.
  }
}
