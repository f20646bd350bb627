import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { issueToken, revokeToken } from '@signalbox/client/operator';
import type { Behaviour } from './worker.ts';

/** A worker in a process of its own. Disposing it ends the process and revokes its token. */
export interface Worker extends AsyncDisposable {
  readonly agent: string;
  kill(): void;
  /** Makes a worker that is late answer now; rejects if it does not within `timeoutMs`. */
  answerLate(timeoutMs: number): Promise<void>;
}

/** Starts a worker under a child token and resolves when it takes tasks. `minter` is connected with a minting token. */
export async function startWorker(
  minter: BrokerClient,
  { url, agent, behaviour }: { url: string; agent: string; behaviour: Behaviour },
): Promise<Worker> {
  await using started = new AsyncDisposableStack();
  const { id, token } = await issueToken(minter, { agent, role: minter.role, ttlMs: 3_600_000 });
  started.defer(() => revokeToken(minter, id));
  // The directory is ours alone (0700), and gone as soon as the worker has read its token.
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-fan-'));
  await using leaving = new AsyncDisposableStack();
  leaving.defer(() => rm(directory, { recursive: true, force: true }));
  const tokenFile = join(directory, 'token');
  await writeFile(tokenFile, token, { mode: 0o600 });
  const child = fork(fileURLToPath(new URL('./worker.ts', import.meta.url)), [behaviour], {
    env: { ...process.env, SIGNALBOX_URL: url, SIGNALBOX_TOKEN_FILE: tokenFile },
  });
  const exited = once(child, 'exit');
  started.defer(() => end(child, exited));
  const first = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
  if (!first) throw new Error(`the worker ${agent} ended at its start`);
  let isWanted = true;
  const windingUp = exited.then(async () => {
    if (isWanted) await giveUpTasks({ url, agent, token });
  });
  const resources = started.move();
  return {
    agent,
    kill: () => void child.kill('SIGKILL'),
    async answerLate(timeoutMs) {
      const answered = once(child, 'message', { signal: AbortSignal.timeout(timeoutMs) });
      child.send('answer');
      await answered;
    },
    async [Symbol.asyncDispose]() {
      isWanted = false;
      if (child.exitCode !== null || child.signalCode !== null) await windingUp;
      await resources.disposeAsync();
    },
  };
}

/**
 * Gives up the tasks of a worker that died, so that the one that waits for them learns it now and not at the deadline.
 * Another worker under the same agent id would be handed them instead, but here nobody takes its place.
 */
async function giveUpTasks(dead: { url: string; agent: string; token: string }): Promise<void> {
  await using successor = await connectBroker(dead);
  await using inbox = await successor.subscribe();
  let left = inbox.subscribed.pending;
  if (left === 0) return;
  for await (const { seq } of inbox.messages) {
    if (seq !== undefined) await successor.nack([seq], { dead: true, reason: 'its worker died' });
    if (--left === 0) return;
  }
}

async function end(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  await exited;
}
