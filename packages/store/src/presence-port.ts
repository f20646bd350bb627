/** A caller that is connected to a broker. */
export interface PresentCaller {
  /** Names one caller of all brokers, and orders them by their addresses. */
  readonly key: string;
  readonly agent: string;
  readonly address: string;
  readonly role: string;
  /** Epoch milliseconds. */
  readonly connectedAt: number;
  /** The status that it announced last, which can be written as JSON; `undefined` before the first. */
  readonly status: unknown;
}

/** A caller that is connected to another broker. */
export interface CallerElsewhere extends PresentCaller {
  /** The name of that broker. */
  readonly broker: string;
}

/** Asks for callers of other brokers in the order of their keys. */
export interface PresenceQuery {
  /** Only those behind this key. */
  after: string;
  limit: number;
  /** Only those of this role. */
  role?: string | undefined;
  /** Only those of roles that one of these patterns covers, which may end in `*`. */
  roles?: readonly string[] | undefined;
}

/** A broker that lives. */
export interface LivingBroker {
  name: string;
  /** The time at which it began, in epoch milliseconds of the store. */
  since: number;
}

/** Lets the brokers on one store know of each other, and of each other's callers. */
export interface PresencePort {
  /** The name of this broker among them; `undefined` if there never is another. */
  readonly broker: string | undefined;
  /** Notes that a caller has connected to this broker, or has announced another status. Others see it a moment later. */
  present(caller: PresentCaller): void;
  /** Notes that a caller is gone. */
  absent(key: string): void;
  /** Returns callers of other brokers that live. */
  elsewhere(query: PresenceQuery): Promise<CallerElsewhere[]>;
  /** Tells which of some agents are connected to other brokers. */
  connectedElsewhere(agents: readonly string[]): Promise<ReadonlySet<string>>;
  /** Returns all brokers that live, this one among them, the oldest first; none if there never is another. */
  brokers(): Promise<LivingBroker[]>;
  /** Tells all other brokers something, or the one with a name. It may be lost on the way. */
  tellBrokers(text: string, to?: string): Promise<void>;
  /** Has `listener` called with what other brokers tell this one, in the order in which each of them told it. */
  onTold(listener: (text: string) => void): void;
}
