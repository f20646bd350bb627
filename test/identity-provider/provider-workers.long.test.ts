import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runOrchestrator } from '@signalbox/daemon';
import { serveHttpFace } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { signalbox } from '../support/cli/command-line.ts';
import { inSeconds, issuerKey, startIssuer } from '../support/identity-provider/issuer.ts';
import { startProvidedBroker } from '../support/identity-provider/provided-broker.ts';
import { connectHttpFace } from '../support/worker/http-face.ts';

/** A broker and an issuer, and files with tokens in a folder of their own. */
async function site() {
  await using opening = new AsyncDisposableStack();
  const key = await issuerKey('ES256');
  const issuer = opening.use(await startIssuer([key]));
  const set = opening.use(await startProvidedBroker(issuer.url));
  const path = (name: string): string => join(set.directory, name);
  const resources = opening.move();
  return {
    ...set,
    issuer,
    sign: (claims = {}) => issuer.sign(key, claims),
    path,
    async tokenFile(name: string, claims = {}): Promise<string> {
      const text = `${await issuer.sign(key, claims)}\n${set.broker.url}\n`;
      await writeFile(path(`${name}.new`), text, { mode: 0o600 });
      await rename(path(`${name}.new`), path(name));
      return path(name);
    },
    env: { HOME: set.directory, XDG_STATE_HOME: path('xdg'), PATH: process.env.PATH ?? '' },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

const report = 'echo "$SIGNALBOX_AGENT $SIGNALBOX_TOKEN_FILE $(head -c 8 "$SIGNALBOX_TOKEN_FILE")"';

test('A worker run whose token may not mint gives its agent the same file, and says so.', async () => {
  await using here = await site();
  const file = await here.tokenFile('rosa.jwt', { jti: 'one' });
  const args = ['worker', 'run', '--token-file', file, '--', 'sh', '-c', report];
  const run = await signalbox(args, { cwd: here.directory, env: here.env });
  expect(run.stdout).toBe(`rosa ${file} eyJhbGci\n`);
  expect(run.stderr).toContain(
    `rosa's own token of ${here.issuer.url} is used, because it may issue no others: the agent reads it from ${file}`,
  );
  expect(run.code).toBe(0);
});

test('A worker run whose token may mint issues tokens in its role, and tells the parent of the end.', async () => {
  await using here = await site();
  const file = await here.tokenFile('ci.jwt', { sub: 'ci-*', groups: 'runners' });
  await using boss = await here.connect(await here.sign({ sub: 'boss' }), 'boss');
  const told = Promise.withResolvers<unknown>();
  await boss.serve(['event'], async ({ json }) => {
    told.resolve(json);
    return undefined;
  });
  const args = [
    'worker',
    'run',
    '--token-file',
    file,
    '--parent',
    'boss',
    '--',
    'sh',
    '-c',
    `${report}; exit 3`,
  ];
  const run = await signalbox(args, { cwd: here.directory, env: here.env });
  expect(run.stdout).toMatch(/^ci-1 \S+\/token sbx_ci-1\n$/);
  expect(run.code).toBe(3);
  expect(await told.promise).toMatchObject({
    event: 'worker_exited',
    agent: 'ci-1',
    role: 'writer',
    code: 3,
  });
});

test('A hint for a refused token names the provider and the file, and never token issue.', async () => {
  await using here = await site();
  const file = await here.tokenFile('rosa.jwt', { exp: inSeconds(-100) });
  const run = await signalbox(['agents', '--token-file', file], { cwd: here.directory, env: here.env });
  expect(run.code).toBe(77);
  expect(run.stderr).toContain(`it has expired ('exp' is 20`);
  expect(run.stderr).toContain(`${here.issuer.url} issues these tokens, not signalbox`);
  expect(run.stderr).not.toContain('token issue');
});

test('A command that waits goes on with the token that its file holds when the broker no longer accepts the first one.', async () => {
  await using here = await site();
  const file = await here.tokenFile('rosa.jwt', { jti: 'one' });
  const waiting = signalbox(['inbox', '--wait', '--token-file', file], {
    cwd: here.directory,
    env: here.env,
  });
  await using operator = await here.operator();
  const idOf = async (): Promise<string[]> => {
    const { tokens } = (await operator.admin('token_list', {})) as {
      tokens: { id: string; agent: string }[];
    };
    return tokens.filter(({ agent }) => agent === 'rosa').map(({ id }) => id);
  };
  await expect.poll(idOf).toHaveLength(1);
  const [first] = (await idOf()) as [string];
  await here.tokenFile('rosa.jwt', { jti: 'next' });
  await operator.admin('token_revoke', { id: first });
  await expect.poll(idOf).toEqual([expect.not.stringContaining(first)]);
  await using max = await here.connect(await here.sign({ sub: 'max' }), 'max');
  await max.deliver({ to: 'rosa', kind: 'note', body: 'after the change' });
  const { stdout, code } = await waiting;
  expect([code, stdout]).toEqual([2, expect.stringContaining('max')]);
});

test('An HTTP face serves the holder of a token of the provider, and passes on why it is refused.', async () => {
  await using here = await site();
  await using orchestrator = await runOrchestrator({ config: here.config, url: here.broker.url });
  await orchestrator.ready;
  await using face = await serveHttpFace({
    listen: { host: '127.0.0.1', port: 0 },
    connect: { url: here.broker.url },
    version: '1.2.3',
  });
  await using rosa = await connectHttpFace(face.url, await here.sign(), 'modern');
  expect(rosa.client.getInstructions()).toContain("you are 'rosa'");
  const refusalOf = async (claims: object) => {
    const headers = {
      authorization: `Bearer ${await here.sign(claims)}`,
      'content-type': 'application/json',
    };
    const response = await fetch(face.url, { method: 'POST', headers, body: '{}' });
    return [response.status, response.headers.get('www-authenticate')];
  };
  expect(await refusalOf({ groups: ['a', 'b', 'c', 'd', 'e'] })).toEqual([
    401,
    expect.stringMatching(/error="invalid_token".*the claim 'groups' holds 'a', 'b', 'c', 'd' /),
  ]);
  expect(await refusalOf({ sub: 'Rosa Smith' })).toEqual([
    401,
    expect.stringContaining("the claim 'sub' of this token names no agent"),
  ]);
  expect(await refusalOf({ sub: 'operator.watch', groups: 'watchers' })).toEqual([403, null]);
});
