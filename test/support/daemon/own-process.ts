import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LogEvent } from '@signalbox/daemon';
import { loadConfig } from '@signalbox/daemon/config';
import { tempDir } from '@signalbox/testing';

/** A folder with a `signalbox.yaml` whose broker takes any free port, and the events that were logged. */
export async function workspace(yaml = '') {
  const directory = await tempDir();
  const configFile = join(directory.path, 'signalbox.yaml');
  const write = (text: string) =>
    writeFile(configFile, `broker: { listen: 127.0.0.1:0, data: ./state }\n${text}`);
  await write(yaml);
  const events: LogEvent[] = [];
  const log = (event: LogEvent): void => void events.push(event);
  const load = () => loadConfig(configFile);
  return {
    configFile,
    write,
    events,
    log,
    load,
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
}

export const files = (directory: string): string =>
  `mcpServers: { files: { command: "${process.execPath}", args: ["-e", "", "${directory}"] } }\n`;
