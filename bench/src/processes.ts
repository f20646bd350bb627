import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A child that says something over its channel once it is ready, and ends when the channel closes. */
export async function startProcess(
  script: string,
  setup: unknown,
): Promise<AsyncDisposable & { facts: Record<string, unknown> }> {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), [JSON.stringify(setup)]);
  const exited = once(child, 'exit');
  const [facts] = await Promise.race([once(child, 'message'), exited.then(() => [undefined])]);
  if (!facts) throw new Error(`${script} ended at its start`);
  return { facts: facts as Record<string, unknown>, [Symbol.asyncDispose]: () => end(child, exited) };
}

async function end(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  if (child.connected) child.disconnect();
  await exited;
}

/** For the child: what it was told. */
export function setupOf<T>(): T {
  return JSON.parse(process.argv[2]!) as T;
}

/** For the child: says it is ready, and ends with its parent. */
export function ready(facts: Record<string, unknown>, stop: () => Promise<unknown>): void {
  process.once('disconnect', () => {
    stop().finally(() => process.exit(0));
  });
  process.send?.(facts);
}
