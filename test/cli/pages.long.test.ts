import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect, contentOf, letters, page, startPages } from '../support/cli/pages.ts';
import type { Workspace } from '../support/cli/workspace.ts';
import { ask } from '../support/orchestrator/requests.ts';

let workspace: Workspace;

beforeAll(async () => {
  workspace = await startPages();
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

test('A resource that no message takes costs its reader one request, is read by nobody else, and outlives its orchestrator.', async () => {
  await using thrifty = await connect(workspace, 'theo', 'thrifty');
  expect((await contentOf(thrifty, page)).text).toHaveLength(letters + 10);
  await expect(thrifty.request('resources/read', { uri: page })).rejects.toThrow('budget');

  await using second = await connect(workspace, 'sam', 'second');
  const read = { op: 'request', method: 'resources/read', params: { uri: page } } as const;
  const { kept } = (await ask(second.executor.client, read)) as { kept: { uri: string } };
  const part = { ...read, params: { uri: kept.uri } };
  const { env } = await workspace.agent('sam', 'second');
  const printed = await workspace.run(['resources', 'read', page], env);
  expect(printed).toMatchObject({ code: 0, stdout: `<p>two</p>${'é'.repeat(letters)}\n` });
  await using caller = await connect(workspace, 'wim', 'caller');
  expect((await caller.executor.ask(part)).error).toMatchObject({ code: 'not_found' });
  process.kill(workspace.ready.orchestrator.pid, 'SIGKILL');
  const { contents } = (await second.executor.ask(part)).result as { contents: { text: string }[] };
  expect(contents[0]!.text).toMatch(/^\{"content":\[\],"answer":\{"contents":\[/);
});
