import { Transform } from 'node:stream';
import { type Budget, jsonRpcHead, plainIdPattern } from '@signalbox/protocol';

const lineFeed = 10;
/** The number of lines of one connection that are passed on before other connections have their turn. */
const linesPerTurn = 8;
/** The number of bytes that are kept of each end of a line that is too long: clients write the id of a request in one of the two. */
const keptBytes = 4096;

export interface LineGateOptions {
  maxLineBytes: number;
  /** Counts the bytes, which are read later beyond it. */
  budget: Budget;
  /** Returns monotonic milliseconds. */
  now: () => number;
  /** Called for a line that was too long and is not passed on; `id` is that of its request, where that can be told. */
  onTooLong: (id: string | number | undefined) => void;
}

/**
 * Passes whole lines on, a few at a time and no faster than a budget allows, so that what one client writes slows only itself down.
 */
export function createLineGate({ maxLineBytes, budget, now, onTooLong }: LineGateOptions): Transform {
  /** The begin of the line whose end has not come, or, if it is too long, its begin and its end. */
  let parts: Buffer[] = [];
  let bytes = 0;
  let isTooLong = false;

  function add(piece: Buffer): void {
    bytes += piece.length;
    parts.push(piece);
    if (!isTooLong && bytes <= maxLineBytes) return;
    const line = Buffer.concat(parts);
    isTooLong = true;
    parts = [Buffer.from(line.subarray(0, keptBytes)), Buffer.from(line.subarray(-keptBytes))];
  }

  /** Returns the line that ends now, unless it is too long. */
  function end(): Buffer | undefined {
    const whole = Buffer.concat(parts);
    const wasTooLong = isTooLong;
    parts = [];
    bytes = 0;
    isTooLong = false;
    if (!wasTooLong) return whole;
    onTooLong(requestIdOf(whole.toString('utf8')));
    return undefined;
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let at = 0;
      const pass = (): void => {
        for (let lines = 0; lines < linesPerTurn; lines++) {
          const feed = chunk.indexOf(lineFeed, at);
          if (feed < 0) {
            if (at < chunk.length) add(chunk.subarray(at));
            budget.spend(chunk.length);
            const waitMs = budget.isOverdrawn ? budget.waitMs(now()) : 0;
            if (waitMs === 0) done();
            else setTimeout(done, waitMs);
            return;
          }
          add(chunk.subarray(at, feed + 1));
          at = feed + 1;
          const line = end();
          if (line) this.push(line);
        }
        setImmediate(pass);
      };
      pass();
    },
  });
}

/** Finds an id that is the last member of an object, which stands right before its end. */
const idLast = new RegExp(String.raw`,\s*"id"\s*:\s*(${plainIdPattern})\s*\}\s*$`);

/** Reads the id of a request from its begin and its end. */
function requestIdOf(text: string): string | number | undefined {
  const last = idLast.exec(text)?.[1];
  const head = jsonRpcHead(text.slice(text.indexOf(' ') + 1, keptBytes));
  if (last !== undefined) return JSON.parse(last) as string | number;
  return head.method === undefined ? undefined : head.id;
}
