import { existsSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { StdioServerConfig } from '../config/server-config.ts';
import type { StartObstacle } from '../servers/starts/start-failure.ts';

/** The reason for which a process could not be started. The text names no path, because agents may read it. */
export interface StartProblem {
  obstacle: StartObstacle;
  reason: string;
}

/** Returns the reason why a process could not be started, from the code of the error and the files that exist. */
export function startProblem(
  { command, cwd }: Pick<StdioServerConfig, 'command' | 'cwd'>,
  error: unknown,
): StartProblem {
  const code = codeOf(error);
  const name = `its command '${basename(command)}'`;
  if ((code === 'ENOENT' || code === 'ENOTDIR') && cwd !== undefined && !isDirectory(cwd)) {
    return { obstacle: 'no_directory', reason: `its working directory is not there (${code})` };
  }
  if (code === 'ENOENT') {
    const isThere = /[\\/]/.test(command) && existsSync(resolve(cwd ?? '.', command));
    return isThere
      ? { obstacle: 'no_interpreter', reason: `${name} needs a program that was not found (ENOENT)` }
      : { obstacle: 'no_command', reason: `${name} was not found (ENOENT)` };
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return { obstacle: 'not_executable', reason: `${name} may not be executed (${code})` };
  }
  return { obstacle: 'other', reason: `could not be started (${code})` };
}

/** Returns the code of an error of the system. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown reason';
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
