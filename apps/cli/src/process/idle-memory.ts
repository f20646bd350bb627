import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The work of a process since the last look at it, and its present heap. */
export interface Look {
  /** Processor time, in milliseconds. */
  usedMs: number;
  /** The memory of the heap, in bytes. */
  heapBytes: number;
  /** The bytes of older objects. A collection looks at each of them. */
  olderBytes: number;
}

/** The time between two looks, in milliseconds. A look wakes the process, so there are few. */
const defaultLookMs = 10_000;
/** A process that used more processor time than this since the last look works, in milliseconds. At rest it answers pings. */
const restingMs = 100;
/**
 * The number of looks in a row in which a process rests before its memory is given back: a minute. After a shorter rest, as between two calls
 * of an agent that thinks, the work that comes next would pay for it.
 */
export const restingLooks = 6;
/** A collection is worth its time from this growth of the heap on, in bytes. */
const worthBytes = 8e6;
/** A heap with more than this is left alone, in bytes: a collection would hold up the process for too long. */
const mostOlderBytes = 96e6;
/** The largest share of the time that goes into collections. */
const largestShare = 0.01;

/** Says when memory is given back: while a process rests, if its heap has grown, and for at most a hundredth of the time. */
export class IdleMemoryRule {
  #looks = 0;
  #leftBytes = 0;
  #nextAt = 0;

  /** Returns true if a collection is due. */
  isDue({ usedMs, heapBytes, olderBytes }: Look, nowMs: number): boolean {
    this.#looks = usedMs < restingMs ? this.#looks + 1 : 0;
    return (
      this.#looks >= restingLooks &&
      heapBytes - this.#leftBytes >= worthBytes &&
      olderBytes <= mostOlderBytes &&
      nowMs >= this.#nextAt
    );
  }

  /** Notes a collection: the heap that it left, and the processor time that it took. */
  collected({ heapBytes, usedMs }: { heapBytes: number; usedMs: number }, nowMs: number): void {
    this.#leftBytes = heapBytes;
    this.#nextAt = nowMs + usedMs / largestShare;
  }
}

/** A collection that was made, for a log. Times in milliseconds. */
interface Collection {
  event: 'memory_returned';
  before_bytes: number;
  after_bytes: number;
  used_ms: number;
  took_ms: number;
  [fact: string]: unknown;
}

/**
 * Gives memory back to the system whenever this process rests, until it is disposed. V8 gives back little by itself: a process that
 * was busy for a minute and then waits for hours keeps twice what it needs.
 */
export function returnIdleMemory(
  log: (collection: Collection) => void,
  { lookMs = defaultLookMs, now = () => performance.now() } = {},
): Disposable {
  const rule = new IdleMemoryRule();
  let usage = process.cpuUsage();
  const look = (): void => {
    const usedMs = usedSince(usage);
    usage = process.cpuUsage();
    const before = heap();
    if (!rule.isDue({ usedMs, ...before }, now())) return;
    const startedAt = now();
    collectGarbage();
    const collection = { heapBytes: heap().heapBytes, usedMs: usedSince(usage) };
    rule.collected(collection, now());
    usage = process.cpuUsage();
    log({
      event: 'memory_returned',
      before_bytes: before.heapBytes,
      after_bytes: collection.heapBytes,
      used_ms: Math.round(collection.usedMs),
      took_ms: Math.round(now() - startedAt),
    });
  };
  const timer = setInterval(look, lookMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function usedSince(usage: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(usage);
  return (user + system) / 1000;
}

function heap(): { heapBytes: number; olderBytes: number } {
  const spaces = getHeapSpaceStatistics();
  const older = spaces.filter(({ space_name: name }) => !name.startsWith('new_'));
  return {
    heapBytes: spaces.reduce((sum, { physical_space_size: bytes }) => sum + bytes, 0),
    olderBytes: older.reduce((sum, { space_used_size: bytes }) => sum + bytes, 0),
  };
}

/** Only this kind of collection also gives back the pages that V8 keeps for later. */
const whole = { type: 'major', flavor: 'last-resort' };

function collectGarbage(): void {
  // V8 puts the function into contexts that are made while its flag is set.
  setFlagsFromString('--expose-gc');
  const collect: (options: typeof whole) => void = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  collect(whole);
}
