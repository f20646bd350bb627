import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { CountAnswer, CountQuestion, Counts } from './counts.ts';

/** The time after an operation in which what a timer does still belongs to it, in milliseconds. */
const countedMs = 50;

/** Processes that count what they do. */
export interface CountedProcesses extends AsyncDisposable {
  /**
   * Returns Node's options that make a process of the command count, and report here. `part` names a program that is not ours: it counts
   * nothing of interest, but it is not at rest before it has answered.
   */
  options(part?: string): string[];
  /** Resolves when a process of each of these commands has reported. */
  present(parts: readonly string[]): Promise<void>;
  /** Returns what each process does for an operation, until all have come to rest, and in the 50 ms that follow. */
  during(operation: () => Promise<unknown>): Promise<Record<string, Counts>>;
}

/** Waits for processes that count, at a Unix socket in `directory`. */
export async function awaitCountedProcesses(directory: string): Promise<CountedProcesses> {
  const path = join(directory, 'counts.sock');
  const processes = new Map<string, Reporter>();
  const arrivals = new Map<string, PromiseWithResolvers<void>>();
  const arrival = (part: string): PromiseWithResolvers<void> => {
    const known = arrivals.get(part) ?? Promise.withResolvers<void>();
    arrivals.set(part, known);
    return known;
  };
  const server = createServer((socket) => {
    const reporter = new Reporter(socket);
    reporter.part.then(
      (part) => {
        processes.set(part, reporter);
        arrival(part).resolve();
      },
      // A process that ended at once is missed where it is needed.
      () => {},
    );
  }).listen(path);
  await once(server, 'listening');
  const ask = (question: CountQuestion): Promise<[part: string, answer: CountAnswer][]> =>
    Promise.all([...processes].map(async ([part, process]) => [part, await process.ask(question)]));
  /** Asks until nothing has happened between two answers. Resolves with the last ones. */
  const rest = async (): Promise<[part: string, answer: CountAnswer][]> => {
    for (let before = ''; ; ) {
      const answers = await ask('answer');
      const now = JSON.stringify(answers);
      if (now === before) return answers;
      before = now;
    }
  };
  /**
   * Lets all clocks go on from timer to timer, each time when all processes are at rest, until `isEnough` of the time to the next timer.
   * Resolves with the last answers.
   */
  const goOn = async (
    isEnough: (timerInMs: number) => boolean,
  ): Promise<[part: string, answer: CountAnswer][]> => {
    for (;;) {
      const answers = await rest();
      const timerInMs = Math.min(
        ...answers.map(([, answer]) => answer.timerInMs ?? Number.POSITIVE_INFINITY),
      );
      if (isEnough(timerInMs)) return answers;
      if (timerInMs < Number.POSITIVE_INFINITY) await ask({ advanceMs: timerInMs });
    }
  };
  return {
    options: (part) => {
      const preload = new URL('./counting-preload.ts', import.meta.url);
      preload.searchParams.set('socket', path);
      if (part !== undefined) preload.searchParams.set('part', part);
      return ['--conditions=@signalbox/source', `--import=${preload}`];
    },
    present: async (parts) => {
      await Promise.all(parts.map((part) => arrival(part).promise));
    },
    during: async (operation) => {
      await ask('begin');
      let isDone = false;
      const done = operation().finally(() => {
        isDone = true;
      });
      // A failure is thrown when it is awaited.
      done.catch(() => {});
      let leftMs = countedMs;
      // A clock may have to go on before the operation ends, since a timer may delay a part of it.
      const answers = await goOn((timerInMs) => {
        if (!isDone) return false;
        leftMs -= timerInMs;
        return leftMs < 0;
      });
      await done;
      // Timers that wait longer run before the next operation, and count for none.
      await goOn((timerInMs) => timerInMs === Number.POSITIVE_INFINITY);
      await ask('release');
      return Object.fromEntries(answers.map(([part, { counts }]) => [part, counts]));
    },
    [Symbol.asyncDispose]: async () => {
      for (const process of processes.values()) process.close();
      server.close();
    },
  };
}

/** One process, which answers in the order of the questions. */
class Reporter {
  /** The command of the process. */
  readonly part: Promise<string>;
  readonly #socket: Socket;
  readonly #lines: AsyncIterator<string>;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#lines = createInterface(socket)[Symbol.asyncIterator]();
    this.part = this.#next<string>();
  }

  ask(question: CountQuestion): Promise<CountAnswer> {
    this.#socket.write(`${JSON.stringify(question)}\n`);
    return this.#next<CountAnswer>();
  }

  close(): void {
    this.#socket.destroy();
  }

  async #next<T>(): Promise<T> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('a process that counts has ended');
    return JSON.parse(value) as T;
  }
}
