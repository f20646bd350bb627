import { setTimeout as delay } from 'node:timers/promises';
import { exitCodes } from '../terminal/exit-codes.ts';
import { askFace } from './ask-face.ts';

// This module and all that it loads stay small: a process of it waits as long as the agent is idle.

/** The wait before a face is asked again that does not know the agent, whose MCP client may still be starting. */
const retryMs = 1_000;
/** The number of times in a row that a face may not know the agent. After that the agent has ended. */
const mostTries = 60;
/** A wait that lasted so long was one of an agent that the face knew, in milliseconds. */
const knownMs = 1_000;

/**
 * Runs as a hook of an agent CLI that goes on beside the agent: waits until the shared face has mail of which the agent was not told,
 * writes one line and exits with the code of new mail, which wakes the agent. Every other end, also that of the face, exits with 0.
 */
export async function runWakeHook([path = '', agent = '', tokenFile = '']: readonly string[]): Promise<void> {
  // The CLI writes about its event to standard input, which is of no use here.
  process.stdin.destroy();
  try {
    for (let tries = 0; tries < mostTries; tries++) {
      const since = performance.now();
      const answer = await askFace({ path, agent, tokenFile }, { wait: true });
      if (answer?.hint !== undefined) {
        process.stdout.write(`${answer.hint}\n`);
        process.exitCode = exitCodes.newMail;
      }
      if (answer === undefined || answer.superseded || answer.hint !== undefined) return;
      if (performance.now() - since > knownMs) tries = 0;
      await delay(retryMs);
    }
  } catch {
    // The face has ended, and the agent with it. An error here must not wake anybody.
  }
}
