import { McpContentAllowlist, ResultStore } from '@signalbox/orchestrator';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';
import { startFixture } from '../support/conformance/fixture-server.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

test('A shell lists, reads, gets and explains resources and prompts by role, and says so with its exit code.', async () => {
  await using fixture = await startFixture();
  const mcpContent = McpContentAllowlist.fromEntries(
    [
      ['reader', { resources: ['fixture:test://static-*'] }],
      ['writer', { prompts: ['fixture:test_*'] }],
      ['operator', { prompts: ['*'], resources: ['*:*'] }],
    ],
    { unlisted: 'deny' },
  );
  const servers = { fixture: { type: 'http' as const, url: fixture.url } };
  await using stack = await startToolStack({ servers, mcpContent, counter: false });
  const { broker } = stack;
  const as =
    (agent: string, role: string) =>
    async (...args: string[]) =>
      signalbox([...args, '--url', broker.url, '--agent', agent], {
        env: { SIGNALBOX_TOKEN: await broker.tokenOf(agent, role) },
      });
  const [reader, writer, operator] = [as('rosa', 'reader'), as('walt', 'writer'), as('operator', 'operator')];
  const withArguments = 'mcp_fixture__test_prompt_with_arguments';

  const [listed, read, binary, refused, gone, prompts, got, wrong, explained, denied, found] =
    await Promise.all([
      reader('resources', 'list', '--json'),
      reader('resources', 'read', 'test://static-text'),
      reader('resources', 'read', 'test://static-binary'),
      reader('resources', 'read', 'test://watched-resource', '--json'),
      reader('resources', 'read', 'test://static-nothing'),
      writer('prompts', 'list'),
      writer('prompts', 'get', withArguments, '{"arg1":"a","arg2":"b"}'),
      writer('prompts', 'get', withArguments, '{"arg1":1}'),
      operator('resources', 'explain', 'reader', 'test://static-text'),
      operator('resources', 'explain', 'reader', 'test://static/../x', '--json'),
      reader('tools', 'search', 'static text', '--json'),
    ]);
  expect(jsonOf(listed)).toMatchObject({
    resources: [{ uri: 'test://static-text' }, { uri: 'test://static-binary' }],
    resource_templates: [],
  });
  expect(read).toMatchObject({ code: 0, stdout: 'The text of test://static-text.\n' });
  expect(binary.stdout).toMatch(/^\[image\/png, \d+ bytes\]\n$/);
  expect(refused.code).toBe(77);
  expect(jsonOf(refused)).toMatchObject({ error: { code: 'permission_denied' } });
  expect(gone).toMatchObject({ code: 1, stdout: '' });
  expect(prompts.stdout).toContain(`${withArguments} `);
  expect(prompts.stdout).toContain('arg1, arg2');
  expect(got).toMatchObject({ code: 0, stdout: "user:\n  arg1='a', arg2='b'\n" });
  expect(wrong.code).toBe(2);
  expect(explained.stdout).toContain(
    "role reader may read test://static-text\n  rule     roles.reader.resources: 'fixture:test://static-*'",
  );
  expect(jsonOf(denied)).toMatchObject({
    allowed: false,
    problem: expect.stringContaining("a segment '.' or '..'"),
  });
  expect(jsonOf(found)).toMatchObject({ resources: [{ uri: 'test://static-text' }, expect.anything()] });
});

test('A shell is shown a preview of a large result, and reads the whole of it.', async () => {
  await using directory = await tempDir();
  await using results = await ResultStore.open({ directory: `${directory.path}/results` });
  await using stack = await startToolStack({ results, resultRules: { reader: { maxInlineBytes: 8192 } } });
  const { broker } = stack;
  const env = { SIGNALBOX_TOKEN: await broker.tokenOf('rosa', 'reader') };
  const rosa = (...args: string[]) => signalbox([...args, '--url', broker.url, '--agent', 'rosa'], { env });
  const called = await rosa('tools', 'call', 'mcp_counter__big', '{"bytes":300000}');
  expect(called).toMatchObject({ code: 0, stdout: expect.stringContaining('is too large to be shown here') });
  const command = /signalbox (resources read (signalbox:\/\/\S+))/.exec(called.stderr)!;
  const read = await rosa(...command[1]!.split(' '));
  expect(read).toMatchObject({ code: 0, stdout: `${'x'.repeat(300_000)}\n[structuredContent]\n{}\n` });
});
