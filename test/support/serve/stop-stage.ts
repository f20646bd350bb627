import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Run, startRun } from '../runner/worker-run.ts';
import { startAcpStage } from './acp-stage.ts';

/** Returns the events of a serve with this name. */
export const eventsOf = (run: Run, name: string) => run.events().filter(({ event }) => event === name);

/** A stage with a person who may stop turns. The name in reasons is that of her token. */
export async function startStopStage() {
  const stage = await startAcpStage();
  const { env: ana } = await stage.workspace.agent('operator.ana', 'operator');
  const asAna = (...args: string[]) => stage.workspace.run(args, ana);
  return {
    stage,
    asAna,
    /** Stops a turn, and returns what the command printed as JSON. */
    async stop(...args: string[]) {
      const { code, stdout, stderr } = await asAna('worker', 'stop', '--json', ...args);
      return code === 0 ? JSON.parse(stdout) : { exit: code, ...JSON.parse(stderr).error };
    },
    /** The dead letters of an agent, with what its senders and operators see of each. */
    async deadOf(agent: string): Promise<unknown[]> {
      const { stdout } = await asAna('dead', 'list', '--json', '--inbox', agent);
      const { messages } = JSON.parse(stdout) as { messages: { id: string; reason: string }[] };
      return messages.map(({ id, reason }) => [id, reason]);
    },
    /** Serves an agent with a script. A first turn starts a child, writes both of their ids down, and hangs without heed of TERM. */
    async serveHanging(agent: string, { as = ['program'], args = [] as string[], help = '' } = {}) {
      const [name = '', ...words] = as;
      const home = join(stage.workspace.directory, `${agent}-home`);
      await mkdir(join(home, 'run'), { recursive: true, mode: 0o700 });
      const program = join(home, name);
      const script = `#!/bin/sh
if [ "$1" = --help ]; then echo '${help}'; exit; fi
if grep -q forever; then trap '' TERM; sleep 600 & echo $$ $! > '${home}/pids'; wait; wait; sleep 600; fi
${name === 'claude' ? `echo '{"type":"result","is_error":false,"result":"served"}'` : 'echo served'}
`;
      await writeFile(program, script);
      await chmod(program, 0o755);
      const own = ['--agent', agent, '--role', 'researcher', '--json', '--stop-timeout', '200ms', ...args];
      const run = startRun(
        [...own, '--data', join(stage.workspace.directory, 'state'), '--', program, ...words],
        {
          cwd: home,
          env: {
            HOME: home,
            XDG_RUNTIME_DIR: join(home, 'run'),
            SIGNALBOX_URL: stage.workspace.ready.broker.url,
          },
          part: 'serve',
        },
      );
      await expect.poll(() => eventsOf(run, 'serving'), { timeout: 30_000 }).toHaveLength(1);
      return {
        run,
        pids: async () => {
          await expect
            .poll(() => readFile(join(home, 'pids'), 'utf8').catch(() => ''))
            .toMatch(/^\d+ \d+\n$/);
          return (await readFile(join(home, 'pids'), 'utf8')).trim().split(' ').map(Number);
        },
      };
    },
    [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
  };
}
