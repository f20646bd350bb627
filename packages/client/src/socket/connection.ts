import {
  type BrokerFrame,
  type CloseCode,
  closeCodeOf,
  closeCodes,
  type ErrorCode,
  type ErrorFrame,
  encodeFrame,
  errorCodes,
  FrameCursor,
  parseBrokerFrame,
  protocolVersion,
  SignalboxError,
  type WelcomeFrame,
} from '@signalbox/protocol';
import { WebSocket } from 'ws';
import type { Log } from '../broker-client.ts';
import type { Clock } from '../clock.ts';
import { brokerError, clientError, unreachable } from '../errors.ts';
import { plainProblem, tlsProblem } from './tls-problem.ts';

/** The reason why a connection ended, and the facts for the next attempt. */
export interface Loss {
  error: SignalboxError;
  /**
   * The reason why another attempt can't help; false if one can. `client`: the broker does not accept this client any more. `address`: a
   * connection there would not be safe. `address at first`: the same, but a client that was connected before tries again, since a
   * certificate that was good is likely to be renewed.
   */
  final: false | 'client' | 'address' | 'address at first';
  /** Time since the welcome; 0 without one. */
  uptimeMs: number;
  /** The wait that the broker asked for before the next connection; 0 if it asked for none. */
  reconnectAfterMs: number;
}

export interface ConnectionOptions {
  /** A WebSocket that is being opened. */
  socket: WebSocket;
  /** The broker's address, for texts. */
  url: string;
  token: string;
  /** The client's address: `agent` or `agent#sub`. */
  address: string;
  /** Limit of the handshake, up to the welcome. */
  timeoutMs: number;
  clock: Clock;
  log: Log;
  onWelcome(welcome: WelcomeFrame): void;
  /** Called with every frame but the welcome, and its body line. */
  onFrame(frame: BrokerFrame, body: string | undefined): void;
  /** Called once, when the connection has ended other than by `close`. */
  onLost(loss: Loss): void;
}

/** A connection is given up when it was silent for two heartbeats and this much longer. */
const silenceSlackMs = 1_000;
const silenceChecksPerHeartbeat = 3;
const closeTimeoutMs = 1_000;

/**
 * One WebSocket to the broker: the hello, frames in and out, and the check for silence. It is never reopened; the supervisor
 * makes a new one. After `close` it reports nothing more.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #socket: WebSocket;
  readonly #ended = Promise.withResolvers<void>();
  #cancelTimer: () => void;
  #welcomedAt: number | undefined;
  #heardAt = 0;
  #reconnectAfterMs = 0;
  #lastError: ErrorFrame | undefined;
  #cause: unknown;
  #timedOut = false;
  #isClosing = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#socket = options.socket;
    this.#cancelTimer = options.clock.startTimer(() => {
      this.#timedOut = true;
      this.#socket.terminate();
    }, options.timeoutMs);
    this.#socket.on('open', () => this.#hello());
    this.#socket.on('ping', () => this.#heard());
    this.#socket.on('error', (error) => {
      this.#cause ??= error;
    });
    this.#socket.on('unexpected-response', (_request, response) => {
      this.#cause ??=
        plainProblem(options.url, response) ?? new Error(`the answer was HTTP ${response.statusCode}`);
      response.destroy();
      this.#socket.terminate();
    });
    this.#socket.on('message', (data, isBinary) => {
      this.#heard();
      if (!isBinary && !this.#isClosing) this.#read((data as Buffer).toString());
    });
    this.#socket.on('close', (code) => this.#end(code));
  }

  /** Sends one WebSocket message; what is sent while the socket closes is lost. */
  send(text: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  /** Closes the socket after everything that was sent has left, and resolves when it is closed (after 1 s by force). */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#cancelTimer();
    this.#cancelTimer = this.#options.clock.startTimer(() => this.#socket.terminate(), closeTimeoutMs);
    this.#socket.close(1000);
    await this.#ended.promise;
  }

  #hello(): void {
    const { address, token } = this.#options;
    this.#socket.send(encodeFrame({ type: 'hello', agent: address, token, protocol: protocolVersion }));
  }

  #heard(): void {
    this.#heardAt = this.#options.clock.now();
  }

  #read(text: string): void {
    const frames = new FrameCursor(text);
    while (frames.next()) {
      const frame = parseBrokerFrame(frames.header);
      if (frame === undefined) {
        this.#options.log({ event: 'unreadable_frame', length: frames.header.length });
      } else {
        this.#handle(frame, frames.body);
      }
    }
  }

  #handle(frame: BrokerFrame, body: string | undefined): void {
    if (frame.type === 'welcome') {
      this.#cancelTimer();
      this.#welcomedAt = this.#options.clock.now();
      this.#checkSilence(frame.heartbeat_ms);
      this.#options.onWelcome(frame);
      return;
    }
    if (frame.type === 'going_away') {
      this.#reconnectAfterMs = frame.reconnect_after_ms;
      this.#options.log({ event: 'broker_going_away', reconnectAfterMs: frame.reconnect_after_ms });
    } else if (frame.type === 'error' && frame.id === undefined && frame.request_id === undefined) {
      this.#lastError = frame;
      this.#options.log({ event: 'broker_error', code: frame.code, message: frame.message });
    }
    this.#options.onFrame(frame, body);
  }

  /** The broker pings at least once a heartbeat; a socket that is silent for two is given up, even if TCP has not noticed. */
  #checkSilence(heartbeatMs: number): void {
    const { clock } = this.#options;
    const silent = (): boolean => clock.now() - this.#heardAt > 2 * heartbeatMs + silenceSlackMs;
    const everyMs = heartbeatMs / silenceChecksPerHeartbeat;
    const check = (): void => {
      this.#cancelTimer = clock.startTimer(check, everyMs);
      if (!silent()) return;
      // After a pause of this process a ping may be waiting in the socket: it is read first.
      setImmediate(() => {
        if (!silent()) return;
        this.#cause ??= clientError('connection_lost', 'the broker was silent for two heartbeats');
        this.#socket.terminate();
      });
    };
    this.#cancelTimer = clock.startTimer(check, everyMs);
  }

  #end(code: number): void {
    this.#cancelTimer();
    this.#ended.resolve();
    if (this.#isClosing) return;
    const entry = Object.hasOwn(closeCodes, code) ? closeCodes[code as CloseCode] : undefined;
    const refusal = this.#refusal();
    const isExpelled = entry?.reconnect === false;
    const error = refusal ?? this.#statedReason(code) ?? this.#reasonFromClose(code, isExpelled, entry?.name);
    const uptimeMs = this.#welcomedAt === undefined ? 0 : this.#options.clock.now() - this.#welcomedAt;
    this.#options.onLost({
      error,
      final: isExpelled ? 'client' : refusal !== undefined && 'address at first',
      uptimeMs,
      reconnectAfterMs: this.#reconnectAfterMs,
    });
  }

  /** Returns the error of a connection that failed because of its encryption. */
  #refusal(): SignalboxError | undefined {
    if (this.#welcomedAt !== undefined) return undefined;
    return this.#cause instanceof SignalboxError ? this.#cause : tlsProblem(this.#options.url, this.#cause);
  }

  /** Returns the error frame that announced this close, if one did. */
  #statedReason(code: number): SignalboxError | undefined {
    const frame = this.#lastError;
    if (frame === undefined || !Object.hasOwn(errorCodes, frame.code)) return undefined;
    return closeCodeOf(frame.code as ErrorCode) === code ? brokerError(frame) : undefined;
  }

  #reasonFromClose(code: number, final: boolean, name: string | undefined): SignalboxError {
    const { url, timeoutMs } = this.#options;
    const details = { closeCode: code };
    if (final && name !== undefined && code !== 1000) {
      return new SignalboxError(name, `the broker closed the connection: ${name}`, { details });
    }
    if (final)
      return clientError('closed_by_broker', 'the broker closed the connection for good', { details });
    const cause = this.#cause;
    if (this.#welcomedAt !== undefined) {
      return clientError('connection_lost', `the connection to ${url} was lost`, { cause, details });
    }
    const why = this.#timedOut ? `no welcome within ${timeoutMs} ms` : 'no broker answers there';
    return unreachable(url, why, cause, code);
  }
}
