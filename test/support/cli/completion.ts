import { execFile, spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { tempDir } from '@signalbox/testing';
import { signalbox } from './command-line.ts';
import { startWorkspace, type Workspace } from './workspace.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

/** The scripts that print, one a line, the words that a shell shows for the words after the script. */
const scripts: Readonly<Record<Shell, string>> = {
  bash: `source ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _signalbox; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // The functions of zsh's own system, as far as the completion calls them.
  zsh: `compdef() { }
compadd() { shift; print -rl -- "$@" }
_files() { [[ $1 == -/ ]] && print -rl -- *(/) || print -rl -- * }
_describe() { [[ $1 == -o ]] && shift; print -rl -- "\${(@)\${(P)2}%%:*}" }
source ./zsh; words=("$@"); CURRENT=$#; _signalbox`,
  fish: 'source ./fish; complete -C (string join " " -- (string escape -- $argv[1..-2]) $argv[-1])',
};

const flags = { bash: ['--norc', '-c'], zsh: ['-f', '-c'], fish: ['-N', '-c'] };
const run = promisify(execFile);

/** A folder with a file, a folder and the completion of one shell. */
export interface CompletingShell extends AsyncDisposable {
  /** Returns the words that the shell shows for the last of these, sorted. */
  shown(words: readonly string[]): Promise<string[]>;
}

export async function completingShell(shell: Shell): Promise<CompletingShell> {
  await using opened = new AsyncDisposableStack();
  const { path: cwd } = opened.use(await tempDir());
  const { stdout: script } = await signalbox(['completion', shell], { cwd });
  await writeFile(join(cwd, shell), script);
  await writeFile(join(cwd, 'my config.yaml'), '');
  await mkdir(join(cwd, 'my folder'));
  const resources = opened.move();
  return {
    async shown(words) {
      const args = [...flags[shell], scripts[shell], ...(shell === 'fish' ? [] : [shell]), ...words];
      const { stdout } = await run(shell, args, { cwd, env: { ...process.env, HOME: cwd } });
      const lines = stdout.split('\n').map((line) => line.split('\t')[0] ?? '');
      return lines.filter((line) => line !== '' && line.startsWith(words.at(-1) ?? '')).sort();
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The command, as somebody may type it who has it nowhere on the PATH. */
export const typedCommand = fileURLToPath(new URL('../../../apps/cli/bin/signalbox', import.meta.url));

/** A command, the end of its line, and the names of {@link startNamedSystem} that every shell shows for the last word. */
export const namedCompletions: readonly (readonly [
  command: string,
  end: string,
  shown: readonly string[],
])[] = [
  ['send', 'ro', ['rosa', 'roy']],
  ['tail', '--agent ro', ['rosa', 'roy']],
  ['tools list', '--role re', ['researcher']],
  ['servers show', 'pl', ['plain']],
  ['tools call', 'mcp_', ['mcp_plain__look']],
  ['token issue', '--host g', ['gpu']],
];

/** Starts a system with names to complete. */
export async function startNamedSystem(): Promise<Workspace> {
  const workspace = await startWorkspace(() =>
    JSON.stringify({
      broker: { listen: '127.0.0.1:0', data: './state' },
      mcpServers: { plain: { command: process.execPath, args: [namedToolsServer, 'look'] } },
      hosts: { gpu: ['render'], lab: ['scope'] },
      roles: { researcher: { tools: ['mcp_plain__*'] } },
    }),
  );
  await workspace.agent('rosa', 'researcher');
  await workspace.agent('roy', 'researcher');
  return workspace;
}

const namedToolsServer = fileURLToPath(new URL('./named-tools-server.ts', import.meta.url));

/** True if a program is here and tells its version. */
export function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version']).status === 0;
}

/** A typed line, and the words that every shell shows for its last word. */
export const completions: readonly (readonly [typed: string, shown: readonly string[]])[] = [
  ['signalbox to', ['token', 'tools', 'top']],
  ['signalbox token issue --pe', ['--permissions']],
  ['signalbox token issue --permissions ', ['observer', 'operator']],
  ['signalbox ps --jso', ['--json']],
  ['signalbox tools --ro', ['--role']],
  ['signalbox send --agent up --kin', ['--kind']],
  ['signalbox send --agent ', []],
  ['signalbox inbox --limit 3 sh', ['show']],
  ['signalbox completion fi', ['fish']],
];
