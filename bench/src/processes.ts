import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { messageOf } from '@signalbox/protocol';

/** A process of the bench that carries out one order at a time. It ends when it is disposed or its parent dies. */
export interface Child extends AsyncDisposable {
  pid: number;
  /** The facts that the process reported when it was ready. */
  facts: Record<string, string>;
  /** Rejects if the order failed, took longer than `timeoutMs`, or the process ended. */
  ask<T>(order: unknown, timeoutMs: number): Promise<T>;
  /** Returns the processor time that it has used so far, in user and system mode, in milliseconds. */
  cpuMs(): Promise<number>;
}

const cpuQuestion = 'how much cpu?';

type Answer = { done: unknown } | { failed: string };

/** Starts a script of the bench, and resolves when it calls {@link serveParent}. */
export async function startProcess(script: URL, setup: unknown): Promise<Child> {
  const child = fork(fileURLToPath(script), [JSON.stringify(setup)]);
  const exited = once(child, 'exit').then(
    ([code, signal]): Answer => ({
      failed: `its process ended (${signal ?? `exit code ${code}`})`,
    }),
  );
  const end = async (): Promise<void> => {
    if (child.connected) child.disconnect();
    const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await exited;
    clearTimeout(late);
  };
  const next = async (timeoutMs: number): Promise<unknown> => {
    const timer = Promise.withResolvers<Answer>();
    const late = setTimeout(() => timer.resolve({ failed: `no answer within ${timeoutMs} ms` }), timeoutMs);
    const said = once(child, 'message').then(([message]) => message as Answer);
    const saying = await Promise.race([said, exited, timer.promise]);
    clearTimeout(late);
    if ('failed' in saying) throw new Error(saying.failed);
    return saying.done;
  };
  try {
    const facts = (await next(60_000)) as Record<string, string>;
    return {
      pid: child.pid!,
      facts,
      ask: <T>(order: unknown, timeoutMs: number) => {
        child.send(order as object);
        return next(timeoutMs) as Promise<T>;
      },
      cpuMs: () => {
        child.send(cpuQuestion);
        return next(60_000) as Promise<number>;
      },
      [Symbol.asyncDispose]: end,
    };
  } catch (thrown) {
    await end();
    throw thrown;
  }
}

/** Returns the setup that the parent gave this child. */
export function setupOf<T>(): T {
  return JSON.parse(process.argv[2]!) as T;
}

/** Reports to the parent that this child is ready, carries out its orders, and ends with it. */
export function serveParent(options: {
  facts?: Record<string, string>;
  obey?: (order: unknown) => Promise<unknown>;
  stop: () => Promise<unknown>;
}): void {
  const { facts = {}, obey, stop } = options;
  // Ctrl-C reaches the whole process group; the parent decides who ends when.
  process.on('SIGINT', () => {});
  const say = (saying: Answer): void => {
    if (process.connected) process.send!(saying);
  };
  process.on('message', (order) => {
    if (order === cpuQuestion) {
      const { user, system } = process.cpuUsage();
      say({ done: (user + system) / 1000 });
      return;
    }
    obey?.(order).then(
      (done) => say({ done }),
      (thrown) => say({ failed: messageOf(thrown) }),
    );
  });
  process.once('disconnect', () => {
    // Running work may fail now, and nobody is left to handle that.
    process.on('unhandledRejection', () => {});
    process.on('uncaughtException', () => {});
    stop().finally(() => process.exit(0));
  });
  say({ done: facts });
}
