import { connect } from 'node:net';
import { JsonLineReader } from '@signalbox/protocol/json-lines';
import type { FaceHello, FaceLine, FaceRefusal } from '../shared-face/face-lines.ts';
import { LineWriter } from './line-writer.ts';
import { type FacePlace, trustedFace } from './trusted-face.ts';

export interface FaceLinkEvents {
  onLine(line: string): void;
  /** Lines were read, or what waited was written. */
  onFlow(): void;
  /** The connection has ended. Called once. */
  onLost(): void;
}

/** A connection to a face that has welcomed the session. */
export interface FaceLink {
  write(line: string): void;
  /** True if the face should be written no more until it has read. */
  readonly isFull: boolean;
  /** Reads on, or reads nothing for now. */
  setReading(reads: boolean): void;
  /** Says that nothing more comes. The face ends the connection then. */
  end(): void;
  destroy(): void;
}

/** The outcome of a try to connect. All are absent if no face answered. */
export interface LinkOutcome {
  link?: FaceLink;
  refusal?: FaceRefusal;
  /** The reason why nothing was sent there. */
  untrusted?: string;
}

/**
 * Connects to the face at a Unix socket and says whose session it is, if no other user can have put the socket there. `timeoutMs` is how long its answer may take: it connects to the
 * broker first. `signal` ends the try, not the connection. Never rejects.
 */
export function openFaceLink(
  path: string,
  hello: FaceHello,
  { timeoutMs, signal, ...events }: FaceLinkEvents & { timeoutMs: number; signal: AbortSignal },
): Promise<LinkOutcome> {
  const place = placeOf(path);
  if (!place || 'untrusted' in place) return Promise.resolve(place ?? {});
  const { promise, resolve } = Promise.withResolvers<LinkOutcome>();
  const socket = connect(place);
  const lines = new JsonLineReader();
  const writer = new LineWriter(socket);
  const link: FaceLink = {
    write: (line) => writer.write(line),
    get isFull() {
      return writer.isFull;
    },
    setReading: (reads) => (reads ? socket.resume() : socket.pause()),
    end: () => socket.end(),
    destroy: () => socket.destroy(),
  };
  let isWelcome = false;
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const giveUp = (): void => {
    if (!isWelcome) socket.destroy();
  };
  signal.addEventListener('abort', giveUp, { once: true });
  const greeted = (line: string): void => {
    clearTimeout(timer);
    const refusal = refusalIn(line);
    isWelcome = refusal === undefined;
    resolve(refusal ? { refusal } : { link });
  };
  socket
    .once('connect', () => socket.write(`${JSON.stringify(hello)}\n`))
    .on('data', (chunk) => {
      try {
        for (const line of lines.push(chunk)) {
          if (isWelcome) events.onLine(line);
          else greeted(line);
        }
      } catch {
        // A line that is too long, or no JSON: nothing can be done with such a face.
        socket.destroy();
      }
      if (isWelcome) events.onFlow();
    })
    .on('drain', events.onFlow)
    .on('error', () => {
      // 'close' follows.
    })
    .once('close', () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      if (isWelcome) events.onLost();
      else resolve({});
    });
  return promise;
}

function placeOf(path: string): FacePlace | undefined {
  try {
    return trustedFace(path);
  } catch {
    // The face's directory is gone with it.
    return undefined;
  }
}

function refusalIn(line: string): FaceRefusal | undefined {
  const first = JSON.parse(line) as FaceLine;
  if ('refused' in first) return first.refused;
  if ('welcome' in first) return undefined;
  throw new TypeError('this is no greeting of a face');
}
