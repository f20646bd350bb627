/** The body of a message. `n` is unique in the process that makes load; `text` makes up the size. */
export interface Body {
  n: number;
  text: string;
}

/** Where a peer's servers are, and what else its clients must know; JSON. */
export type Facts = { url: string } & Record<string, string>;

/** Somebody who takes part in the comparison of messages. */
export interface Peer {
  /** Its name in `--peers`, beginning with its family: `redis-always`. */
  name: string;
  title: string;
  /** What is true of a message when its broker has confirmed it; `written` survives the death of the process only. */
  receiptMeans: 'fsynced' | 'written';
  /** How it is used here, for the document. */
  how: string;
  /** Starts its servers, with their data in `dir`. Rejects with `NotAvailable` where it cannot take part. */
  start(dir: string): Promise<PeerServers>;
  /** Its client library, loaded only by the processes that need it. */
  sides(): Promise<PeerSides>;
  /** Where its scripts are and its name there, if the harness of another checkout makes its load. */
  inOtherCheckout?: { harness: URL; name: string };
}

export interface PeerServers extends AsyncDisposable {
  version: string;
  facts: Facts;
}

/** The two ends of the messages. Each runs in a process of its own. */
export interface PeerSides {
  /** Once, before anybody opens: queues, streams, tables. */
  prepare(facts: Facts): Promise<void>;
  /** One client with its own connections; `id` is unique as long as the peer runs. */
  openClient(facts: Facts, id: string): Promise<PeerClient>;
  /** Replies to requests, and takes and acks what comes to the sink, telling the number of each after its ack. */
  openConsumer(facts: Facts, onAcked: (n: number) => void): Promise<AsyncDisposable>;
  /** Between runs, untimed: empties the pile, and lets the server tidy up what it otherwise would during the next run. */
  tidy(facts: Facts): Promise<void>;
}

export interface PeerClient extends AsyncDisposable {
  /** Resolves with the receipt. Nobody reads the pile; the consumer reads the sink. */
  enqueue(to: 'pile' | 'sink', body: Body): Promise<unknown>;
  /** A stored request, answered by the consumer with a stored reply of the same body. */
  request(body: Body): Promise<Body>;
}
