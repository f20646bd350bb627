import { execFile } from 'node:child_process';
import { SignalboxError } from '@signalbox/protocol';
import { findProgram, inheritedEnvironment } from '@signalbox/worker/internal';
import { oneLine } from '../../terminal/output.ts';
import { type Finding, ok, warning } from '../finding.ts';

/** The time that a program has to tell its version, in milliseconds. */
const versionTimeoutMs = 5000;

/** An agent CLI that was found. `version` is absent if it did not tell it. */
export interface FoundAgent {
  name: string;
  path: string;
  version?: string;
}

/** Judges the agent CLIs that were found, out of those that we know. */
export function agentFindings(found: readonly FoundAgent[], known: readonly string[]): Finding[] {
  const told = found.filter(({ version }) => version !== undefined);
  const silent = found.filter(({ version }) => version === undefined);
  const text =
    found.length === 0
      ? `none of ${known.join(', ')} is on the PATH`
      : told.map(({ name, version }) => `${name} ${version}`).join(', ');
  return [
    ...(text === '' ? [] : [ok(text)]),
    ...silent.map(({ name, path }) =>
      warning(
        `${path} did not tell its version`,
        `run it by hand, and install it again if it fails: ${name} --version`,
      ),
    ),
  ];
}

/** Finds agent CLIs on the PATH and asks each for its version. */
export async function findAgents(
  names: readonly string[],
  { env, cwd }: { env: NodeJS.ProcessEnv; cwd: string },
): Promise<FoundAgent[]> {
  const found = await Promise.all(
    names.map(async (name) => {
      const path = programOnPath(name, cwd, env.PATH);
      if (path === undefined) return [];
      const version = await versionOf(path, env);
      return [{ name, path, ...(version !== undefined && { version }) }];
    }),
  );
  return found.flat();
}

function programOnPath(name: string, cwd: string, path: string | undefined): string | undefined {
  try {
    return findProgram(name, cwd, path);
  } catch (error) {
    if (error instanceof SignalboxError) return undefined;
    throw error;
  }
}

/** Asks a program for its version, and for nothing from the network. */
function versionOf(path: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const quiet = { CI: '1', NO_COLOR: '1', NO_UPDATE_NOTIFIER: '1', DISABLE_AUTOUPDATER: '1' };
  const options = {
    timeout: versionTimeoutMs,
    killSignal: 'SIGKILL',
    env: { ...inheritedEnvironment(env), ...quiet },
    maxBuffer: 64 * 1024,
  } as const;
  return new Promise((resolve) => {
    const child = execFile(path, ['--version'], options, (error, stdout) => {
      const number = /\d+(?:\.\d+)+[^\s()]*/.exec(stdout)?.[0];
      resolve(error ? undefined : (number ?? oneLine(stdout, 40)));
    });
    child.stdin?.end();
  });
}
