import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@signalbox/testing';
import { everyProcess, isRunning } from '../processes.ts';
import { signalbox } from './command-line.ts';

export const namedToolsServer = fileURLToPath(new URL('./named-tools-server.ts', import.meta.url));
export const broker = { listen: '127.0.0.1:0', data: './state' };

/** A folder with a configuration, whose `up` is ended with it. */
export async function project(config: object) {
  await using opened = new AsyncDisposableStack();
  const { path: cwd } = opened.use(await tempDir());
  await writeFile(join(cwd, 'signalbox.yaml'), JSON.stringify(config));
  const run = (...args: string[]) => signalbox(args, { cwd });
  opened.defer(async () => void (await run('down')));
  const resources = opened.move();
  return { cwd, data: join(cwd, 'state'), run, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Lists what runs for a data directory, MCP servers included. */
export function processesOn(data: string): number[] {
  const all = everyProcess();
  const ours = all.filter(({ text }) => text.includes(`--data ${data}`)).map(({ pid }) => pid);
  const below = all.filter(({ parent }) => ours.includes(parent)).map(({ pid }) => pid);
  return [...new Set([...ours, ...below])].filter(isRunning);
}

export interface Detached {
  pid: number;
  log: string;
  broker: { pid: number };
  orchestrator: { pid: number; tools: number };
}
