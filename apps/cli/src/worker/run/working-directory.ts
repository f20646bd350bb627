import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';

/** Returns the folder that agents work in: the one that was named, or else the one that this command was started in. */
export function workingDirectory(named: string | undefined): string {
  if (named === undefined) return process.cwd();
  const path = resolve(named);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw new SignalboxError(
    'usage',
    `--cwd ${named}: there is no folder ${path}, so no agent can work in it`,
    {
      details: { hint: 'name a folder that exists, or leave --cwd out to start the agent where you are' },
    },
  );
}
