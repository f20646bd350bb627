import { defaultFaceLimits, type FaceLimits } from '@signalbox/serving';
import { FaceRoom } from '../http/face-room.ts';
import type { ShimAgentOptions } from './connect-shim-agent.ts';
import type { FaceSessionOptions } from './face-session.ts';
import { openFaceSocket } from './face-socket.ts';
import { Seat } from './seat.ts';
import { type FaceSessionEvent, ShimConnections } from './shim-connections.ts';

/** Options of a shared face: its socket, and the tools of its agents. */
export interface SharedFaceOptions
  extends Pick<ShimAgentOptions, 'connect'>,
    Partial<Pick<ShimAgentOptions, 'aliases' | 'connectTimeoutMs'>>,
    Pick<FaceSessionOptions, 'face'>,
    Partial<Pick<FaceSessionOptions, 'log'>> {
  /** Limits that replace those of `defaultFaceLimits`. */
  limits?: Partial<FaceLimits>;
  /** The longest time for a shim's first line, in milliseconds; default 5 s. */
  helloTimeoutMs?: number;
  /** The path of the Unix socket. */
  path: string;
  /** Called with the events of the agents' sessions. */
  onSession?: (event: FaceSessionEvent) => void;
  /** Returns monotonic milliseconds. */
  now?: () => number;
}

/** A face for the shims of many agents. */
export interface SharedFace extends AsyncDisposable {
  /** The path of the socket, without symbolic links in its directory. */
  readonly path: string;
  /** The number of shims that are served. */
  readonly sessionCount: number;
  /** Listens on a further socket, for the shims of one process that takes several turns. Rejects as {@link openFaceSocket}. */
  openSeat(path: string): Promise<FaceSeat>;
  /** Ends all sessions, but not their calls, which the next face continues, and removes the socket. */
  close(): Promise<void>;
}

/** The place of one process, and the path of its socket. Disposing it ends the sessions of its shims. */
export interface FaceSeat extends AsyncDisposable {
  readonly seat: Seat;
  readonly path: string;
}

const defaultConnectTimeoutMs = 10_000;
const defaultHelloTimeoutMs = 5_000;

/**
 * Serves the tools of many agents on a Unix socket, one connection for each shim. The broker decides about each shim's token.
 * Rejects as {@link openFaceSocket}.
 */
export async function serveSharedFace(options: SharedFaceOptions): Promise<SharedFace> {
  const limits = { ...defaultFaceLimits, ...options.limits };
  const shims = new ShimConnections({
    connect: options.connect,
    aliases: options.aliases ?? [],
    connectTimeoutMs: options.connectTimeoutMs ?? defaultConnectTimeoutMs,
    helloTimeoutMs: options.helloTimeoutMs ?? defaultHelloTimeoutMs,
    face: options.face,
    limits,
    room: new FaceRoom(limits),
    onSession: options.onSession ?? (() => {}),
    now: options.now ?? (() => performance.now()),
    log: options.log ?? (() => {}),
  });
  const socket = await openFaceSocket(options.path, (connection) => shims.accept(connection));
  const seats = new Set<FaceSeat>();
  async function end(): Promise<void> {
    const stopped = [socket.close(), ...[...seats].map((seat) => seat[Symbol.asyncDispose]())];
    await shims.end();
    await Promise.all(stopped);
  }
  let ended: Promise<void> | undefined;
  const close = () => {
    ended ??= end();
    return ended;
  };
  return {
    path: socket.path,
    get sessionCount() {
      return shims.sessionCount;
    },
    async openSeat(path) {
      const seat = new Seat(limits.sessionsPerAgent);
      const own = await openFaceSocket(path, (connection) => shims.accept(connection, seat));
      const place: FaceSeat = {
        seat,
        path: own.path,
        async [Symbol.asyncDispose]() {
          if (!seats.delete(place)) return;
          const stopped = own.close();
          await seat.close();
          await stopped;
        },
      };
      seats.add(place);
      return place;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
