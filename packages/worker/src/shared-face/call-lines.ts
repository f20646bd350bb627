import { isAddress, isJsonObject, jsonProblem } from '@signalbox/protocol';
import type { JSONRPCMessage, LineFormat, RequestId } from '../sdk/stdio-transport.ts';
import { callKey, isRepeatedId } from '../shim/call-key.ts';
import type { CallKey } from '../tools/face-tools.ts';
import type { FaceLine } from './face-lines.ts';

/** Matches what precedes a message: an ordinal of at most 15 digits, a plus if no other face has had it, and the epoch of a lane. */
const prefixPattern = /^(-?\d{1,15})(\+)?(?:@([!-~]{1,64}))?$/;
/** The code of a refusal for lack of memory. JSON-RPC leaves the codes from -32000 to -32099 to servers. */
export const noRoom = -32000;
export const invalidRequest = -32600;

interface OpenCall {
  key: CallKey;
  end: () => void;
  /** The memory that the call takes. */
  slot: Disposable;
}

export interface CallLinesOptions {
  consumer: string;
  /** Takes memory for a call of this many characters, or returns the reason why there is none. */
  takeRoom(characters: number): Disposable | string;
  /** Called before answers leave, with their length. */
  onLeaving(characters: number): void;
  /** Called with a call that the client cancelled while no face was there, and the id of its message at the broker. */
  onWithdrawn(id: string, call: WithdrawnCall): void;
  /** Writes a line to the shim. */
  tell(line: FaceLine): void;
}

/**
 * The lines of a shim: an ordinal, a plus for what no other face has had, for some the epoch of a lane, a space and the JSON of a message.
 * The ordinals of the tool calls that run give them their keys. Only the shim counts, so that a client cannot choose a key.
 */
export class CallLines implements LineFormat {
  readonly #options: CallLinesOptions;
  readonly #calls = new Map<RequestId, OpenCall>();
  /** The calls whose answers are sent and have not left yet. */
  #answered: OpenCall[] = [];
  #ordinal = 0;
  #isFirst = false;
  #epoch: string | undefined;
  #length = 0;

  constructor(options: CallLinesOptions) {
    this.#options = options;
  }

  jsonOf(line: string): string | undefined {
    const space = line.indexOf(' ');
    const [, ordinal, plus, epoch] = prefixPattern.exec(line.slice(0, Math.max(0, space))) ?? [];
    if (ordinal === undefined) throw new Error('the shim wrote a line without an ordinal');
    const json = line.slice(space + 1);
    const n = Number(ordinal);
    if (ordinal.startsWith('-')) {
      this.#options.onWithdrawn(callKey(this.#options.consumer, -n), withdrawnCall(json));
      return undefined;
    }
    this.#ordinal = n;
    this.#isFirst = plus !== undefined;
    this.#epoch = epoch;
    this.#length = line.length;
    return json;
  }

  received(message: JSONRPCMessage): JSONRPCMessage | undefined {
    if (!('method' in message)) return undefined;
    if ('id' in message) {
      if (message.method === 'tools/call') return this.#began(message.id as RequestId);
    } else if (message.method === 'notifications/cancelled') {
      const id = message.params?.requestId as RequestId;
      this.#calls.get(id)?.end();
      this.#close(id);
    }
    return undefined;
  }

  /** Frees the memory of all calls, because the connection is closed. */
  close(): void {
    for (const id of this.#calls.keys()) this.#close(id);
  }

  /** Takes memory for a call. Throws for a call that could not be counted by its id and its key: our shim writes no call of that kind. */
  #began(id: RequestId): JSONRPCMessage | undefined {
    if (this.#ordinal === 0) throw new Error('the shim wrote a call without an ordinal of its own');
    if (this.#calls.has(id)) throw new Error('the shim wrote a call with the id of one that is under way');
    const { consumer, takeRoom, tell } = this.#options;
    const n = this.#ordinal;
    const slot = takeRoom(this.#length);
    if (typeof slot === 'string') return refusal(id, noRoom, slot);
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const key: CallKey = {
      id: callKey(consumer, n),
      isFirst: this.#isFirst,
      over,
      isAnswered: isRepeatedId(id),
      epoch: this.#epoch,
      outlive(until) {
        tell({ kept: n });
        void until.then(() => tell({ dropped: n }));
      },
    };
    this.#calls.set(id, { key, end, slot });
    return undefined;
  }

  #close(id: RequestId): OpenCall | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    call?.slot[Symbol.dispose]();
    return call;
  }

  sent(message: JSONRPCMessage): void {
    if ('method' in message || message.id === undefined) return;
    const call = this.#close(message.id);
    if (call) this.#answered.push(call);
  }

  leaving(characters: number): (error?: Error | null) => void {
    this.#options.onLeaving(characters);
    const answered = this.#answered;
    this.#answered = [];
    return (error) => {
      // An answer that did not leave will be requested again.
      if (error) return;
      for (const { end } of answered) end();
    };
  }

  /** Returns the key of the call that began with a request. */
  keyOf(id: RequestId): CallKey | undefined {
    return this.#calls.get(id)?.key;
  }
}

/** Returns the answer to a request that is not served. */
export function refusal(id: RequestId, code: number, message: string): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code, message } };
}

/** A tool call that is withdrawn: the name of its tool, and the agent whom it asks, if it is a question. */
interface WithdrawnCall {
  tool?: string;
  asked?: string;
}

/** Reads the request of a withdrawn call. Fields that cannot be read are left out. */
function withdrawnCall(json: string): WithdrawnCall {
  const params = objectIn(json)?.params;
  if (!isJsonObject(params) || typeof params.name !== 'string') return {};
  const { name: tool, arguments: given } = params;
  const args = typeof given === 'string' ? objectIn(given) : given;
  const to = isJsonObject(args) ? args.to : undefined;
  const isQuestion = tool === 'signalbox_ask_agent' && typeof to === 'string' && isAddress(to);
  return { tool, ...(isQuestion && { asked: to }) };
}

function objectIn(text: string): Record<string, unknown> | undefined {
  if (jsonProblem(text) !== undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
