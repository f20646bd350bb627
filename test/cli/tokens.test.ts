import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

test('A misspelt role is warned about with the nearest of the configuration, and its token is issued all the same; token list and status name it.', async () => {
  await using broker = await startTestBroker();
  await using directory = await tempDir();
  const config = join(directory.path, 'signalbox.yaml');
  const { hostname, port } = new URL(broker.url);
  const roles = { researcher: { tools: ['*'] } };
  const text = { broker: { listen: `${hostname}:${port}`, data: broker.dataDir }, roles };
  await writeFile(config, JSON.stringify(text), { mode: 0o600 });
  const issue = ['token', 'issue', '--agent', 'rosa', '--role', 'researchr'];
  const people = await signalbox([...issue, '--out', 'rosa.token'], { cwd: directory.path });
  expect(people).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('for agent rosa in role researchr'),
  });
  expect(people.stderr).toContain("did you mean 'researcher'?");
  const json = await signalbox([...issue, '--json', '--config', config]);
  expect(jsonOf(json)).toMatchObject({ warnings: [expect.stringContaining("'researcher'")] });
  // The role may also have been removed since then.
  const stranded = /role 'researchr' is not in .*signalbox\.yaml .*; there are tokens with it for rosa/;
  const [list, status] = await Promise.all(
    [['token', 'list'], ['status']].map((command) => signalbox(command, { cwd: directory.path })),
  );
  expect(list!.stderr).toMatch(stranded);
  expect(status!.stdout).toMatch(stranded);
});
