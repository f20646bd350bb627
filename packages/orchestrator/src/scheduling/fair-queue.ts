import type { CallLimits, ServerLimits } from './call-limits.ts';

/** Whose call it is, where it goes, and the size of its request. Told apart by identity. */
export interface QueuedCall {
  readonly worker: string;
  readonly server: string;
  readonly bytes: number;
}

/** Why a call may not wait: `queue_full`, its worker has enough waiting; `no_room`, what is left is for the others. */
export type Refusal = 'queue_full' | 'no_room';

interface Worker {
  waiting: number;
  running: number;
  bytes: number;
  turn: number;
}

/** The calls of one worker that wait for one server, oldest first. */
interface Line<C> {
  readonly worker: Worker;
  readonly server: Server<C>;
  readonly calls: Set<C>;
  turn: number;
}

interface Server<C> {
  readonly name: string;
  running: number;
  /** By worker, in the order of their turns. */
  readonly lines: Map<string, Line<C>>;
}

/**
 * Decides which call runs next. Knows neither time nor promises.
 *
 * A call takes its places (global, of its server, of its worker) all at once or waits without any. On a server
 * the workers take turns, whoever was served going to the end of the line; where several servers have room and only the
 * global limit binds, the worker that was served longest ago goes first. So a worker with a thousand calls and one
 * with a single call alternate.
 */
export class FairQueue<C extends QueuedCall> {
  readonly #limits: CallLimits;
  #serverLimits: ReadonlyMap<string, number>;
  readonly #workers = new Map<string, Worker>();
  readonly #servers = new Map<string, Server<C>>();
  #running = 0;
  #waiting = 0;
  #bytes = 0;
  #turn = 0;

  constructor(limits: CallLimits) {
    this.#limits = limits;
    this.#serverLimits = new Map(Object.entries(limits.servers ?? {}));
  }

  /** Replaces the limits of single servers. What runs goes on; `next` may have more to give afterwards. */
  setServerLimits(limits: ServerLimits): void {
    this.#serverLimits = new Map(Object.entries(limits));
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** How much of one worker runs and waits. */
  load(worker: string): { running: number; waiting: number } {
    const { running = 0, waiting = 0 } = this.#workers.get(worker) ?? {};
    return { running, waiting };
  }

  /** How much runs on one server and waits for it. */
  serverLoad(name: string): { running: number; waiting: number } {
    const server = this.#servers.get(name);
    if (!server) return { running: 0, waiting: 0 };
    let waiting = 0;
    for (const { calls } of server.lines.values()) waiting += calls.size;
    return { running: server.running, waiting };
  }

  /** Takes in a call that need not wait, as nothing else does and its places are free: it runs until `finished`. */
  startAtOnce(call: QueuedCall): boolean {
    if (this.#waiting > 0 || this.#running >= this.#limits.global) return false;
    const worker = this.#workers.get(call.worker) ?? { waiting: 0, running: 0, bytes: 0, turn: 0 };
    const server = this.#servers.get(call.server) ?? { name: call.server, running: 0, lines: new Map() };
    if (!this.#hasRoom(server) || worker.running >= this.#limits.perWorker) return false;
    if (this.#refusal(worker, server, call.bytes) !== undefined) return false;
    if (worker.running === 0) this.#workers.set(call.worker, worker);
    if (server.running === 0) this.#servers.set(call.server, server);
    worker.turn = ++this.#turn;
    worker.bytes += call.bytes;
    worker.running++;
    server.running++;
    this.#bytes += call.bytes;
    this.#running++;
    return true;
  }

  /** Takes a call in, or says why not; nothing has changed then. */
  enqueue(call: C): Refusal | undefined {
    const worker = this.#workers.get(call.worker) ?? { waiting: 0, running: 0, bytes: 0, turn: 0 };
    const server = this.#servers.get(call.server) ?? { name: call.server, running: 0, lines: new Map() };
    const refusal = this.#refusal(worker, server, call.bytes);
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
    worker.bytes += call.bytes;
    this.#waiting++;
    this.#bytes += call.bytes;
    return undefined;
  }

  /** Takes the call whose turn it is; it runs until `finished`. `undefined` if none can start now. */
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

  /** A call that `next` gave, or that started at once, has ended. */
  finished(call: QueuedCall): void {
    const worker = this.#workers.get(call.worker)!;
    const server = this.#servers.get(call.server)!;
    worker.running--;
    server.running--;
    this.#running--;
    this.#forget(call, worker, server);
  }

  /** Whether the call waits. */
  has(call: C): boolean {
    return this.#servers.get(call.server)?.lines.get(call.worker)?.calls.has(call) ?? false;
  }

  /** Takes a waiting call out. False if it doesn't wait. */
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

  /** Takes all waiting calls out. */
  removeAll(): C[] {
    const calls = [...this.#servers.values()].flatMap(({ lines }) =>
      [...lines.values()].flatMap((line) => [...line.calls]),
    );
    for (const call of calls) this.remove(call);
    return calls;
  }

  /**
   * A worker may hold as much as is left for the others: however many flood, there is room for one that doesn't.
   * A call that finds its places free need not wait, so a full queue does not keep it out.
   */
  #refusal(worker: Worker, server: Server<C>, bytes: number): Refusal | undefined {
    const { global, perWorker, waitingPerWorker, heldCalls, heldBytes } = this.#limits;
    const held = this.#running + this.#waiting;
    if (held === 0) return undefined;
    const startsAtOnce = this.#running < global && this.#hasRoom(server) && worker.running < perWorker;
    if (!startsAtOnce && worker.waiting >= waitingPerWorker) return 'queue_full';
    const hasRoom =
      worker.running + worker.waiting < heldCalls - held && worker.bytes + bytes <= heldBytes - this.#bytes;
    return hasRoom ? undefined : 'no_room';
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
    worker.bytes -= call.bytes;
    this.#bytes -= call.bytes;
    if (worker.running + worker.waiting === 0) this.#workers.delete(call.worker);
    if (server.running === 0 && server.lines.size === 0) this.#servers.delete(call.server);
  }
}

/** The worker served longest ago; of one worker's lines, the one served longest ago. */
function goesBefore<C>(a: Line<C>, b: Line<C>): boolean {
  return a.worker === b.worker ? a.turn < b.turn : a.worker.turn < b.worker.turn;
}
