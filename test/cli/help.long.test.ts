import { expect, test } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';

test('A group of commands alone lists what it is about, with the options of its list.', async () => {
  await using workspace = await startWorkspace(() =>
    JSON.stringify({ broker: { listen: '127.0.0.1:0', data: './state' } }),
  );
  for (const group of ['token', 'dead', 'hooks', 'schedules', 'tools', 'resources', 'prompts']) {
    const [alone, list] = [
      await workspace.run([group, '--json']),
      await workspace.run([group, 'list', '--json']),
    ];
    expect({ group, ...alone }).toMatchObject({ group, code: 0, stderr: '' });
    expect(jsonOf(alone)).toEqual(jsonOf(list));
  }
  expect(await workspace.run(['clock'])).toMatchObject({ code: 0, stderr: '' });
  expect(await workspace.run(['config'])).toMatchObject({ code: 0, stderr: '' });
  expect((await workspace.run(['token', '--help'])).stdout).toContain('(default)');
});
