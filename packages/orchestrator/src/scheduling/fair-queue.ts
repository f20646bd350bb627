import type { CallLimits, ServerLimits } from './call-limits.ts';

/** A call in the queue. The object itself identifies the call. */
export interface QueuedCall {
  readonly worker: string;
  readonly server: string;
}

/**
 * The reason why a call may not wait. `queue_full`: too many calls of its worker wait already. `no_room`: the remaining
 * room is kept for other workers.
 */
export type Refusal = 'queue_full' | 'no_room';

/** The calls of one worker on all servers. `turn` orders workers by the time when they were last served. */
interface Worker {
  waiting: number;
  running: number;
  turn: number;
}

/** The calls of one worker that wait for one server, oldest first. */
interface Line<C> {
  readonly worker: Worker;
  readonly server: Server<C>;
  readonly calls: Set<C>;
  turn: number;
}

/** The calls of all workers on one server. */
interface Server<C> {
  readonly name: string;
  running: number;
  /** The lines by worker id, in the order of their turns. */
  readonly lines: Map<string, Line<C>>;
}

/**
 * Decides which call runs next. It knows neither time nor promises. A call needs one slot of each limit (global, of its server, of its
 * worker). It takes all three at once, or waits without any. On each server the workers take turns: a worker that was served goes to the
 * end. If several servers have room and only the global limit binds, the worker that was served longest ago goes first. So a worker with a
 * thousand calls and one with a single call alternate.
 */
export class FairQueue<C extends QueuedCall> {
  readonly #limits: CallLimits;
  #serverLimits: ReadonlyMap<string, number>;
  readonly #workers = new Map<string, Worker>();
  readonly #servers = new Map<string, Server<C>>();
  #running = 0;
  #waiting = 0;
  #turn = 0;

  constructor(limits: CallLimits) {
    this.#limits = limits;
    this.#serverLimits = new Map(Object.entries(limits.servers ?? {}));
  }

  /** Replaces the limits of single servers. Running calls continue; call `next` again, as more calls may start now. */
  setServerLimits(limits: ServerLimits): void {
    this.#serverLimits = new Map(Object.entries(limits));
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Returns the number of running and of waiting calls of one worker. */
  load(worker: string): { running: number; waiting: number } {
    const { running = 0, waiting = 0 } = this.#workers.get(worker) ?? {};
    return { running, waiting };
  }

  /** Returns the number of calls that run on one server, and that wait for it. */
  serverLoad(name: string): { running: number; waiting: number } {
    const server = this.#servers.get(name);
    if (!server) return { running: 0, waiting: 0 };
    let waiting = 0;
    for (const { calls } of server.lines.values()) waiting += calls.size;
    return { running: server.running, waiting };
  }

  /**
   * Starts a call that need not wait. Returns false and changes nothing if it has to. `next` has started all waiting calls that could
   * start, so that none of them loses its turn.
   */
  startAtOnce(call: QueuedCall): boolean {
    const worker = this.#workers.get(call.worker) ?? { waiting: 0, running: 0, turn: 0 };
    const server = this.#servers.get(call.server) ?? { name: call.server, running: 0, lines: new Map() };
    if (!this.#hasSlots(worker, server) || this.#refusal(worker, server) !== undefined) return false;
    if (worker.running + worker.waiting === 0) this.#workers.set(call.worker, worker);
    if (server.running === 0) this.#servers.set(call.server, server);
    worker.turn = ++this.#turn;
    worker.running++;
    server.running++;
    this.#running++;
    return true;
  }

  /** Adds a waiting call. If the call may not wait, returns the reason and changes nothing. */
  enqueue(call: C): Refusal | undefined {
    const worker = this.#workers.get(call.worker) ?? { waiting: 0, running: 0, turn: 0 };
    const server = this.#servers.get(call.server) ?? { name: call.server, running: 0, lines: new Map() };
    const refusal = this.#refusal(worker, server);
    if (refusal !== undefined) return refusal;
    this.#workers.set(call.worker, worker);
    this.#servers.set(call.server, server);
    let line = server.lines.get(call.worker);
    if (line === undefined) {
      line = { worker, server, calls: new Set(), turn: ++this.#turn };
      server.lines.set(call.worker, line);
    }
    if (worker.waiting === 0) worker.turn = ++this.#turn;
    line.calls.add(call);
    worker.waiting++;
    this.#waiting++;
    return undefined;
  }

  /** Starts the call whose turn it is and returns it; `undefined` if none can start now. It runs until `finished`. */
  next(): C | undefined {
    if (this.#running >= this.#limits.global) return undefined;
    let best: Line<C> | undefined;
    for (const server of this.#servers.values()) {
      if (!this.#hasRoom(server)) continue;
      const first = this.#firstInLine(server);
      if (first !== undefined && (best === undefined || goesBefore(first, best))) best = first;
    }
    if (best === undefined) return undefined;
    const [call] = best.calls;
    this.#start(best, call!);
    return call;
  }

  /** Frees the slots of a call that `next` started. */
  finished(call: QueuedCall): void {
    const worker = this.#workers.get(call.worker)!;
    const server = this.#servers.get(call.server)!;
    worker.running--;
    server.running--;
    this.#running--;
    this.#forget(call, worker, server);
  }

  /** Tells whether the call waits in this queue. */
  has(call: C): boolean {
    return this.#servers.get(call.server)?.lines.get(call.worker)?.calls.has(call) ?? false;
  }

  /**
   * Returns the place of a waiting call in the line of its server, 1 for the next, by the present turns; `undefined` if it does not wait.
   * Other limits may make it wait longer, and later calls of other workers may go before it.
   */
  position(call: C): number | undefined {
    const server = this.#servers.get(call.server);
    const own = server?.lines.get(call.worker);
    if (!server || !own?.calls.has(call)) return undefined;
    // Workers take turns: before its own n-th call, each worker before it has had n calls, and each one after it n - 1.
    const turn = [...own.calls].indexOf(call) + 1;
    let before = turn - 1;
    let isBehind = false;
    for (const line of server.lines.values()) {
      if (line === own) isBehind = true;
      else before += Math.min(line.calls.size, isBehind ? turn - 1 : turn);
    }
    return before + 1;
  }

  /** Removes a waiting call. Returns false if it is not waiting. */
  remove(call: C): boolean {
    const server = this.#servers.get(call.server);
    const line = server?.lines.get(call.worker);
    if (server === undefined || !line?.calls.delete(call)) return false;
    if (line.calls.size === 0) server.lines.delete(call.worker);
    line.worker.waiting--;
    this.#waiting--;
    this.#forget(call, line.worker, server);
    return true;
  }

  /** Removes and returns all waiting calls. */
  removeAll(): C[] {
    const calls = [...this.#servers.values()].flatMap(({ lines }) =>
      [...lines.values()].flatMap((line) => [...line.calls]),
    );
    for (const call of calls) this.remove(call);
    return calls;
  }

  /**
   * Returns the reason why a call may not wait. A worker may hold at most as much as is left for all others: even if many workers flood the
   * queue, there is room for one that does not. A call that finds its slots free need not wait, so a full queue does not refuse it.
   */
  #refusal(worker: Worker, server: Server<C>): Refusal | undefined {
    const { waitingPerWorker, heldCalls } = this.#limits;
    const held = this.#running + this.#waiting;
    if (held === 0) return undefined;
    if (!this.#hasSlots(worker, server) && worker.waiting >= waitingPerWorker) return 'queue_full';
    const hasRoom = worker.running + worker.waiting < heldCalls - held;
    return hasRoom ? undefined : 'no_room';
  }

  #hasSlots(worker: Worker, server: Server<C>): boolean {
    const { global, perWorker } = this.#limits;
    return this.#running < global && worker.running < perWorker && this.#hasRoom(server);
  }

  #hasRoom({ name, running }: Server<C>): boolean {
    return running < (this.#serverLimits.get(name) ?? this.#limits.perServer);
  }

  #firstInLine(server: Server<C>): Line<C> | undefined {
    for (const line of server.lines.values()) {
      if (line.worker.running < this.#limits.perWorker) return line;
    }
    return undefined;
  }

  #start(line: Line<C>, call: C): void {
    const { worker, server, calls } = line;
    calls.delete(call);
    server.lines.delete(call.worker);
    if (calls.size > 0) server.lines.set(call.worker, line);
    line.turn = ++this.#turn;
    worker.turn = this.#turn;
    worker.waiting--;
    worker.running++;
    server.running++;
    this.#waiting--;
    this.#running++;
  }

  #forget(call: QueuedCall, worker: Worker, server: Server<C>): void {
    if (worker.running + worker.waiting === 0) this.#workers.delete(call.worker);
    if (server.running === 0 && server.lines.size === 0) this.#servers.delete(call.server);
  }
}

/**
 * Tells whether line `a` is served before `b`: the worker that was served longest ago comes first, and among lines of one worker the line
 * that was served longest ago.
 */
function goesBefore<C>(a: Line<C>, b: Line<C>): boolean {
  return a.worker === b.worker ? a.turn < b.turn : a.worker.turn < b.worker.turn;
}
