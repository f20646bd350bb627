import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { messageOf } from '@signalbox/protocol';
import { examples } from './catalogue.ts';
import { startEnvironment } from './environment.ts';

const usage = `Runs one example on a broker and an orchestrator of its own, and ends with its exit code.

  npm run example -- NAME            as it should go: exit code 0
  npm run example -- NAME --break    with something wrong, which the example must notice: exit code 1
  npm run example -- NAME --prove    one after the other on the same broker: exit code 0 if both ended so

${Object.entries(examples)
  .map(([name, { about }]) => `  ${name.padEnd(12)}${about}`)
  .join('\n')}
`;

const modes = ['--break', '--prove'];

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || args.includes('--help')) {
    process.stdout.write(usage);
    return 0;
  }
  const unknown = Object.hasOwn(examples, name) ? rest.find((arg) => !modes.includes(arg)) : name;
  if (unknown !== undefined || rest.length > 1) {
    process.stderr.write(`'${unknown ?? rest.at(-1)}' is not understood here.\n\n${usage}`);
    return 2;
  }
  try {
    return await runExample(name, rest[0]);
  } catch (thrown) {
    process.stderr.write(`the example could not be run: ${messageOf(thrown)}\n`);
    return 1;
  }
}

async function runExample(name: string, mode: string | undefined): Promise<number> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interrupted.abort());
  await using environment = await startEnvironment(name, examples[name]!.tokens);
  const runWith = (args: string[]) => runProgram(name, args, environment.env, interrupted.signal);
  if (mode !== '--prove') return await runWith(mode === undefined ? [] : [mode]);
  const code = await runWith([]);
  if (code !== 0) return code;
  process.stdout.write('\nAnd with something wrong:\n');
  const broken = await runWith(['--break']);
  if (broken !== 0) return interrupted.signal.aborted ? broken : 0;
  process.stdout.write('NOT NOTICED: the example ended with 0 although something was wrong.\n');
  return 1;
}

/** Runs the example's program to its end; ends it when `signal` aborts. */
async function runProgram(
  name: string,
  args: string[],
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<number> {
  if (signal.aborted) return 130;
  const program = fileURLToPath(new URL(`./${name}/main.ts`, import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, program, ...args], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const end = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', end);
  const [code] = (await once(child, 'exit')) as [number | null];
  signal.removeEventListener('abort', end);
  return signal.aborted ? 130 : (code ?? 1);
}
