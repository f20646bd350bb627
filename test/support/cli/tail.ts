import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { cleanEnv, signalboxArgv } from './command-line.ts';

type Event = { what: string; message?: Record<string, unknown>; call?: Record<string, unknown> } & Record<
  string,
  unknown
>;

/** `signalbox tail --json` after it said that it follows, with what it printed so far. */
export async function startTail(args: readonly string[]) {
  const child = spawn(process.execPath, signalboxArgv(['tail', ...args, '--json']), {
    env: cleanEnv(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout);
  const events: Event[] = [];
  lines.on('line', (line) => events.push(JSON.parse(line)));
  const exited = once(child, 'exit');
  await Promise.race([once(lines, 'line'), exited]);
  return {
    events,
    /** `what id outcome` of each. */
    told: () =>
      events.map(({ what, message, call, outcome }) =>
        [what, message?.id ?? call?.tool, outcome ?? call?.outcome].filter(Boolean).join(' '),
      ),
    stdout: child.stdout,
    exited,
    async stop(signal: NodeJS.Signals = 'SIGINT') {
      child.kill(signal);
      return (await exited)[0] as number | null;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
