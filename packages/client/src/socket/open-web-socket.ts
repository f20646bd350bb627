import { realpathSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import { type BrokerAddress, subprotocol } from '@signalbox/protocol';
import { untrustedDirectory } from '@signalbox/protocol/internal';
import { WebSocket } from 'ws';
import { clientError, otherUserHint, unreachable } from '../errors.ts';

const options = { perMessageDeflate: false, maxPayload: 64 * 1024 * 1024 };

/**
 * Begins to open a WebSocket to a broker. Throws `untrusted_socket` if another user could have put the Unix socket there, and
 * `unreachable` if its directory is missing. `ca` holds the certificates of the only authorities to trust, as PEM text.
 * `openSocket` opens the connection in place of a socket.
 */
export function openWebSocket(
  { url, socketPath }: BrokerAddress,
  { ca, openSocket }: { ca?: string | undefined; openSocket?: (() => Duplex) | undefined } = {},
): WebSocket {
  if (openSocket) return overStream(openSocket);
  if (socketPath === undefined) {
    return new WebSocket(url, subprotocol, {
      ...options,
      minVersion: 'TLSv1.2',
      ...(ca !== undefined && { ca }),
    });
  }
  const path = trustedPath(url, socketPath);
  return overStream(() => connect(path));
}

function overStream(open: () => Duplex): WebSocket {
  return new WebSocket('ws://localhost/', subprotocol, {
    ...options,
    createConnection: open as () => Socket,
  });
}

/** Returns the path without symbolic links in its directory, so that the directory that was checked is the one that is used. */
function trustedPath(url: string, path: string): string {
  let directory: string;
  let problem: string | undefined;
  try {
    directory = realpathSync(dirname(path));
    problem = untrustedDirectory(statSync(directory), process.getuid?.() ?? 0);
  } catch (cause) {
    throw unreachable(url, "its directory can't be read", cause);
  }
  if (problem === undefined) return join(directory, basename(path));
  throw clientError('untrusted_socket', `nothing is sent to ${url}: its directory is not safe, ${problem}`, {
    details: { hint: `${otherUserHint}, or make the directory private with chmod go-w ${directory}` },
  });
}
