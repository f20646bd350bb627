import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, test } from 'vitest';
import { everythingText, startWorkspace, type Workspace } from '../support/cli/workspace.ts';
import { startRun } from '../support/runner/worker-run.ts';

const main = fileURLToPath(new URL('../support/serve/served-cli-main.ts', import.meta.url));
let workspace: Workspace;

beforeAll(async () => {
  workspace = await startWorkspace(everythingText);
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

test.concurrent.for(['copilot', 'qwen'])(
  '%s under signalbox up answers by a tool of a hosted server, goes on with its session, and tells why a turn failed.',
  async (cli, { expect }) => {
    const { directory, ready, run } = workspace;
    const home = join(directory, `${cli}-home`);
    await mkdir(join(home, 'run'), { recursive: true, mode: 0o700 });
    const program = join(home, cli);
    await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${main}' ${cli} "$@"\n`);
    await chmod(program, 0o755);
    const env = { HOME: home, XDG_RUNTIME_DIR: join(home, 'run'), SIGNALBOX_URL: ready.broker.url };
    const asOperator = ['--data', join(directory, 'state')];
    const args = [
      '--agent',
      `${cli}-1`,
      '--role',
      'researcher',
      '--retry-wait',
      '500ms',
      '--json',
      ...asOperator,
    ];
    const serve = startRun([...args, '--', program, '-p'], { cwd: home, env, part: 'serve' });
    await using _serve = serve;
    const eventsOf = (name: string) => serve.events().filter(({ event }) => event === name);
    await expect.poll(() => eventsOf('serving')).toHaveLength(1);
    const ask = (text: string) =>
      run(['ask', `${cli}-1`, text, '--thread', 't', ...asOperator], { SIGNALBOX_URL: ready.broker.url });
    expect((await ask('what does it say?')).stdout).toBe('Echo: hello, a new session\n');
    expect((await ask('and now?')).stdout).toBe('Echo: hello, session-1\n');
    const refused = ask('refuse');
    const reason = expect.stringMatching(/^its program ended with exit code 1: .*529 imitated refusal/);
    await expect.poll(() => eventsOf('turn_ended')[2]).toMatchObject({ outcome: 'failed', reason });
    await expect.poll(() => eventsOf('program_failing')[0]).toMatchObject({ reason });
    serve.kill('SIGTERM');
    expect(await serve.ended).toEqual({ code: 0, signal: null });
    const back = startRun([...args, '--', '/bin/sh', '-c', 'echo again'], { cwd: home, env, part: 'serve' });
    await using _back = back;
    expect((await refused).stdout).toBe('again\n');
  },
);
