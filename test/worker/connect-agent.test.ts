import { join } from 'node:path';
import { connectAgent } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { everythingText, startWorkspace, type Workspace } from '../support/cli/workspace.ts';

const echo = 'mcp_everything__echo';

/** Writes the token file of an agent as a person does. */
async function issued({ directory, run }: Workspace, agent: string): Promise<string> {
  const file = join(directory, `${agent}.token`);
  const { code, stderr } = await run([
    'token',
    'issue',
    '--agent',
    agent,
    '--role',
    'researcher',
    '--out',
    file,
  ]);
  expect(code, stderr).toBe(0);
  return file;
}

test('An agent of the library calls tools, asks, answers and reads its mail, with a token file and nothing else.', async () => {
  await using workspace = await startWorkspace(() => everythingText());
  const [rosasFile, waltsFile] = await Promise.all(['rosa', 'walt'].map((agent) => issued(workspace, agent)));
  const rosa = await connectAgent(rosasFile);
  await using walt = await connectAgent({ tokenFile: waltsFile! });
  expect([rosa.id, rosa.role, rosa.tools.map(({ name }) => name)]).toEqual(['rosa', 'researcher', [echo]]);
  expect(await rosa.call(echo, { message: 'hello' })).toMatchObject({ result: { text: 'Echo: hello' } });
  expect(await rosa.call('mcp_everything__no_such')).toMatchObject({ error: { code: 'permission_denied' } });

  await using loop = await walt.serve(async ({ json }) => ({ text: `you said ${JSON.stringify(json)}` }));
  const asked = await rosa.ask('walt', { text: 'Are you there?' });
  expect(asked).toMatchObject({
    status: 'completed',
    reply: { json: { text: 'you said {"text":"Are you there?"}' } },
  });
  await loop.stop();

  for (const text of ['one', 'two', 'three']) await rosa.send('walt', { text });
  const read: unknown[] = [];
  for await (const { json, kind, from } of walt.inbox()) {
    read.push([from.agent, kind, json]);
    if (read.length === 3) break;
  }
  expect(read).toEqual(['one', 'two', 'three'].map((text) => ['rosa', 'note', { text }]));
  // The message at which the loop ended was not acked.
  const again = await workspace.run(['inbox', '--json'], { SIGNALBOX_TOKEN_FILE: waltsFile! });
  expect(JSON.parse(again.stdout)).toMatchObject({ messages: [{ body: { text: 'three' } }] });
  await rosa.close();
  expect(await rosa.call(echo, { message: 'late' })).toMatchObject({ error: { may_have_run: false } });
});

test('What an agent of the library needs is named when it is missing.', async () => {
  await expect(connectAgent({ tokenFile: '' })).rejects.toThrow('set SIGNALBOX_TOKEN_FILE');
  await expect(connectAgent('/nowhere/rosa.token')).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(
      /there is no token file \/nowhere\/rosa\.token: an operator makes one with: signalbox token issue --agent NAME --role ROLE --out \/nowhere\/rosa\.token$/,
    ),
  });
});

test('A token in place of its file is refused, and the error does not hold it.', async () => {
  const secret = 'A'.repeat(43);
  const refused = await connectAgent(`sbx_rosa~${secret}`).catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: 'usage',
    message: expect.stringContaining('a token was given in place of the file'),
  });
  expect(JSON.stringify(refused) + String(refused)).not.toContain(secret);
});
