import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('./environment-server.ts', import.meta.url));

/** A stdio server that does not answer before its gate is opened. */
export interface GatedServer {
  command: string;
  args: string[];
  /** Lets the server answer. Resolves when it has begun to. */
  open(): Promise<void>;
}

/** Makes a server that waits at a named pipe of this path before it becomes the one of `environment-server.ts`. */
export function gatedServer(gate: string): GatedServer {
  execFileSync('mkfifo', [gate]);
  const wait = 'echo waiting >&2; read _ < "$0"; exec "$1" "$2"';
  return {
    command: 'sh',
    args: ['-c', wait, gate, process.execPath, script],
    open: () => writeFile(gate, '\n'),
  };
}
