import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** The name of the face's socket, which lies beside that of its broker. */
export const faceSocketName = 'face.sock';

/** The facts that a shared face announces when it is ready. */
export interface FaceReady {
  socket: string;
  broker: string;
  /** The address at which it serves MCP over HTTP, if it does. */
  url?: string;
}

/**
 * Notes beside a face's socket, until it is disposed, that this process keeps a face there. A place that can't be written to gets no note.
 */
export function faceKeeper(socket: string): Disposable {
  const file = keeperFile(socket);
  try {
    writeFileSync(file, `${process.pid}\n`, { mode: 0o600 });
  } catch {
    // Only workers that start before the face listens need the note.
  }
  return { [Symbol.dispose]: () => rmSync(file, { force: true }) };
}

/**
 * Tells whether a face can be expected at a place: a socket is there, perhaps of a dead one, or the process that keeps a face there lives.
 */
export function isFaceExpected(socket: string): boolean {
  if (existsSync(socket)) return true;
  try {
    const pid = Number(readFileSync(keeperFile(socket), 'utf8'));
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}

function keeperFile(socket: string): string {
  return `${socket}.pid`;
}
