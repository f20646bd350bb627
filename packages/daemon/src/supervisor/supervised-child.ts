import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { markVariable } from '@signalbox/mcp-host/internal';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { backoffMs } from '@signalbox/serving';
import { type ChildReport, errorOf, handedValue, supervisedVariable } from './child-report.ts';

/** A program and its arguments. */
type CommandLine = readonly [program: string, ...args: string[]];

/** The command line of a child, and the functions that are called when it is restarted or has died. */
export interface SupervisedOptions<Ready> {
  name: string;
  /**
   * The command line; called at each start with the last report, so that a restart can listen at the same address. If it throws,
   * the start has failed, and a restart is tried again later.
   */
  command: (last: Ready | undefined) => CommandLine;
  env: NodeJS.ProcessEnv;
  /** Called with each step that the child reports, whether it is ready or not. */
  onProgress?: (progress: Record<string, unknown>) => void;
  /** Called when a restarted child is ready. */
  onRestarted: () => void;
  /** Called after an end that nobody asked for. */
  onDeath: (facts: { how: string; restartInMs: number }) => void;
  /** The longest wait before a restart, in milliseconds; default 5 s. */
  longestDelayMs?: number;
  random?: () => number;
}

/** The first start of a child, which somebody waits for. */
interface FirstStart<Ready> {
  resolve: (ready: Ready) => void;
  reject: (error: Error) => void;
  handed: object | undefined;
}

/** The time that a child has to end before it is killed, in milliseconds. A child itself gives up an orderly end earlier. */
const stopGraceMs = 15_000;
const healthyMs = 10_000;
const firstDelayMs = 100;
const defaultLongestDelayMs = 5000;

/** A child process that reports to its supervisor, and that is started again whenever it dies, until it is stopped. */
export class SupervisedChild<Ready> implements AsyncDisposable {
  readonly #options: SupervisedOptions<Ready>;
  #lastReady: Ready | undefined;
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #stopping = false;
  #isReady = false;
  #deaths = 0;
  #startedAt = 0;

  constructor(options: SupervisedOptions<Ready>) {
    this.#options = options;
  }

  /** The process id of the child that runs or ran last; `undefined` before the first start. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Starts the child and resolves with its report when it is ready. If it ends before that, rejects, and it stays down until it is
   * started again. Rejects with `closed` after {@link stop}. The child gets `handed`, as JSON, at this start only.
   */
  start(handed?: object): Promise<Ready> {
    if (this.#stopping) return Promise.reject(new SignalboxError('closed', 'the supervisor stops'));
    return new Promise((resolve, reject) => this.#launch({ resolve, reject, handed }));
  }

  /** True once the child was asked to stop. */
  get isStopping(): boolean {
    return this.#stopping;
  }

  /** Sends the child a signal, if it runs and is ready. */
  signal(signal: NodeJS.Signals): void {
    if (this.#isReady && this.#child && !hasEnded(this.#child)) this.#child.kill(signal);
  }

  /**
   * Asks the child to end, waits until it has ended, and kills it after 15 s. Rejects with `not_stopped` if it did not end in order.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#restart);
    const child = this.#child;
    if (!child || hasEnded(child)) return;
    const ended = once(child, 'exit') as Promise<[code: number | null, signal: NodeJS.Signals | null]>;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), stopGraceMs);
    const [code, signal] = await ended;
    clearTimeout(timer);
    // A child that was still starting dies of the signal itself.
    if (code === 0 || signal === 'SIGTERM') return;
    const how = signal ?? `exit code ${code}`;
    throw new SignalboxError('not_stopped', `the ${this.#options.name} did not stop in order (${how})`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #launch(first?: FirstStart<Ready>): void {
    const { name, command, env, onProgress, onRestarted } = this.#options;
    this.#isReady = false;
    this.#startedAt = performance.now();
    let line: CommandLine;
    try {
      line = command(this.#lastReady);
    } catch (error) {
      if (first) first.reject(error as Error);
      else this.#scheduleRestart(messageOf(error));
      return;
    }
    const child = spawnSupervised(line, env, first?.handed);
    this.#child = child;
    let waiting = first;
    let failure: SignalboxError | undefined;
    child.on('message', (report: ChildReport) => {
      if ('progress' in report) onProgress?.(report.progress);
      else if ('failure' in report) failure = errorOf(report.failure);
      else {
        const ready = report.ready as Ready;
        this.#lastReady = ready;
        this.#isReady = true;
        if (waiting) waiting.resolve(ready);
        else onRestarted();
        waiting = undefined;
      }
    });
    let over = false;
    const end = (how: string): void => {
      if (over) return;
      over = true;
      if (waiting)
        waiting.reject(failure ?? new SignalboxError('internal', `the ${name} ended at once (${how})`));
      else if (!this.#stopping) this.#scheduleRestart(failure ? failure.message : how);
    };
    child.once('error', (error) => end(error.message));
    child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`));
  }

  #scheduleRestart(how: string): void {
    this.#deaths = performance.now() - this.#startedAt >= healthyMs ? 1 : this.#deaths + 1;
    const { random = Math.random, longestDelayMs = defaultLongestDelayMs } = this.#options;
    const restartInMs = restartDelayMs(this.#deaths, random(), longestDelayMs);
    this.#options.onDeath({ how, restartInMs });
    this.#restart = setTimeout(() => this.#launch(), restartInMs);
  }
}

/**
 * Returns the wait before a restart in milliseconds: none after the first death, and then from 100 on it doubles with each death in a
 * row, half of it jitter.
 */
export function restartDelayMs(deathsInARow: number, random: number, longestMs: number): number {
  if (deathsInARow === 1) return 0;
  return backoffMs({ firstMs: firstDelayMs, longestMs, jitter: 0.5 }, deathsInARow - 2, random);
}

/**
 * Starts a child in a process group of its own: Ctrl-C reaches the supervisor alone, which then stops its children in order.
 * If the supervisor dies, the channel closes, and they end by themselves.
 */
function spawnSupervised(
  [program, ...args]: CommandLine,
  env: NodeJS.ProcessEnv,
  handed: object | undefined,
): ChildProcess {
  const child = spawn(program, args, {
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // A hosted server may have started us. The marks of our children show the host of that server that we are a host, too.
    env: {
      ...env,
      [markVariable]: randomUUID(),
      [supervisedVariable]: handed === undefined ? '1' : handedValue,
    },
  });
  // A child that has ended by now says why by its exit.
  if (handed !== undefined) child.send(handed, () => {});
  return child;
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}
