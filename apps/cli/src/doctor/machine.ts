import { statfs } from 'node:fs/promises';
import { homedir } from 'node:os';
import { openFileLimit } from '@signalbox/broker/descriptors';

/** The facts about a file system. `type` is the number that statfs(2) gives on Linux. */
export interface FileSystemFacts {
  type: number;
  freeBytes: number;
  /** Files that it has, and files that can still be made; both are 0 where it does not count them. */
  files: number;
  freeFiles: number;
}

/** The facts of this machine and process on which checks depend. */
export interface Machine {
  nodeVersion: string;
  platform: NodeJS.Platform;
  env: NodeJS.ProcessEnv;
  cwd: string;
  home: string;
  /** The user of this process; `undefined` where the system has none. */
  uid: number | undefined;
  /** Epoch milliseconds of the wall clock. */
  now(): number;
  /** Epoch milliseconds that run on steadily from the start of the process, also when the wall clock is set. */
  steadyNow(): number;
  /** The number of files and sockets that this process may open. */
  openFiles(): number;
  fileSystemOf(path: string): Promise<FileSystemFacts>;
}

/** Returns the facts of the machine that this process runs on. */
export function thisMachine(): Machine {
  return {
    nodeVersion: process.versions.node,
    platform: process.platform,
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    uid: process.getuid?.(),
    now: Date.now,
    steadyNow: () => performance.timeOrigin + performance.now(),
    openFiles: openFileLimit,
    fileSystemOf: async (path) => {
      const { type, bavail, bsize, files, ffree } = await statfs(path);
      return { type, freeBytes: bavail * bsize, files, freeFiles: ffree };
    },
  };
}
