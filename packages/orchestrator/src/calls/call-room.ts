import { bodyLimits, jsonSize, type ToolCallError, toolCallError } from '@signalbox/protocol';
import { type CallSizeLimits, SharedRoom, type Shortage } from '@signalbox/serving';

type Unit = 'bytes' | 'nodes';

/** The longest requests that take no room: the number of calls bounds them. */
const freeLength = 2048;
const retryAfterSeconds = 1;

/** Bounds the memory of the requests that an orchestrator handles: those of each worker, and of all together. */
export class CallRoom {
  readonly #room: SharedRoom<Unit>;

  constructor(limits: CallSizeLimits) {
    this.#room = new SharedRoom({
      bytes: { each: limits.bytesPerWorker, all: limits.bytes },
      nodes: { each: limits.nodesPerWorker, all: limits.nodes },
    });
  }

  /** Makes the slot of one request of a worker, which takes no room yet. */
  slot(worker: string): CallSlot {
    return new CallSlot(this.#room, worker);
  }
}

/** The memory that one request takes, until it is answered. */
export class CallSlot {
  readonly #room: SharedRoom<Unit>;
  readonly #worker: string;
  #bytes = 0;
  #nodes = 0;

  constructor(room: SharedRoom<Unit>, worker: string) {
    this.#room = room;
    this.#worker = worker;
  }

  /** Takes room for a JSON text and its parsed form. Returns the error for the caller if there is none. */
  take(text: string): ToolCallError | undefined {
    if (text.length <= freeLength) return undefined;
    const { nodes } = jsonSize(text, bodyLimits);
    // The reader of the request refuses it.
    if (nodes > bodyLimits.maxNodes) return undefined;
    const bytes = Buffer.byteLength(text);
    const shortage = this.#room.take(this.#worker, { bytes, nodes });
    if (shortage) return refusalOf(this.#worker, shortage);
    this.#bytes += bytes;
    this.#nodes += nodes;
    return undefined;
  }

  [Symbol.dispose](): void {
    if (this.#bytes === 0) return;
    this.#room.giveBack(this.#worker, { bytes: this.#bytes, nodes: this.#nodes });
    this.#bytes = 0;
    this.#nodes = 0;
  }
}

function refusalOf(worker: string, { unit, of, limit, isFinal }: Shortage<Unit>): ToolCallError {
  const setting = `orchestrator.limits.calls.${unit}${of === 'each' ? 'PerWorker' : ''}`;
  const what = unit === 'bytes' ? 'bytes' : 'JSON values and names';
  if (isFinal) {
    return toolCallError('invalid_arguments', `the request has more than ${limit} ${what}`, {
      mayHaveRun: false,
      hint: `Send less at once, or data as one string. The operator can raise ${setting}.`,
    });
  }
  const message =
    of === 'each'
      ? `the requests of '${worker}' that wait or run may have ${limit} ${what}, and this one would be more`
      : `the requests of all workers have ${limit} ${what}, or nearly so, and the rest is kept for others than '${worker}'`;
  return toolCallError('quota_exceeded', message, {
    mayHaveRun: false,
    retryAfterSeconds,
    hint: `This call did not run. Try it again when others are answered. The operator can raise ${setting}.`,
  });
}
