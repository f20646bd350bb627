import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { cleanEnv, type Run } from '../cli/command-line.ts';
import { root } from './documented-programs.ts';

/** A folder outside the checkout into which packages are installed, as a user does it. */
export class InstalledProject {
  readonly path: string;
  readonly #home: string;

  constructor(base: string, name: string) {
    this.path = join(base, name);
    this.#home = join(base, `${name}-home`);
    for (const folder of [this.path, this.#home]) mkdirSync(folder);
    this.write('package.json', JSON.stringify({ name, private: true, type: 'module' }));
  }

  write(file: string, content: string): void {
    const path = join(this.path, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }

  /** Installs packages: paths of tarballs, or names with versions. */
  async install(packages: readonly string[]): Promise<void> {
    const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
    const { code, stderr } = await runProgram('npm', ['install', ...flags, ...packages], {
      cwd: this.path,
      env: process.env,
    });
    if (code !== 0) throw new Error(`npm install failed: ${stderr}`);
  }

  /** Runs an installed command, or with an absolute path any other, to its end. */
  async run(command: string, args: readonly string[] = [], folder = '.'): Promise<Run> {
    return await runProgram(command, args, this.#options(folder));
  }

  /** Starts an installed command and resolves when it has printed a line that contains `ready`. */
  async start(command: string, args: readonly string[], ready: string): Promise<AsyncDisposable> {
    const child = spawn(command, args, { ...this.#options('.'), stdio: ['ignore', 'pipe', 'pipe'] });
    const closed = once(child, 'close');
    const output = outputOf(child);
    await new Promise<void>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', () => output.all().includes(ready) && resolve());
      }
      void closed.then(() => reject(new Error(`it ended before it was ready: ${output.all()}`)), reject);
    });
    return {
      async [Symbol.asyncDispose]() {
        child.kill('SIGTERM');
        await closed;
      },
    };
  }

  #options(folder: string): { cwd: string; env: NodeJS.ProcessEnv } {
    const path = [join(this.path, 'node_modules/.bin'), dirname(process.execPath), process.env.PATH];
    const cwd = join(this.path, folder);
    mkdirSync(cwd, { recursive: true });
    return {
      cwd,
      env: cleanEnv({
        HOME: this.#home,
        XDG_STATE_HOME: join(this.#home, 'state'),
        PATH: path.join(delimiter),
      }),
    };
  }
}

/** Packs all packages. Resolves with the paths of their tarballs. */
export async function packAll(to: string): Promise<string[]> {
  const { code, stdout, stderr } = await runProgram(
    process.execPath,
    [join(root, 'scripts/pack-packages.mjs'), '--to', to],
    { cwd: root, env: process.env },
  );
  if (code !== 0) throw new Error(stderr);
  return stdout.split('\n').flatMap((line) => /^(.*\.tgz) /.exec(line)?.[1] ?? []);
}

/** Returns the version of a package that the checkout has. */
export function versionOf(name: string): string {
  return JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version;
}

/** Runs a program to its end. */
export async function runProgram(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<Run> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = outputOf(child);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: output.stdout(), stderr: output.stderr() };
}

function outputOf(child: ChildProcess): Record<'stdout' | 'stderr' | 'all', () => string> {
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  }
  return { stdout: () => texts.stdout, stderr: () => texts.stderr, all: () => texts.stdout + texts.stderr };
}
