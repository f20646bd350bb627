import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

const day = 24 * 3_600_000;

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

test('Who issues a token reads when it expires and how to renew it; --ttl never is for ever.', async () => {
  const now = Date.now() - 29 * day;
  await using broker = await startTestBroker({ now: () => now });
  await using directory = await tempDir();
  const out = join(directory.path, 'rosa.token');
  const issue = (...args: string[]) =>
    signalbox(['token', 'issue', '--role', 'worker', '--data', broker.dataDir, ...args]);
  const rosa = await issue('--agent', 'rosa', '--out', out);
  expect(rosa.stdout).toContain(
    `expires ${new Date(now + 30 * day).toISOString()}, in 24 h; renew with: signalbox token issue --agent rosa --role worker --ttl 1d --out ${out} --force`,
  );
  const again = await issue('--agent', 'rosa', '--out', out, '--force');
  const [, first] = /^token (\S+)/.exec(rosa.stdout) ?? [];
  expect(again.stderr).toContain(`rosa has other valid tokens, such as the one that ${out} held`);
  expect(again.stderr).toContain(`signalbox token revoke ${first}\n`);
  const walt = await issue('--agent', 'walt', '--ttl', 'never', '--json');
  expect(jsonOf(walt)).toMatchObject({ agent: 'walt', expires_at: null, warnings: [] });
  const bad = await issue('--agent', 'walt', '--ttl', 'ever');
  expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining('8h or 30d, or never') });
  const listed = await signalbox(['token', 'list', '--data', broker.dataDir]);
  expect(listed.stdout).toMatch(/rosa {2}.* in 24 h$/m);
  expect(listed.stdout.match(/^the token of .*$/gm)).toEqual([
    expect.stringMatching(/^the token of rosa expires in 24 h .*--agent rosa --role worker$/),
  ]);
});

test('All tokens of an agent are revoked by its name, and a revocation names an id or an agent, not both.', async () => {
  await using broker = await startTestBroker();
  const revoke = (...args: string[]) => signalbox(['token', 'revoke', '--data', broker.dataDir, ...args]);
  await broker.token('rosa');
  await broker.token('rosa', 'writer');
  const walt = await broker.broker.issueToken({ agent: 'walt', role: 'worker' });
  const rosa = await revoke('--agent', 'rosa');
  expect(rosa).toMatchObject({ code: 0, stdout: expect.stringContaining('2 tokens of rosa revoked') });
  expect(await revoke('--agent', 'wlat')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("did you mean 'walt'?"),
  });
  expect(await revoke('--agent', 'walt', walt.id)).toMatchObject({ code: 2 });
  expect(await revoke()).toMatchObject({ code: 2, stderr: expect.stringContaining('no token is named') });
  expect(jsonOf(await revoke('--agent', 'walt', '--json'))).toEqual({ agent: 'walt', revoked: [walt.id] });
});
