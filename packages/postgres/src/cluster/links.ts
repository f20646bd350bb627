import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import tls from 'node:tls';
import { HandshakeQueue } from '@signalbox/serving/tls';
import { type LoggedMessage, StoreError } from '@signalbox/store/rules';

/** One broker tells another one that something was stored, and in which inbox. Without the inbox, the other one must look. */
export interface News {
  /** The number of the row that says the same. */
  row?: number;
  inbox?: string;
  /** The messages that were stored, each with the highest number of an earlier one. Absent ones are read from the table. */
  stored?: readonly { message: LoggedMessage; after: number }[];
}

/** A living broker, with the addresses at which it takes links. */
export interface LinkedBroker {
  incarnation: number;
  addresses: readonly string[];
}

/** The dependencies of {@link Links}. */
export interface LinksOptions {
  /** The incarnation of this broker. */
  incarnation: number;
  /** The secret that the brokers on the schema share, and no others, not even those on a copy of it. */
  secret: string;
  /** The address at which other brokers reach this one; port 0 stands for any free one. With `false` there are no links. */
  listen: { host: string; port: number } | false;
  /** Called with what another broker tells. */
  onNews: (news: readonly News[]) => void;
  /** Returns monotonic milliseconds. */
  monotonic?: (() => number) | undefined;
}

/** The most characters that are not sent yet. Beyond it, brokers are told through the database. */
const maxUnsent = 4 * 1024 * 1024;
/** The most bytes of messages that are told at once. Further ones are read from the table. */
const maxStored = 1024 * 1024;
/** The most characters of a line. */
const maxLine = 32 * 1024 * 1024;
/** The most connections that are accepted. */
const maxAccepted = 64;
/** The handshakes that are begun a second, as each takes a third of a millisecond of the processor and anybody can ask for one. */
const handshakesPerSecond = 20;
/** The time in which a connection must be made, in milliseconds. */
const connectMs = 2000;
/** The time without an answer after which a broker is out of reach, in milliseconds. */
const silentMs = 3000;
/** The time without a word after which an accepted connection is closed, in milliseconds. */
const idleMs = 10_000;

/** Both sides prove that they know a key, and all is encrypted: links need no certificates. Node.js has these keys for TLS 1.2 only. */
const protocol = {
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
} as const;

/**
 * Direct connections to the other brokers. A link carries nothing that is not committed: it tells news sooner than a notification, and
 * spares the read of a message. Where there is none, brokers are told through the database, and what is lost on a link is found there. A
 * broker connects to each other one for what it tells that one; an empty line asks for a sign of life, and is the answer, too.
 */
export class Links implements Disposable {
  /** The addresses at which this broker takes links. */
  addresses: readonly string[] = [];
  readonly #options: LinksOptions;
  readonly #server: Server;
  readonly #tls: tls.Server;
  readonly #handshakes: HandshakeQueue;
  /** The connections that are encrypted, or whose handshake has not begun. */
  readonly #accepted = new Set<Socket>();
  readonly #links = new Map<number, Link>();

  private constructor(options: LinksOptions) {
    this.#options = options;
    const { incarnation, secret } = options;
    const key = keyOf(secret, incarnation);
    const pskCallback = (_socket: tls.TLSSocket, identity: string) =>
      identity === String(incarnation) ? key : null;
    this.#tls = tls.createServer({ ...protocol, handshakeTimeout: connectMs, pskCallback }, (socket) =>
      this.#accept(socket),
    );
    // One that does not know the key, or says nothing for a while.
    this.#tls.on('tlsClientError', (_error, socket) => socket.destroy());
    this.#handshakes = new HandshakeQueue({
      perSecond: handshakesPerSecond,
      monotonic: options.monotonic ?? (() => performance.now()),
      after: (ms, work) => void (ms === 0 ? setImmediate(work) : setTimeout(work, ms)),
    });
    this.#server = createServer((socket) => this.#admit(socket));
    this.#server.maxConnections = maxAccepted;
  }

  /** Takes links from now on. Rejects with a `StoreError` if the address can't be used. */
  static async open(options: LinksOptions): Promise<Links> {
    const links = new Links(options);
    const { listen } = options;
    if (listen === false) return links;
    const server = links.#server;
    try {
      server.listen(listen.port, listen.host);
      await once(server, 'listening');
    } catch (error) {
      const text = `broker.store.link: cannot listen on ${listen.host}, port ${listen.port} (${(error as Error).message}). Name a free address of this machine, or false.`;
      throw new StoreError('store_refused', text, error);
    }
    // A connection could not be accepted, for example because there are too many open files: brokers are told through the database.
    server.on('error', () => {});
    const { port } = server.address() as AddressInfo;
    links.addresses = hostsOf(listen.host).map((host) => `${host} ${port}`);
    return links;
  }

  /** Keeps a link to each of these brokers, and to no other one. To be called repeatedly. */
  follow(brokers: readonly LinkedBroker[]): void {
    const { secret, listen, monotonic = () => performance.now() } = this.#options;
    if (listen === false) return;
    const living = new Set(brokers.map(({ incarnation }) => incarnation));
    for (const [incarnation, link] of this.#links)
      if (!living.has(incarnation)) {
        link.close();
        this.#links.delete(incarnation);
      }
    for (const broker of brokers) {
      const { incarnation } = broker;
      const link = this.#links.get(incarnation) ?? new Link(incarnation, keyOf(secret, incarnation));
      this.#links.set(incarnation, link);
      link.keep(broker.addresses, monotonic());
    }
  }

  /** Tells whether there is a link to a broker. */
  has(incarnation: number): boolean {
    return this.#links.get(incarnation)?.isOpen ?? false;
  }

  /** Tells a broker news. Returns false if it must be told through the database. */
  tell(incarnation: number, news: readonly News[]): boolean {
    return this.#links.get(incarnation)?.tell(news) ?? false;
  }

  /** Begins the handshake of a connection when it has asked for one and its turn has come. */
  #admit(socket: Socket): void {
    const { remoteAddress = '' } = socket;
    const end = (): void => void socket.destroy();
    this.#accepted.add(socket);
    socket.setTimeout(connectMs, end);
    socket.on('error', end);
    socket.on('close', () => this.#accepted.delete(socket));
    socket.once('data', (first) => {
      socket.pause();
      socket.unshift(first);
      this.#handshakes.add(remoteAddress, () => {
        if (socket.destroyed) return false;
        this.#accepted.delete(socket);
        socket.setTimeout(0);
        socket.off('timeout', end);
        this.#tls.emit('connection', socket);
        return true;
      });
    });
  }

  #accept(socket: tls.TLSSocket): void {
    this.#accepted.add(socket);
    socket.setNoDelay(true);
    socket.setEncoding('utf8');
    socket.setTimeout(idleMs, () => socket.destroy());
    let rest = '';
    socket.on('error', () => {});
    socket.on('close', () => this.#accepted.delete(socket));
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > maxLine) socket.destroy();
      for (const line of lines)
        if (line === '') socket.write('\n');
        else this.#options.onNews(JSON.parse(line) as News[]);
    });
  }

  [Symbol.dispose](): void {
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
    for (const socket of this.#accepted) socket.destroy();
    // Handshakes that have begun may take a while.
    this.#server.close();
  }
}

/** The connection over which this broker tells another one news. */
class Link {
  readonly #identity: string;
  readonly #psk: Buffer;
  #socket: tls.TLSSocket | undefined;
  isOpen = false;
  /** The time of the question for a sign of life that was not answered yet. */
  #askedAt: number | undefined;
  #attempts = 0;

  constructor(incarnation: number, psk: Buffer) {
    this.#identity = String(incarnation);
    this.#psk = psk;
  }

  /** Connects to the next of the addresses if there is no connection, or asks for a sign of life. */
  keep(addresses: readonly string[], now: number): void {
    const socket = this.#socket;
    if (!socket) {
      if (addresses.length > 0) this.#connect(addresses[this.#attempts++ % addresses.length]!);
    } else if (this.#askedAt !== undefined) {
      if (now - this.#askedAt > silentMs) socket.destroy();
    } else if (this.isOpen) {
      this.#askedAt = now;
      socket.write('\n');
    }
  }

  tell(news: readonly News[]): boolean {
    const socket = this.#socket;
    if (!this.isOpen || !socket || socket.writableLength > maxUnsent) return false;
    let left = maxStored;
    const told = news.map(({ stored, ...where }): News => {
      left -= stored?.reduce((bytes, { message }) => bytes + message.size, 0) ?? 0;
      return left < 0 || !stored ? where : { ...where, stored };
    });
    socket.write(`${JSON.stringify(told)}\n`);
    return true;
  }

  close(): void {
    this.#socket?.destroy();
  }

  #connect(address: string): void {
    const [host, text] = address.split(' ');
    const port = Number(text);
    // An address that somebody else has written must not end the look at the living brokers.
    if (!(port > 0 && port < 65_536)) return;
    const identity = this.#identity;
    const socket = tls.connect({
      ...protocol,
      host: host!,
      port,
      pskCallback: () => ({ psk: this.#psk, identity }),
      // The key shows which broker it is.
      checkServerIdentity: () => undefined,
    });
    this.#socket = socket;
    this.#askedAt = undefined;
    socket.setNoDelay(true);
    socket.setTimeout(connectMs, () => socket.destroy());
    socket.on('secureConnect', () => {
      socket.setTimeout(0);
      this.isOpen = true;
    });
    socket.on('data', () => {
      this.#askedAt = undefined;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isOpen = false;
      this.#socket = undefined;
    });
  }
}

/** Returns the hosts by which other brokers may reach a listener. Those of other machines come first. */
function hostsOf(host: string): string[] {
  if (host !== '0.0.0.0' && host !== '::') return [host];
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const usable = all.filter(({ address, family }) =>
    family === 'IPv4' ? true : host === '::' && !address.startsWith('fe80:'),
  );
  return usable
    .sort((one, other) => Number(one.internal) - Number(other.internal))
    .map(({ address }) => address);
}

/** Returns the key with which a broker takes links. That of an earlier one, or of another one at its address, is another key. */
function keyOf(secret: string, incarnation: number): Buffer {
  return createHmac('sha256', secret).update(`link ${incarnation}`).digest();
}
