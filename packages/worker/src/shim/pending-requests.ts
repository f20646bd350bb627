/** A request of the client that has no answer yet. */
export interface PendingRequest {
  /** Its number among all requests of this session, from 1. */
  readonly n: number;
  /** Its id as JSON. */
  readonly idText: string;
  readonly method: string;
  readonly line: string;
  /** The epoch of the lanes of the first face that had it, if that face had one then. */
  epoch: string | undefined;
  /** The number of the last face that had it; 0 if none had. */
  sentTo: number;
  /** The number of lost faces that had it. */
  losses: number;
  /** The time when it began to wait for a face, in milliseconds; absent while there is one. */
  waitsSince: number | undefined;
  /** True for a subscription that a face has acknowledged. */
  isAcknowledged: boolean;
}

/** Limits of the requests that wait for answers. `characters` is about half or all of the bytes that it takes. */
export interface PendingLimits {
  requests: number;
  characters: number;
}

/** The requests of the client that have no answer yet, in the order in which they came. */
export class PendingRequests {
  readonly #byId = new Map<string, PendingRequest>();
  readonly #limits: PendingLimits;
  #characters = 0;

  constructor(limits: PendingLimits) {
    this.#limits = limits;
  }

  /** Returns the limit that a further request of that length would exceed. */
  excess(length: number): 'too_many' | 'too_large' | undefined {
    if (this.#byId.size >= this.#limits.requests) return 'too_many';
    return this.#characters + length > this.#limits.characters ? 'too_large' : undefined;
  }

  add(request: PendingRequest): void {
    this.#byId.set(request.idText, request);
    this.#characters += request.line.length;
  }

  find(idText: string): PendingRequest | undefined {
    return this.#byId.get(idText);
  }

  delete({ idText, line }: PendingRequest): void {
    if (this.#byId.delete(idText)) this.#characters -= line.length;
  }

  get isEmpty(): boolean {
    return this.#byId.size === 0;
  }

  /** Returns the present requests: the list does not change while they are answered. */
  list(): PendingRequest[] {
    return [...this.#byId.values()];
  }
}
