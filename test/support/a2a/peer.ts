import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A message that the agent has run. */
export interface PeerRun {
  text: string;
  messageId: string;
  taskId: string;
  contextId: string;
}

/** An agent of another system, in a process of its own. See peer-main.ts for what it does with which message. */
export interface OutsidePeer extends AsyncDisposable {
  readonly url: string;
  runs(): Promise<PeerRun[]>;
  /** The texts of the messages that it has run. */
  texts(): Promise<string[]>;
  /** The ids of the tasks that it keeps on the disk. A task is kept a moment after its message began to run. */
  kept(): Promise<string[]>;
  /** The ids of the tasks that it was told to cancel. */
  canceled(): Promise<string[]>;
  /** Lets the messages that begin with `wait` or `deaf` end. */
  release(): Promise<void>;
  kill(): Promise<void>;
  /** Starts it again at the same port. */
  start(): Promise<void>;
}

/** Starts the agent in a folder, which a test may give to a later one. */
export async function startPeer(
  directory: string,
  settings: Record<string, unknown> = {},
): Promise<OutsidePeer> {
  const folder = join(directory, 'peer');
  await mkdir(folder, { recursive: true });
  const main = fileURLToPath(new URL('./peer-main.ts', import.meta.url));
  const begin = async (port: number) => {
    const child = spawn(process.execPath, [main, folder, JSON.stringify({ ...settings, port })], {
      // The SDK's server logs each refused stream.
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = once(child, 'close');
    const [chunk] = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), ended]);
    if (typeof chunk !== 'string') throw new Error(`the agent ended with ${chunk}`);
    return { child, ended, url: chunk.trim() };
  };
  let running = await begin(0);
  const { url } = running;
  const lines = async (name: string): Promise<string[]> => {
    const file = join(folder, name);
    return existsSync(file) ? (await readFile(file, 'utf8')).trim().split('\n') : [];
  };
  const kill = async (): Promise<void> => {
    running.child.kill('SIGKILL');
    await running.ended;
  };
  const runs = async (): Promise<PeerRun[]> => (await lines('runs.jsonl')).map((line) => JSON.parse(line));
  return {
    url,
    runs,
    texts: async () => (await runs()).map(({ text }) => text),
    kept: () => readdir(join(folder, 'tasks')).catch(() => []),
    canceled: () => lines('canceled'),
    release: () => writeFile(join(folder, 'release'), ''),
    kill,
    async start() {
      running = await begin(Number(new URL(url).port));
    },
    [Symbol.asyncDispose]: kill,
  };
}
