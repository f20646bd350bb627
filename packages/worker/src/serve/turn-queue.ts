/** Work that waits for a turn. */
export interface TurnJob {
  /** Turns of the same thread run one after the other; `undefined` is no thread. */
  readonly thread: string | undefined;
}

/** Chooses the next turn: in the order of arrival, a limited number at a time, and one at a time of each thread. */
export class TurnQueue<Job extends TurnJob> {
  readonly #concurrency: number;
  readonly #run: (job: Job) => Promise<void>;
  readonly #onChange: () => void;
  #waiting: Job[] = [];
  readonly #running = new Map<Job, Promise<void>>();
  #isStopped = false;

  /** `run` never rejects. `onChange` is called when a job waits, runs or has ended. */
  constructor(concurrency: number, run: (job: Job) => Promise<void>, onChange: () => void = () => {}) {
    this.#concurrency = concurrency;
    this.#run = run;
    this.#onChange = onChange;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** The number of jobs that run now. */
  get running(): Job[] {
    return [...this.#running.keys()];
  }

  add(job: Job): void {
    this.#waiting.push(job);
    this.#startNext();
    this.#onChange();
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

  #startNext(): void {
    while (!this.#isStopped && this.#running.size < this.#concurrency) {
      const busy = new Set(this.running.map(({ thread }) => thread));
      const at = this.#waiting.findIndex(({ thread }) => thread === undefined || !busy.has(thread));
      const [job] = at < 0 ? [] : this.#waiting.splice(at, 1);
      if (job === undefined) return;
      this.#running.set(job, this.#runJob(job));
    }
  }

  async #runJob(job: Job): Promise<void> {
    await this.#run(job);
    this.#running.delete(job);
    this.#startNext();
    this.#onChange();
  }
}
