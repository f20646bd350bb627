import { jsonLine } from '@signalbox/protocol/json-lines';
import { repeatedId } from '../shared-face/call-key.ts';

/** The requests whose effect lasts for the session, beside `initialize`. */
const settingMethods: ReadonlySet<string> = new Set(['logging/setLevel']);

interface RecordedRequest {
  n: number;
  line: string;
}

/** The lines that a new face needs before it can go on with a session: the handshake and the settings that earlier faces accepted. */
export class RecordedSetup {
  #initialize: RecordedRequest | undefined;
  #initialized: string | undefined;
  readonly #settings = new Map<string, RecordedRequest>();

  /** True if the session began with a handshake, as in the revisions of MCP up to 2025-11-25. */
  get hasHandshake(): boolean {
    return this.#initialize !== undefined;
  }

  /** True if the client may be sent notifications. */
  get isInitialized(): boolean {
    return this.#initialized !== undefined;
  }

  /** Notes the client's `notifications/initialized`. */
  initialized(line: string): void {
    this.#initialized = line;
  }

  /** Notes a request that a face accepted. Requests without a lasting effect are left out. */
  accepted(method: string, request: RecordedRequest): void {
    if (method === 'initialize') this.#initialize = request;
    else if (settingMethods.has(method)) this.#settings.set(method, request);
  }

  /** Returns the first line for a new face. */
  handshake(): string {
    return repeated(this.#initialize!);
  }

  /** Returns the lines that follow when the new face has answered the handshake. */
  rest(): string[] {
    const settings = [...this.#settings.values()].map(repeated);
    return this.#initialized === undefined ? settings : [`0 ${this.#initialized}`, ...settings];
  }
}

/** Tells whether a request is one whose lasting effect is recorded when it is accepted. */
export function isSetup(method: string): boolean {
  return method === 'initialize' || settingMethods.has(method);
}

function repeated({ n, line }: RecordedRequest): string {
  return `${n} ${jsonLine({ ...JSON.parse(line), id: repeatedId(n) })}`;
}
