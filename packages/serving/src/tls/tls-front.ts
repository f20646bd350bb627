import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { HandshakeQueue } from './handshake-queue.ts';
import type { TlsPair } from './tls-pair.ts';

/** The options of a {@link TlsFront}. */
export interface TlsFrontOptions {
  pair: TlsPair;
  /** The time in which a connection must be encrypted, in milliseconds. */
  handshakeTimeoutMs: number;
  handshakesPerSecond: number;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  /** Called with a connection that is encrypted now, and the accepted socket below it. */
  onSecure: (socket: TLSSocket, raw: Socket) => void;
}

/** The first byte of every TLS connection: a record with a part of the handshake. */
const handshakeRecord = 0x16;

/** The answer to plain HTTP (RFC 2817, section 4.2). Clients of Signalbox know it by the header `Upgrade`. */
const plainText =
  'This port is encrypted: connect with wss:// instead of ws://, or https:// instead of http://.\n';
const plainAnswer = `HTTP/1.1 426 Upgrade Required\r\nupgrade: TLS/1.2, HTTP/1.1\r\nconnection: upgrade, close\r\ncontent-type: text/plain\r\ncontent-length: ${plainText.length}\r\n\r\n${plainText}`;

/**
 * Encrypts connections that a server accepted. A connection that begins in plain text gets an answer that says so. Handshakes are begun
 * only when their first bytes have come, and at a bounded rate.
 */
export class TlsFront {
  readonly #options: TlsFrontOptions;
  readonly #server: Server;
  readonly #queue: HandshakeQueue;
  /** The connections whose handshake has begun, by the address and port of their clients. */
  readonly #begun = new Map<string, { raw: Socket; timer: NodeJS.Timeout }>();

  constructor(options: TlsFrontOptions) {
    const { pair, handshakeTimeoutMs, handshakesPerSecond, monotonic, onSecure } = options;
    this.#options = options;
    this.#queue = new HandshakeQueue({
      perSecond: handshakesPerSecond,
      monotonic,
      after: (ms, work) => void (ms === 0 ? setImmediate(work) : setTimeout(work, ms)),
    });
    this.#server = createServer({
      ...settingsOf(pair),
      handshakeTimeout: handshakeTimeoutMs,
      ALPNProtocols: ['http/1.1'],
    });
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy());
    this.#server.on('secureConnection', (socket) => {
      const begun = this.#begun.get(peerOf(socket));
      // The socket was closed in the same turn.
      if (!begun) return void socket.destroy();
      clearTimeout(begun.timer);
      onSecure(socket, begun.raw);
    });
  }

  /** Uses another certificate and key for new connections. Throws if they can't be used. */
  setPair(pair: TlsPair): void {
    this.#server.setSecureContext(settingsOf(pair));
  }

  /** Handles a connection that was just accepted. */
  accept(raw: Socket): void {
    const peer = peerOf(raw);
    const { remoteAddress = '' } = raw;
    const timer = setTimeout(() => raw.destroy(), this.#options.handshakeTimeoutMs);
    raw.once('close', () => {
      clearTimeout(timer);
      if (this.#begun.get(peer)?.raw === raw) this.#begun.delete(peer);
    });
    raw.on('error', () => raw.destroy());
    raw.once('data', (first: Buffer) => {
      if (first[0] !== handshakeRecord) {
        raw.end(plainAnswer);
        return;
      }
      raw.pause();
      raw.unshift(first);
      this.#queue.add(remoteAddress, () => {
        if (raw.destroyed) return false;
        this.#begun.set(peer, { raw, timer });
        this.#server.emit('connection', raw);
        return true;
      });
    });
  }
}

function settingsOf(pair: TlsPair) {
  return { ...pair, minVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_RENEGOTIATION } as const;
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
