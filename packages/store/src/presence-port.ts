/** A caller that is connected to a broker. */
export interface PresentCaller {
  /** Names a caller among the callers of all brokers. Keys are ordered by address. */
  readonly key: string;
  readonly agent: string;
  readonly address: string;
  readonly role: string;
  /** Epoch milliseconds. */
  readonly connectedAt: number;
  /** The status that it announced last, a value that JSON can represent; `undefined` before the first. */
  readonly status: unknown;
}

/** A caller that is connected to another broker than this one. */
export interface CallerElsewhere extends PresentCaller {
  /** The name of that broker. */
  readonly broker: string;
}

/** Selects callers of other brokers, in the order of their keys. */
export interface PresenceQuery {
  /** Only callers after this key. */
  after: string;
  limit: number;
  /** Only callers of this role. */
  role?: string | undefined;
  /** Only callers of this agent. */
  agent?: string | undefined;
  /** Only callers of roles that one of these patterns covers. A pattern may end in `*`. */
  roles?: readonly string[] | undefined;
}

/** A living broker. */
export interface LivingBroker {
  name: string;
  /** The time of its start, in epoch milliseconds of the store's clock. */
  since: number;
  /** Tells whether this broker has a direct connection to it. Absent for this broker, and where one of both takes no such connections. */
  isLinked?: boolean;
}

/** Tells the brokers on one store about each other, and about each other's callers. */
export interface PresencePort {
  /** The name of this broker among them; `undefined` if there is never another one. */
  readonly broker: string | undefined;
  /** Notes that a caller has connected to this broker, or has announced another status. Other brokers learn it a moment later. */
  present(caller: PresentCaller): void;
  /** Notes that a caller has disconnected. */
  absent(key: string): void;
  /** Returns callers of other living brokers. */
  elsewhere(query: PresenceQuery): Promise<CallerElsewhere[]>;
  /** Returns those of some agents that are connected to other brokers. */
  connectedElsewhere(agents: readonly string[]): Promise<ReadonlySet<string>>;
  /** Returns all living brokers, this one included, the oldest first; none if there is never another one. */
  brokers(): Promise<LivingBroker[]>;
  /** Sends a text to all other brokers, or to the one that is named. It may be lost on the way. */
  tellBrokers(text: string, to?: string): Promise<void>;
  /** Calls `listener` with the texts that other brokers send to this one. Those of one broker come in its order. */
  onTold(listener: (text: string) => void): void;
}
