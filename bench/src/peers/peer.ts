/** The body of a message. `n` is unique in the process that makes load; `text` fills it up to the size. */
export interface Body {
  n: number;
  text: string;
}

/** The address of a peer's servers, and other facts that its clients need; JSON. */
export type Facts = { url: string } & Record<string, string>;

/** A participant in the comparison of messages. */
export interface Peer {
  /** Its name in `--peers`, beginning with its family: `redis-always`. */
  name: string;
  title: string;
  /** The durability of a message that the broker has confirmed; `written` survives only the death of the process. */
  receiptMeans: 'fsynced' | 'written';
  /** True if a confirmed message is on disk, and one that is sent again under its id is stored once: what our broker promises. */
  promisesSame?: boolean;
  /** The way in which the peer is used here; the page shows it up to the first semicolon. */
  how: string;
  /** Starts the peer's servers, with their data in `dir`. Rejects with `NotAvailable` if it cannot take part. */
  start(dir: string): Promise<PeerServers>;
  /** Its client library, loaded only by the processes that need it. */
  sides(): Promise<PeerSides>;
  /** The place of its scripts and its name there, if the harness of another checkout makes its load. */
  inOtherCheckout?: { harness: URL; name: string };
}

export interface PeerServers extends AsyncDisposable {
  version: string;
  facts: Facts;
}

/** The two ends of the messages. Each runs in a process of its own. */
export interface PeerSides {
  /** Prepares queues, streams and tables. Called once, before any client is opened. */
  prepare(facts: Facts): Promise<void>;
  /** Opens a client with its own connections; `id` is unique while the peer runs. */
  openClient(facts: Facts, id: string): Promise<PeerClient>;
  /**
   * Opens a consumer that replies to requests, and takes and acks the messages of the sink; it reports the number of each after its ack.
   */
  openConsumer(facts: Facts, onAcked: (n: number) => void): Promise<AsyncDisposable>;
  /** Empties the pile between runs, untimed, and lets the server do the tidying that it would otherwise do during the next run. */
  tidy(facts: Facts): Promise<void>;
}

export interface PeerClient extends AsyncDisposable {
  /** Sends a message and resolves with the receipt. Nobody reads the pile; the consumer reads the sink. */
  enqueue(to: 'pile' | 'sink', body: Body): Promise<unknown>;
  /** Sends a stored request, which the consumer answers with a stored reply of the same body. */
  request(body: Body): Promise<Body>;
}
