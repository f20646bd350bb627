import { join } from 'node:path';
import { type FaceSeat, type SharedFaceOptions, serveSharedFace } from '../shared-face/shared-face.ts';
import type { FaceSessionEvent } from '../shared-face/shim-connections.ts';
import type { CleanupProcess } from './cleanup/cleanup-process.ts';
import { createRunDirectory, type RunRoot, removeRunDirectory } from './run-directory.ts';

/** The shared face of a supervisor, in its own process, for all agents that it runs. */
export interface RunFace extends AsyncDisposable {
  /** The path of the Unix socket. */
  readonly socket: string;
  /** Calls `listener` with the events of an agent's sessions; returns a function that removes it. */
  onSession(agent: string, listener: (event: FaceSessionEvent) => void): () => void;
  /** Opens the place of a process that takes several turns. */
  openSeat(): Promise<FaceSeat>;
}

export interface RunFaceOptions extends Omit<SharedFaceOptions, 'path' | 'onSession'> {
  /** Directories to make the face's own directory in, best first. */
  roots: readonly RunRoot[];
  /** Removes the directory if this process is killed. */
  cleanup: CleanupProcess;
}

/** This is no valid agent id, so no agent can have it. */
const cleanupName = '#face';

/**
 * Opens the face in a private directory of its own, which is removed with it. Rejects with `SignalboxError` if no private directory can be
 * made, or its path is too long for a socket.
 */
export async function openRunFace(options: RunFaceOptions): Promise<RunFace> {
  const { roots, cleanup, ...faceOptions } = options;
  const directory = await createRunDirectory(roots, false);
  cleanup.set(cleanupName, { directories: [directory] });
  const remove = async (): Promise<void> => {
    await removeRunDirectory(directory);
    cleanup.set(cleanupName, undefined);
  };
  let seats = 0;
  const listeners = new Map<string, Set<(event: FaceSessionEvent) => void>>();
  try {
    const face = await serveSharedFace({
      ...faceOptions,
      path: join(directory, 'face.sock'),
      onSession: (event) => {
        for (const listener of listeners.get(event.agent) ?? []) listener(event);
      },
    });
    return {
      socket: face.path,
      onSession(agent, listener) {
        const ofAgent = listeners.get(agent) ?? new Set();
        listeners.set(agent, ofAgent.add(listener));
        return () => ofAgent.delete(listener);
      },
      // Its name is no longer than that of the face, since the path of a socket is bounded.
      openSeat: () => face.openSeat(join(directory, `seat${(++seats).toString(36)}`)),
      async [Symbol.asyncDispose]() {
        await face.close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
