import { expect, test } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';

test('ps and status show how the program of worker run failed, with its last line, until it is back.', async () => {
  await using workspace = await startWorkspace(() =>
    JSON.stringify({
      broker: { listen: '127.0.0.1:0', data: './state' },
      roles: { writer: { tools: [] }, other: { tools: [] } },
    }),
  );
  const rosa = (script: string) =>
    workspace.run(['worker', 'run', '--agent', 'rosa', '--role', 'writer', '--', 'sh', '-c', script]);
  const rows = async () => (await workspace.run(['ps'])).stdout;
  expect((await rosa('echo begin; echo "cannot open database /x/y" >&2; exit 3')).code).toBe(3);
  expect(await rows()).toMatch(
    /^rosa +writer +failed +\d+ s +- +- +ended with exit code 3: cannot open database \/x\/y$/m,
  );
  const status = await workspace.run(['status']);
  expect(status.code).toBe(1);
  expect(status.stdout).toMatch(
    /the program of rosa ended with exit code 3: cannot open database \/x\/y \(\d+ s ago, and it is not back\)/,
  );
  expect(jsonOf(await workspace.run(['ps', '--json', '--role', 'writer']))).toMatchObject({
    failed: [{ agent: 'rosa', role: 'writer', reason: expect.stringContaining('cannot open database') }],
  });
  expect(jsonOf(await workspace.run(['ps', '--json', '--role', 'other']))).toMatchObject({ failed: [] });

  await workspace.agent('rosa', 'writer');
  const sent = await workspace.run(['send', 'rosa', 'hello']);
  expect(sent.stderr).toContain('rosa ended with exit code 3: cannot open database /x/y (');
  expect(await rows()).toMatch(/^rosa +writer +failed +\d+ s +1 \(\d+ s\) +- +ended with exit code 3/m);

  // A token of its own is not revoked at the end, and the failure is told all the same.
  const { env } = await workspace.agent('walt', 'writer');
  await workspace.run(['worker', 'run', '--', 'sh', '-c', 'echo no key; kill -9 $$'], env);
  expect(await rows()).toMatch(/^walt +writer +failed .* was ended by SIGKILL: no key$/m);

  expect((await rosa('exit 0')).code).toBe(0);
  expect(await rows()).toMatch(/^rosa +writer +offline/m);
  await workspace.run(['hold', '--role', 'writer', '--reason', 'lunch']);
  expect(await rows()).toMatch(/^rosa +writer +held, offline/m);
});
