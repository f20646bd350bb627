import { execFile } from 'node:child_process';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { SignalboxError } from '@signalbox/protocol';
import type { TurnProgram } from './turn-program.ts';

/** The program that is asked for its help, and its working directory and environment. */
export interface ProgramStart {
  /** An absolute path. */
  program: string;
  cwd: string;
  env: Readonly<Record<string, string>>;
}

/** The longest time that a program may take to print its help, in milliseconds. */
const helpTimeoutMs = 30_000;
const maxHelpBytes = 1024 * 1024;

/** Rejects with `SignalboxError` `usage` if the installed version of a known program can't take turns. */
export async function checkTurnProgram({ needs }: TurnProgram, start: ProgramStart): Promise<void> {
  if (needs === undefined) return;
  const help = await printed(start, needs.help);
  const missing = missingWords(help, needs.words);
  if (missing.length === 0) return;
  const name = basename(start.program);
  const version = (await printed(start, ['--version'])).trim().split('\n').at(-1);
  throw new SignalboxError(
    'usage',
    `this version of ${name} can't take turns: its help (${[name, ...needs.help].join(' ')}) does not name ${missing.join(', ')}`,
    {
      details: {
        hint: `install a newer one; ${version === '' ? 'this one tells no version' : `this one is ${version}`}`,
      },
    },
  );
}

/** Returns the words that do not stand in a text as whole words. */
export function missingWords(help: string, words: readonly string[]): string[] {
  const known = new Set(help.split(/[^\w-]+/));
  return words.filter((word) => !known.has(word));
}

/** Returns everything that the program prints, also if it fails. */
async function printed({ program, cwd, env }: ProgramStart, words: readonly string[]): Promise<string> {
  const options = { cwd, env, timeout: helpTimeoutMs, maxBuffer: maxHelpBytes };
  const running = promisify(execFile)(program, words, options);
  running.child.stdin?.end();
  const ended = await running.catch((failed: { stdout?: string; stderr?: string }) => failed);
  return `${ended.stdout ?? ''}${ended.stderr ?? ''}`;
}
