import { jsonLine, readJson } from '@signalbox/protocol/json-lines';
import { repeatedId } from './call-key.ts';

/** The requests whose effect lasts for the session, besides `initialize`. */
const settingMethods: ReadonlySet<string> = new Set(['logging/setLevel']);
/** The requests that change which resources the client follows. */
const followingMethods: ReadonlySet<string> = new Set(['resources/subscribe', 'resources/unsubscribe']);

interface RecordedRequest {
  n: number;
  line: string;
}

/** The lists whose changes a face announces to its client. */
export const listKinds = ['tools', 'prompts', 'resources'] as const;
export type ListKind = (typeof listKinds)[number];

/**
 * The lines that a new face needs before it can continue a session: the handshake, the settings that earlier faces accepted, and the
 * resources that the client follows.
 */
export class RecordedSetup {
  #initialize: RecordedRequest | undefined;
  #initialized: string | undefined;
  readonly #settings = new Map<string, RecordedRequest>();
  /** The subscriptions that last, by the URI of their resource. The face bounds their number. */
  readonly #followed = new Map<unknown, RecordedRequest>();
  #listKinds: readonly ListKind[] = [];

  /** True if the session began with a handshake, as in the revisions of MCP up to 2025-11-25. */
  get hasHandshake(): boolean {
    return this.#initialize !== undefined;
  }

  /** True if the client may be sent notifications. */
  get isInitialized(): boolean {
    return this.#initialized !== undefined;
  }

  /** Records the client's `notifications/initialized`. */
  initialized(line: string): void {
    this.#initialized = line;
  }

  /** Records a request that a face accepted. Requests without a lasting effect are left out. */
  accepted(method: string, request: RecordedRequest): void {
    if (method === 'initialize') this.#initialize = request;
    else if (method === 'resources/subscribe') this.#followed.set(uriOf(request), request);
    else if (method === 'resources/unsubscribe') this.#followed.delete(uriOf(request));
    else if (settingMethods.has(method)) this.#settings.set(method, request);
  }

  /** Records what the first face has declared to the client. */
  declared(capabilities: unknown): void {
    const declared = capabilities as Partial<Record<ListKind, { listChanged?: unknown }>> | undefined;
    this.#listKinds = listKinds.filter((kind) => declared?.[kind]?.listChanged === true);
  }

  /** Returns the lists whose changes are announced to the client. */
  get listKinds(): readonly ListKind[] {
    return this.#listKinds;
  }

  /** Returns the first line for a new face. */
  handshake(): string {
    return repeated(this.#initialize!);
  }

  /** Returns the lines that follow when the new face has answered the handshake. */
  rest(): string[] {
    const settings = [...this.#settings.values(), ...this.#followed.values()].map(repeated);
    return this.#initialized === undefined ? settings : [`0 ${this.#initialized}`, ...settings];
  }
}

/** Returns true if a request has a lasting effect, which is recorded when the request is accepted. */
export function isSetup(method: string): boolean {
  return method === 'initialize' || settingMethods.has(method) || followingMethods.has(method);
}

function uriOf({ line }: RecordedRequest): unknown {
  return (JSON.parse(line) as { params?: { uri?: unknown } }).params?.uri;
}

function repeated({ n, line }: RecordedRequest): string {
  return `${n} ${jsonLine({ ...(readJson(line) as object), id: repeatedId(n) })}`;
}
