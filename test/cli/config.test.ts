import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

const wrong = `broker:
  data: ./state
  listne: 127.0.0.1:0
orchestrator:
  concurrency: { global: many }
mcpServers:
  docs:
    type: http
    url: https://example.test/mcp
    headers: { Authorization: "Bearer \${env:DOCS_TOKEN}" }
`;

test.each([['up'], ['broker'], ['orchestrator']])(
  '%s starts nothing on a wrong configuration, and names line, path and nearest key.',
  async (command) => {
    await using directory = await tempDir();
    await writeFile(join(directory.path, 'signalbox.yaml'), wrong);
    const { code, stdout, stderr } = await signalbox([command], { cwd: directory.path });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(
      "signalbox.yaml:3: broker.listne: unknown key 'listne' (did you mean 'listen'?)",
    );
    expect(existsSync(join(directory.path, 'state'))).toBe(false);
  },
);

test('All problems come at once, one line each; with --json they are a list.', async () => {
  await using directory = await tempDir();
  await writeFile(join(directory.path, 'signalbox.yaml'), wrong);
  const { code, stderr } = await signalbox(['config', 'check'], { cwd: directory.path });
  expect(code).toBe(2);
  expect(stderr.trimEnd().split('\n')).toEqual([
    "signalbox.yaml:3: broker.listne: unknown key 'listne' (did you mean 'listen'?)",
    'signalbox.yaml:5: orchestrator.concurrency.global: must be a number',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
    'signalbox.yaml:10: mcpServers.docs.headers.Authorization: ${env:DOCS_TOKEN}: the environment variable DOCS_TOKEN is not set',
  ]);
  const json = await signalbox(['config', 'check', '--json'], { cwd: directory.path });
  expect(json.code).toBe(2);
  expect(jsonOf(json)).toMatchObject({
    error: { code: 'bad_config', problems: [{ line: 3, path: 'broker.listne' }, { line: 5 }, { line: 10 }] },
  });
});

test('The same file is right once the three things are mended.', async () => {
  await using directory = await tempDir();
  const right = wrong.replace('listne', 'listen').replace('many', '8');
  await writeFile(join(directory.path, 'signalbox.yaml'), right);
  const env = { DOCS_TOKEN: 'hush' };
  const { code, stdout, stderr } = await signalbox(['config', 'check'], { cwd: directory.path, env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('1 MCP server');
  expect(stdout).not.toContain('hush');
});

test('A configuration that is not there is an error that names it.', async () => {
  const { code, stderr } = await signalbox(['up', '--config', 'gone.yaml']);
  expect(code).toBe(2);
  expect(stderr).toBe('gone.yaml: there is no such file\n');
});

test('The JSON Schema of the configuration names every section.', async () => {
  const schema = JSON.parse((await signalbox(['config', 'schema'])).stdout) as { properties: object };
  expect(Object.keys(schema.properties)).toEqual([
    'broker',
    'auth',
    'orchestrator',
    'worker',
    'a2a',
    'mcpConfig',
    'mcpServers',
    'hosts',
    'capabilities',
    'allowHosts',
    'roles',
    'groups',
    'hooks',
    'schedules',
    'approvals',
    'unlisted',
  ]);
});
