import { defaultFaceLimits, type FaceLimits } from '@signalbox/serving';
import { FaceRoom } from '../http/face-room.ts';
import type { ShimAgentOptions } from './connect-shim-agent.ts';
import type { FaceSessionOptions } from './face-session.ts';
import { openFaceSocket } from './face-socket.ts';
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
  /** Ends all sessions, but not their calls, which the next face continues, and removes the socket. */
  close(): Promise<void>;
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
  async function end(): Promise<void> {
    const stopped = socket.close();
    await shims.end();
    await stopped;
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
    close,
    [Symbol.asyncDispose]: close,
  };
}
