import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { WarmCommand } from './warm-process.ts';

/** The folder of the bundle whose command lines this process runs. */
const [, , bundle = ''] = process.argv;
const { run } = createRequire(import.meta.url)(join(bundle, 'run.js')) as {
  run(argv: readonly string[]): Promise<number>;
};
const listeners = () =>
  process.eventNames().flatMap((name) => process.listeners(name as 'exit').map((one) => ({ name, one })));

// Each command line finds the folder, the environment and the listeners of a process that was started for it.
for await (const line of createInterface({ input: new Socket({ fd: 3 }) })) {
  const { args, cwd, env, mark } = JSON.parse(line) as WarmCommand;
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.exitCode = undefined;
  const before = new Set(listeners().map(({ one }) => one));
  const code = await run(args);
  for (const { name, one } of listeners()) if (!before.has(one)) process.removeListener(name, one);
  process.stderr.write(mark);
  process.stdout.write(`${mark}${code};`);
}
// The process that sent them has ended.
process.exit();
