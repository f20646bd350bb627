import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { everythingText, startWorkspace, type Workspace } from '../support/cli/workspace.ts';

let workspace: Workspace;
let researcher: { id: string; env: Record<string, string> };
const operator = ['--config', 'signalbox.yaml'];

beforeAll(async () => {
  workspace = await startWorkspace(everythingText);
  researcher = await workspace.agent('researcher-1', 'researcher');
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

async function call(...args: string[]) {
  return await workspace.run(['tools', 'call', 'mcp_everything__echo', ...args], researcher.env);
}

interface History {
  groups: { correlation_id: string; entries: Record<string, unknown>[] }[];
}

async function history(...args: string[]): Promise<History> {
  return jsonOf(await workspace.run(['history', '--json', ...operator, ...args])) as History;
}

test('History shows a request, the tool call it caused and the answer as one group, in that order.', async () => {
  expect((await call('{"message":"for the record"}')).code).toBe(0);
  const sent = await workspace.run(['send', 'researcher-1', 'a note', '--id', 'note-1'], researcher.env);
  expect(sent.code).toBe(0);
  const { groups } = await history('--since', '10m', '--agent', 'researcher-1');
  const shapes = groups.map(({ entries }) => entries.map(({ what, kind, tool }) => [what, kind ?? tool]));
  expect(shapes).toContainEqual([
    ['message', 'mcp_request'],
    ['call', 'mcp_everything__echo'],
    ['message', 'mcp_reply'],
  ]);
  expect(shapes).toContainEqual([['message', 'note']]);
  const note = await history('--correlation', 'note-1');
  expect(note.groups).toMatchObject([{ correlation_id: 'note-1', entries: [{ id: 'note-1' }] }]);
  expect((await call('{"message":"the newest"}')).code).toBe(0);
  const newest = await workspace.run(['history', '--limit', '2', ...operator]);
  expect(newest.stdout).toMatch(
    /^\S+Z +researcher-1 +researcher-1 +note .*\n\S+Z .*call everything:echo .*\n\n/m,
  );
  expect(newest.stdout).toContain('2 rows shown, and there is more before');
  expect(JSON.stringify(groups)).not.toContain('for the record');

  const table = await workspace.run(['history', ...operator]);
  expect(table).toMatchObject({ code: 0, stderr: '' });
  expect(table.stdout).toMatch(/^TIME +FROM +TO +WHAT +OUTCOME +ID$/m);
  expect(table.stdout).toMatch(/^\S+Z +researcher-1 +everything +call everything:echo +ok/m);
  expect(table.stdout).not.toContain('mcp_request');
  const whole = await workspace.run(['history', '-v', ...operator]);
  expect(whole.stdout).toMatch(/^ +\+[\d.]+ m?s +researcher-1 +everything +call everything:echo +ok/m);
});
