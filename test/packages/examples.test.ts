import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { programOptions } from '@signalbox/testing';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('../../examples/run.ts', import.meta.url));

/** Runs the examples' command, and returns its end and its output. */
async function example(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const run = promisify(execFile);
  try {
    const { stdout, stderr } = await run(process.execPath, [...programOptions(), script, ...args]);
    return { code: 0, stdout, stderr };
  } catch (thrown) {
    return thrown as { code: number; stdout: string; stderr: string };
  }
}

/** Runs an example as it should go and then broken; the output of both. */
async function prove(name: string): Promise<{ right: string; broken: string }> {
  const { code, stdout, stderr } = await example(name, '--prove');
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
  const [right = '', broken = ''] = stdout.split('And with something wrong:');
  expect(right).not.toContain('WRONG');
  return { right, broken };
}

test.concurrent('agent-loop gets its answer past a budget, a missing tool and an unknown outcome, and notices an invented one.', async ({
  expect,
}) => {
  const { right, broken } = await prove('agent-loop');
  for (const line of [
    'quota_exceeded, again in 1000 ms',
    'mcp_files__write_file (save): permission_denied, has not run',
    'mcp_files__read_text_file (april.txt): the tool failed',
    'long-running-operation (slow): outcome_unknown, may have run',
    'answer: The total is 42. Without: april.txt, march.txt, save, slow.',
  ])
    expect(right).toContain(line);
  expect(broken).toContain('WRONG: expected: The total is 42.');
});

test.concurrent('ask-reply sees each ask end as it must and exits 0, and exits 1 when one ends otherwise.', async ({
  expect,
}) => {
  const [right, broken] = await Promise.all([example('ask-reply'), example('ask-reply', '--break')]);
  expect(right).toMatchObject({ code: 0, stderr: '' });
  expect(right.stdout).toContain('All ended as they should.');
  expect(broken).toMatchObject({ code: 1, stderr: '' });
  expect(broken.stdout).toContain('WRONG: expected 1, 2, 3, answered: counted to 3');
  for (const { stdout } of [right, broken]) {
    expect(stdout).toContain('cancelled, may have run, withdrawn');
    expect(stdout).toContain('rejected with unknown_recipient, has not run');
  }
});

test.concurrent('embedded runs a broker and an orchestrator in its own process and makes a call, and notices one that is refused.', async ({
  expect,
}) => {
  const { right, broken } = await prove('embedded');
  expect(right).toContain('rosa (role clerk) asked for 19 + 23: The sum of 19 and 23 is 42.');
  expect(broken).toContain('WRONG: expected 42');
});

test.concurrent('fan-out learns of a killed worker before the deadline and of the others by it, and notices one that was not killed.', async ({
  expect,
}) => {
  const { right, broken } = await prove('fan-out');
  expect(right).toContain('fan-6  undeliverable: dead, may have run');
  expect(right).toContain('8 tasks: 5 answered, 1 undeliverable, 2 timed_out');
  expect(broken).toContain('WRONG: fan-6 should be undeliverable');
});

test.concurrent('Without a name the examples are listed; what is not understood is refused before anything starts.', async ({
  expect,
}) => {
  const [listed, wrong] = await Promise.all([example(), example('ask-reply', '--brake')]);
  expect(listed.code).toBe(0);
  for (const name of ['agent-loop', 'ask-reply', 'embedded', 'fan-out'])
    expect(listed.stdout).toContain(name);
  expect(wrong).toMatchObject({ code: 2, stdout: '' });
  expect(wrong.stderr).toContain("'--brake' is not understood here");
});
