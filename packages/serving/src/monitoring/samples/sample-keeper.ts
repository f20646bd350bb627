import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf, type SamplesQuery, type SamplesReply } from '@signalbox/protocol';
import type { MetricFamily } from '../metrics/metric-family.ts';
import { Growth, mergeSamples, metricsOf, type Sample, type SampledMetric } from './sample.ts';
import { newRings, type Rings, SampleFile } from './sample-file.ts';
import { lineOf, sampleOf } from './sample-lines.ts';
import { readsSeconds, SampleSlots } from './sample-query.ts';

const everyMs = 1000;
const minuteMs = 60_000;
/** The time between two writes to the file: a kill -9 loses at most what is younger, in milliseconds. */
const writeMs = 10_000;
/** The most samples of one minute, if the wall clock stands still. */
const mostOfMinute = 120;
/** The lines that are read in one turn of the event loop. */
const linesPerTurn = 100;

/** The dependencies of {@link SampleKeeper}. */
export interface SampleKeeperDeps {
  /** The file in which the samples survive this process. Without one, they end with it. */
  file: string | undefined;
  /** Returns the metrics that are sampled, always the same ones, with what was counted since the start of this process. */
  collect: () => readonly MetricFamily[];
  /** Epoch milliseconds. */
  now: () => number;
  /** Monotonic milliseconds. */
  monotonic: () => number;
  warn: (event: string, message: string) => void;
}

/**
 * Keeps samples of this process: one of each second for ten minutes, and one of each minute for a day, bounded in number and in bytes. It
 * counts nothing itself: a sample is what the metrics have more than at the last look.
 */
export class SampleKeeper implements AsyncDisposable {
  readonly #deps: SampleKeeperDeps;
  readonly #metrics: ReadonlyMap<string, SampledMetric>;
  readonly #file: SampleFile | undefined;
  readonly #rings: Rings = newRings();
  readonly #growth = new Growth();
  #timer: NodeJS.Timeout | undefined;
  /** The samples of the minute that has not ended. */
  #minute: Sample[] = [];
  #unwritten: string[] = [];
  #sampledAt: number;
  #writtenAt: number;
  #writing: Promise<void> | undefined;
  #hasFailed = false;

  /** Reads the samples of earlier processes, and begins to take its own. Never rejects: a file that can't be used is set aside. */
  static async open(deps: SampleKeeperDeps): Promise<SampleKeeper> {
    const keeper = new SampleKeeper(deps);
    await keeper.#file?.readInto(keeper.#rings);
    keeper.#endLastMinute();
    keeper.#timer = setInterval(() => void keeper.#tickOrWarn(), everyMs).unref();
    return keeper;
  }

  private constructor(deps: SampleKeeperDeps) {
    const { file, collect, warn, monotonic } = deps;
    this.#deps = deps;
    this.#metrics = metricsOf(collect());
    const head = JSON.stringify({ signalbox: 'samples', version: 1, metrics: [...this.#metrics] });
    this.#file = file === undefined ? undefined : new SampleFile(file, head, warn);
    this.#sampledAt = monotonic();
    this.#writtenAt = this.#sampledAt;
  }

  /** Takes a sample of the time since the last one, and writes now and then. It is called every second. */
  async tick(): Promise<void> {
    const { now, monotonic, collect } = this.#deps;
    const passed = Math.round(monotonic() - this.#sampledAt);
    if (passed > 0) {
      this.#sampledAt += passed;
      const sample = { at: now(), ms: passed, figures: this.#growth.since(collect()) };
      const last = this.#minute.at(-1);
      if (last && (minuteOf(last) !== minuteOf(sample) || this.#minute.length >= mostOfMinute))
        this.#endMinute();
      this.#minute.push(sample);
      this.#keep('second', sample);
    }
    if (this.#sampledAt - this.#writtenAt >= writeMs) await this.#write();
  }

  /** Answers a request for samples. Its metrics are among those that are sampled. */
  async read(query: SamplesQuery): Promise<SamplesReply> {
    const slots = new SampleSlots(query, this.#metrics, this.#deps.now());
    const isBySecond = readsSeconds(query);
    const lines = [...this.#rings[isBySecond ? 'second' : 'minute'].lines];
    const open = isBySecond ? [] : [...this.#minute];
    for (const [at, line] of lines.entries()) {
      if (at % linesPerTurn === linesPerTurn - 1) await nextTurn();
      slots.add(sampleOf(line));
    }
    for (const sample of open) slots.add(sample);
    return slots.reply();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#tickOrWarn();
    this.#endMinute();
    await this.#write();
  }

  async #tickOrWarn(): Promise<void> {
    try {
      await this.tick();
      this.#hasFailed = false;
    } catch (error) {
      // As when the process has no descriptor left to read its memory with.
      if (!this.#hasFailed) this.#deps.warn('samples_not_taken', messageOf(error));
      this.#hasFailed = true;
    }
  }

  /** Makes a sample of a minute of the seconds that an earlier process wrote before it was killed. */
  #endLastMinute(): void {
    const { second, minute } = this.#rings;
    const ended = minute.lines.at(-1);
    const endedAt = ended === undefined ? Number.NEGATIVE_INFINITY : sampleOf(ended).at;
    this.#minute = second.lines.map(sampleOf).filter(({ at }) => at > endedAt);
    this.#endMinute();
  }

  #endMinute(): void {
    if (this.#minute.length === 0) return;
    this.#keep('minute', mergeSamples(this.#minute, this.#metrics));
    this.#minute = [];
  }

  #keep(every: 'second' | 'minute', sample: Sample): void {
    const line = lineOf(every, sample);
    this.#rings[every].push(line);
    this.#unwritten.push(line);
  }

  async #write(): Promise<void> {
    await this.#writing;
    const lines = this.#unwritten;
    if (lines.length === 0) return;
    this.#unwritten = [];
    this.#writtenAt = this.#sampledAt;
    this.#writing = this.#file?.write(lines, this.#rings);
    await this.#writing;
  }
}

function minuteOf({ at }: Sample): number {
  return Math.floor(at / minuteMs);
}
