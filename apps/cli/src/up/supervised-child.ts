import { type ChildProcess, spawn } from 'node:child_process';
import { SignalboxError } from '@signalbox/protocol';
import { errorOf } from '../failure.ts';
import { type ProcessReport, supervisedVariable } from '../process-life.ts';

/** How a child is started and what becomes known of it. */
export interface SupervisedOptions {
  name: string;
  /** Arguments of our own command line; asked again at each start, so that a restart can take over what was learnt. */
  argv: () => string[];
  env: NodeJS.ProcessEnv;
  /** Each start that got ready, the first included. */
  onReady: (facts: Record<string, unknown>) => void;
  /** An end that nobody asked for, and how long until the next start. */
  onDeath: (facts: { how: string; restartInMs: number }) => void;
  random?: () => number;
}

const stopGraceMs = 10_000;
const healthyMs = 10_000;
const firstDelayMs = 100;
const longestDelayMs = 5000;

/** One of our own commands as a child process that is started again whenever it dies, until it is stopped. */
export class SupervisedChild implements AsyncDisposable {
  readonly #options: SupervisedOptions;
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #stopping = false;
  #isReady = false;
  #deaths = 0;
  #startedAt = 0;

  constructor(options: SupervisedOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts it and resolves when it is ready. If it ends before that, rejects with what it said, and it stays down. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => this.#launch({ resolve, reject }));
  }

  /** Sends it a signal, if it is there and ready for one. */
  signal(signal: NodeJS.Signals): void {
    if (this.#isReady && this.#child && !hasEnded(this.#child)) this.#child.kill(signal);
  }

  /** Asks it to end, waits for that, and kills it if it takes too long. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#restart);
    const child = this.#child;
    if (!child || hasEnded(child)) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), stopGraceMs);
    await ended;
    clearTimeout(timer);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #launch(first?: { resolve: () => void; reject: (error: Error) => void }): void {
    const { name, argv, env, onReady } = this.#options;
    // A group of its own: Ctrl-C reaches `up` alone, which then stops its children in order. If `up` dies, the channel
    // closes, and they end by themselves.
    const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...argv()], {
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...env, [supervisedVariable]: '1' },
    });
    this.#child = child;
    this.#isReady = false;
    this.#startedAt = performance.now();
    let waiting = first;
    let failure: SignalboxError | undefined;
    child.on('message', (report: ProcessReport) => {
      if ('failure' in report) failure = errorOf(report.failure);
      else {
        waiting?.resolve();
        waiting = undefined;
        this.#isReady = true;
        onReady(report.ready);
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
    const random = this.#options.random ?? Math.random;
    const restartInMs = restartDelayMs(this.#deaths, random());
    this.#options.onDeath({ how, restartInMs });
    this.#restart = setTimeout(() => this.#launch(), restartInMs);
  }
}

/** Wait before a restart, in milliseconds: doubling from 100 to 5,000 with each death in a row, half of it jitter. */
export function restartDelayMs(deathsInARow: number, random: number): number {
  const full = Math.min(longestDelayMs, firstDelayMs * 2 ** (deathsInARow - 1));
  return Math.round(full / 2 + (full / 2) * random);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}
