import { Transform } from 'node:stream';
import { jsonRpcHead, plainIdPattern } from '@signalbox/protocol';
import type { Budget, Slices } from '@signalbox/serving';
import type { FaceSlot } from '../http/face-room.ts';
import { HalfLine } from './half-line.ts';

const lineFeed = 10;
/** The number of bytes that are kept of each end of a line that is left out: clients write the id of a request near one of the two ends. */
const keptBytes = 4096;
/** The length up to which an unfinished line does not count as memory in use, in bytes. */
const uncountedBytes = 16 * 1024;
/** The bytes for which a line counts one unit more, read or written. */
const bytesPerUnit = 16 * 1024;

/** Returns the units of a turn that a message of this many bytes takes. */
export function unitsOf(bytes: number): number {
  return 1 + Math.floor(bytes / bytesPerUnit);
}

/** A line that is not passed on. `id` is that of its request, if it can be read. Without `noRoom` it is longer than any line may be. */
export interface LeftOutLine {
  id: string | number | undefined;
  /** The reason why it was not kept until its end. */
  noRoom?: string;
}

export interface LineGateOptions {
  maxLineBytes: number;
  /** Counts the bytes; bytes beyond the budget are read later. */
  budget: Budget;
  /** The slices of all connections of the agent. */
  slices: Slices;
  /** The memory of lines whose end has not come. */
  slot: FaceSlot;
  /** Returns monotonic milliseconds. */
  now: () => number;
  onLeftOut: (line: LeftOutLine) => void;
}

/**
 * Passes whole lines on, in the slices of their agent and no faster than a budget allows, so that what one agent writes slows only
 * itself down.
 */
export function createLineGate(options: LineGateOptions): Transform {
  const { maxLineBytes, budget, slices, slot, now, onLeftOut } = options;
  const half = new HalfLine();
  /** The two ends of a line that is left out, from the decision to leave it out until its end. */
  let leftOut: { begin: Buffer; end: Buffer; noRoom?: string } | undefined;

  /** Adds the beginning of a line, or a further piece of it. */
  function add(piece: Buffer): void {
    const why = leftOut ? undefined : problemOf(piece);
    if (!leftOut && !why) {
      half.add(piece);
      return;
    }
    const last = Buffer.concat([leftOut ? leftOut.end : half.take(), piece.subarray(-maxLineBytes)]);
    leftOut ??= { begin: Buffer.from(last.subarray(0, keptBytes)), end: last, ...why };
    leftOut.end = Buffer.from(last.subarray(-keptBytes));
    slot[Symbol.dispose]();
  }

  /** Returns the reason why a line is left out if this piece belongs to it. */
  function problemOf(piece: Buffer): { noRoom?: string } | undefined {
    const bytes = half.bytes + piece.length;
    if (bytes > maxLineBytes) return {};
    const noRoom = bytes <= uncountedBytes ? undefined : slot.takeUpTo('bytes', bytes)?.message;
    return noRoom === undefined ? undefined : { noRoom };
  }

  /** Returns true if a line that ends with this piece is whole in it. */
  function isWhole(piece: Buffer): boolean {
    return !leftOut && half.bytes === 0 && piece.length <= maxLineBytes;
  }

  /** Returns the line that ends with this piece, unless it is left out. */
  function end(piece: Buffer): Buffer | undefined {
    add(piece);
    if (!leftOut) {
      slot[Symbol.dispose]();
      return half.take();
    }
    const { begin, end: last, noRoom } = leftOut;
    leftOut = undefined;
    const id = requestIdOf(begin.toString('utf8'), last.toString('utf8'));
    onLeftOut({ id, ...(noRoom !== undefined && { noRoom }) });
    return undefined;
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let at = 0;
      const pass = (): void => {
        /** The beginning of the whole lines that are passed on together. */
        let from = at;
        const passWhole = (): void => {
          if (at > from) this.push(chunk.subarray(from, at));
        };
        for (;;) {
          if (slices.isOver) {
            passWhole();
            slices.take(pass);
            return;
          }
          const feed = chunk.indexOf(lineFeed, at);
          if (feed < 0) break;
          const piece = chunk.subarray(at, feed + 1);
          if (isWhole(piece)) {
            at = feed + 1;
            slices.spend(unitsOf(piece.length));
            continue;
          }
          passWhole();
          at = feed + 1;
          from = at;
          const line = end(piece);
          slices.spend(unitsOf(line?.length ?? 0));
          if (line) this.push(line);
        }
        passWhole();
        if (at < chunk.length) add(chunk.subarray(at));
        budget.spend(chunk.length);
        const waitMs = budget.isOverdrawn ? budget.waitMs(now()) : 0;
        if (waitMs === 0) done();
        else setTimeout(done, waitMs);
      };
      pass();
    },
    destroy(error, done) {
      slot[Symbol.dispose]();
      done(error);
    },
  });
}

/** Finds an id that is the last member of an object, right before the closing brace. */
const idLast = new RegExp(String.raw`,\s*"id"\s*:\s*(${plainIdPattern})\s*\}\s*$`);

/** Reads the id of a request from the beginning and the end of its line. */
function requestIdOf(begin: string, end: string): string | number | undefined {
  const last = idLast.exec(end)?.[1];
  const head = jsonRpcHead(begin.slice(begin.indexOf(' ') + 1));
  if (last !== undefined) return JSON.parse(last) as string | number;
  return head.method === undefined ? undefined : head.id;
}
