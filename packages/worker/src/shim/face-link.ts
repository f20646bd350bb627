import { connect } from 'node:net';
import { JsonLineReader } from '@signalbox/protocol/json-lines';
import { LineWriter } from '@signalbox/serving';
import type { FaceHello, FaceLine, FaceRefusal } from '../shared-face/face-lines.ts';
import { type FacePlace, trustedFace } from './trusted-face.ts';

export interface FaceLinkEvents {
  onLine(line: string): void;
  /** Called when lines were read, or when the waiting lines were written. */
  onFlow(): void;
  /** Called if the face welcomes the session later, because its process takes no turn now. */
  onWaits(): void;
  /** Called once, when the connection has ended. */
  onLost(): void;
}

/** A connection to a face that has welcomed the session. */
export interface FaceLink {
  write(line: string): void;
  /** True if nothing more should be written to the face until it has read. */
  readonly isFull: boolean;
  /** Resumes or pauses reading. */
  setReading(reads: boolean): void;
  /** Says that no more lines come. The face then ends the connection. */
  end(): void;
  destroy(): void;
}

/** The result of a try to connect. All fields are absent if no face answered. */
export interface LinkOutcome {
  link?: FaceLink;
  refusal?: FaceRefusal;
  /** The reason why nothing was sent to the socket. */
  untrusted?: string;
}

/**
 * Connects to the face at a Unix socket and names its session, if no other user can have put the socket there. `timeoutMs` is the longest
 * wait for its answer: it connects to the broker first. `signal` ends the try, not the connection. Never rejects.
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
    end: () => {
      writer.flush();
      socket.end();
    },
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
    const first = JSON.parse(line) as FaceLine;
    if ('waits' in first) {
      events.onWaits();
      return;
    }
    const refusal = refusalIn(first);
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
        // The line is too long or not JSON: this face can't be used.
        socket.destroy();
      }
      if (isWelcome) events.onFlow();
    })
    .on('drain', events.onFlow)
    .on('error', () => {
      // The event 'close' follows.
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

function refusalIn(first: FaceLine): FaceRefusal | undefined {
  if ('refused' in first) return first.refused;
  if ('welcome' in first) return undefined;
  throw new TypeError('this is no greeting of a face');
}
