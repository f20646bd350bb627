/** Work that waits for a turn. */
export interface TurnJob {
  /** Turns of the same thread run one after the other; `undefined` is no thread. */
  readonly thread: string | undefined;
}

export interface TurnQueueOptions<Job> {
  /** The most turns at a time. */
  concurrency: number;
  /** Runs a job. It never rejects. */
  run: (job: Job) => Promise<void>;
  /** Chooses the next of the jobs that may run, which are in the order of arrival; `undefined` to start none. By default the first. */
  choose?: (jobs: readonly Job[]) => Job | undefined;
  /** Called when a job waits, runs or has ended. */
  onChange?: () => void;
}

/** Chooses the next turn: in the order of arrival, a limited number at a time, and one at a time of each thread. */
export class TurnQueue<Job extends TurnJob> {
  readonly #options: TurnQueueOptions<Job>;
  #waiting: Job[] = [];
  readonly #running = new Map<Job, Promise<void>>();
  #isStopped = false;

  constructor(options: TurnQueueOptions<Job>) {
    this.#options = options;
  }

  /** The jobs that have not begun. */
  get waiting(): readonly Job[] {
    return this.#waiting;
  }

  /** The jobs that run now. */
  get running(): Job[] {
    return [...this.#running.keys()];
  }

  add(job: Job): void {
    this.#waiting.push(job);
    this.startNext();
    this.#options.onChange?.();
  }

  /** Removes a job that waits. */
  remove(job: Job): void {
    this.#waiting = this.#waiting.filter((other) => other !== job);
    this.#options.onChange?.();
  }

  /** Begins no more jobs. Returns the jobs that have not begun. */
  stop(): Job[] {
    this.#isStopped = true;
    return this.#waiting.splice(0);
  }

  /** Resolves when the running jobs have ended. */
  async idle(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** Starts what may run now. It need only be called when `choose` would choose otherwise than before. */
  startNext(): void {
    const { concurrency, choose = ([first]) => first } = this.#options;
    while (!this.#isStopped && this.#running.size < concurrency) {
      const busy = new Set(this.running.map(({ thread }) => thread));
      const job = choose(this.#waiting.filter(({ thread }) => thread === undefined || !busy.has(thread)));
      if (job === undefined) return;
      this.#waiting = this.#waiting.filter((other) => other !== job);
      this.#running.set(job, this.#runJob(job));
    }
  }

  async #runJob(job: Job): Promise<void> {
    await this.#options.run(job);
    this.#running.delete(job);
    this.startNext();
    this.#options.onChange?.();
  }
}
