import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createAuthorizer,
  openRefreshTokenFiles,
  type RefreshTokenStore,
  type SignInOptions,
  signIn,
} from '@signalbox/mcp-host/server-auth';
import { tempDir } from '@signalbox/testing';
import { afterAll, expect, it } from 'vitest';
import { browse } from '../support/mcp-host/oauth/browser.ts';
import { hello, startWithAuth } from '../support/mcp-host/oauth/host-with-sign-ins.ts';
import { startProtectedServer } from '../support/mcp-host/oauth/protected-server.ts';
import { machine, startOAuthProvider, webClient } from '../support/mcp-host/oauth/provider.ts';
import { call } from '../support/mcp-host/test-host.ts';

const provider = await startOAuthProvider();
afterAll(() => provider[Symbol.asyncDispose]());

const person = { type: 'authorization_code', ...webClient } as const;
const credentials = { type: 'client_credentials', ...machine, scope: 'tools' } as const;

/** Signs in at a browser; what it showed in the end. */
async function signInTo(options: Pick<SignInOptions, 'url' | 'tokens'> & Partial<SignInOptions>) {
  let seen: ReturnType<typeof browse> | undefined;
  const signal = AbortSignal.timeout(20_000);
  const onUrl = (url: string) => {
    seen = browse(url);
  };
  await signIn({ server: 'web', auth: person, fetch, onUrl, signal, ...options });
  return seen!;
}

it('uses a server after a person has signed in, through rotations, until the sign-in is revoked', async () => {
  await using dir = await tempDir();
  const directory = join(dir.path, 'auth');
  const tokens = openRefreshTokenFiles(directory);
  await using server = await startProtectedServer(provider);
  const { url } = server;
  await using other = await startProtectedServer(provider);
  const clock = { ms: 0 };
  const servers = { web: [url, person], other: [other.url, credentials] } as const;
  await using host = startWithAuth({ web: [...servers.web], other: [...servers.other] }, { clock, tokens });
  const told: string[] = [];
  host.onServerEvent(({ server, change }) => told.push(`${server} ${change}`));
  expect((await host.inventory()).problems).toEqual([
    {
      server: 'web',
      message: expect.stringMatching(
        /^not available: .*nobody has signed in; run: signalbox servers auth web$/,
      ),
    },
  ]);
  expect(host.servers()).toMatchObject([
    { name: 'web', state: 'needs_auth', auth: 'needs_auth' },
    { name: 'other', state: 'ready', auth: 'ready' },
  ]);
  expect(await call(host, 'mcp_other__greet')).toMatchObject(hello);

  const { status, text, url: last } = await signInTo({ url, tokens });
  expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('Done') });
  expect(last).toContain('127.0.0.1');
  const first = await tokens.read('web');
  expect(first).toEqual({
    url,
    issuer: provider.issuer,
    resource: url,
    clientId: 'web',
    refreshToken: expect.any(String),
  });
  const [file = ''] = await readdir(directory);
  expect((await stat(join(directory, file))).mode & 0o777).toBe(0o600);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);

  expect(await host.reload('web')).toMatchObject({ state: 'ready', auth: 'ready' });
  expect(await call(host, 'mcp_web__greet')).toMatchObject(hello);
  const second = await tokens.read('web');
  expect(second!.refreshToken).not.toBe(first!.refreshToken);
  clock.ms += 600_000;
  expect(await call(host, 'mcp_web__greet')).toMatchObject(hello);
  const third = await tokens.read('web');
  expect(third!.refreshToken).not.toBe(second!.refreshToken);
  expect(server.shown.size).toBe(2);

  await provider.revokeRefreshToken(third!.refreshToken);
  clock.ms += 600_000;
  expect(await call(host, 'mcp_web__greet')).toMatchObject({
    error: { may_have_run: false, message: expect.stringContaining('signalbox servers auth web') },
  });
  await expect
    .poll(() => host.servers())
    .toMatchObject([{ state: 'needs_auth', auth: 'needs_auth' }, { state: 'ready' }]);
  expect(await call(host, 'mcp_other__greet')).toMatchObject(hello);

  // Access tokens that were renewed are no news.
  expect(told.toSorted()).toEqual([
    'other signed_in',
    'web needs_auth',
    'web needs_auth',
    'web restored',
    'web signed_in',
  ]);
  await signInTo({ url, tokens });
  await host.reload('web');
  expect(told.slice(-2)).toEqual(['web restored', 'web signed_in']);
  expect(await call(host, 'mcp_web__greet')).toMatchObject(hello);
  expect(await tokens.forget('web')).toBe(true);
  expect(await readdir(directory)).toEqual([]);
  expect(server.called).toEqual(['greet', 'greet', 'greet']);
  const said = JSON.stringify([host.events, host.servers()]);
  const secrets = [webClient.clientSecret, first!.refreshToken, third!.refreshToken, ...server.shown];
  for (const secret of secrets) expect(said).not.toContain(secret);
});

it('registers a client where the configuration has none, and remembers it', async () => {
  await using dir = await tempDir();
  const tokens = openRefreshTokenFiles(dir.path);
  await using server = await startProtectedServer(provider);
  await signInTo({ url: server.url, tokens, auth: { type: 'authorization_code' } });
  const { clientId } = (await tokens.read('web'))!;
  expect(clientId).not.toBe('web');
  await using host = startWithAuth({ web: [server.url, { type: 'authorization_code' }] }, { tokens });
  await host.inventory();
  expect(await call(host, 'mcp_web__greet')).toMatchObject(hello);
});

it('loses no refresh token that could not be stored at once', async () => {
  await using dir = await tempDir();
  const tokens = openRefreshTokenFiles(dir.path);
  await using server = await startProtectedServer(provider);
  const { url } = server;
  await signInTo({ url, tokens });
  const first = await tokens.read('web');
  const failures = [new Error('disk full')];
  const flaky: RefreshTokenStore = {
    ...tokens,
    write: async (...entry) => {
      const failure = failures.pop();
      if (failure) throw failure;
      await tokens.write(...entry);
    },
  };
  const authorizer = createAuthorizer({
    server: 'web',
    url,
    auth: person,
    tokens: flaky,
    fetch,
    log: () => {},
  });
  const { signal } = new AbortController();
  await expect(authorizer.header(signal)).rejects.toThrow("can't be stored: disk full");
  expect(await tokens.read('web')).toEqual(first);
  expect(await authorizer.header(signal)).toMatch(/^Bearer /);
  expect((await tokens.read('web'))!.refreshToken).not.toBe(first!.refreshToken);
});

it('goes on with the sign-in that somebody made while the old one was refused', async () => {
  await using dir = await tempDir();
  const tokens = openRefreshTokenFiles(dir.path);
  await using server = await startProtectedServer(provider);
  const { url } = server;
  await signInTo({ url, tokens });
  let isFirst = true;
  const overtaken: RefreshTokenStore = {
    ...tokens,
    read: async (name) => {
      const signedIn = await tokens.read(name);
      if (!isFirst) return signedIn;
      isFirst = false;
      await provider.revokeRefreshToken(signedIn!.refreshToken);
      await signInTo({ url, tokens });
      return signedIn;
    },
  };
  const options = { server: 'web', url, auth: person, fetch, log: () => {} };
  const { signal } = new AbortController();
  expect(await createAuthorizer({ ...options, tokens: overtaken }).header(signal)).toMatch(/^Bearer /);

  const others = [{ url: `${url}/other` }, { auth: { ...person, clientId: 'x' } }];
  for (const other of others) {
    const refused = createAuthorizer({ ...options, tokens, ...other }).header(signal);
    await expect(refused).rejects.toMatchObject({
      code: 'needs_auth',
      message: expect.stringMatching(/another/),
    });
  }
});

it('says that a person refused, in the browser and in the terminal', async () => {
  await using dir = await tempDir();
  const tokens = openRefreshTokenFiles(dir.path);
  await using server = await startProtectedServer(provider);
  provider.person.denies = true;
  let seen: ReturnType<typeof browse> | undefined;
  const onUrl = (url: string) => {
    seen = browse(url);
  };
  const refused = signInTo({ url: server.url, tokens, onUrl });
  await expect(refused).rejects.toMatchObject({
    code: 'auth_failed',
    message: 'the authorization server refused (access_denied, the person said no)',
  });
  provider.person.denies = false;
  expect(await seen).toMatchObject({ status: 400, text: expect.stringContaining('failed') });
  expect(await tokens.read('web')).toBeUndefined();
});

it('turns away callbacks that are not about this sign-in, and an answer of another issuer', async () => {
  await using dir = await tempDir();
  const tokens = openRefreshTokenFiles(dir.path);
  await using server = await startProtectedServer(provider);
  const statuses: number[] = [];
  const forge = async (href: string) => {
    const asked = new URL(href).searchParams;
    expect(asked.get('code_challenge_method')).toBe('S256');
    const forged = new URL(asked.get('redirect_uri')!);
    forged.search = new URLSearchParams({ code: 'stolen', state: 'guessed' }).toString();
    statuses.push((await fetch(forged)).status);
    forged.searchParams.set('state', asked.get('state')!);
    forged.searchParams.set('iss', 'https://evil.example');
    statuses.push((await fetch(forged)).status);
  };
  let forged: Promise<void> | undefined;
  const onUrl = (href: string) => {
    forged = forge(href);
  };
  await expect(signInTo({ url: server.url, tokens, onUrl })).rejects.toMatchObject({ code: 'auth_failed' });
  await forged;
  expect(statuses).toEqual([404, 400]);
  expect(await tokens.read('web')).toBeUndefined();
});

it('stops waiting for a browser when it is told to, and leaves the port', async () => {
  await using server = await startProtectedServer(provider);
  await using dir = await tempDir();
  const tokens = openRefreshTokenFiles(dir.path);
  const stop = new AbortController();
  let redirect = '';
  const onUrl = (href: string) => {
    redirect = new URL(href).searchParams.get('redirect_uri')!;
    stop.abort(new Error('stopped by hand'));
  };
  const waiting = signInTo({ url: server.url, tokens, onUrl, signal: stop.signal });
  await expect(waiting).rejects.toThrow('stopped by hand');
  await expect(fetch(redirect)).rejects.toThrow('fetch failed');
});

it('keeps sign-ins apart, forgets one, and names a file that is damaged', async () => {
  await using dir = await tempDir();
  await chmod(dir.path, 0o755);
  const tokens = openRefreshTokenFiles(dir.path);
  const entry = {
    url: 'https://a.example/mcp',
    issuer: 'https://b.example',
    resource: '',
    clientId: 'c',
    refreshToken: 'r',
  };
  await tokens.write('my server', entry);
  await tokens.write('my_server', { ...entry, refreshToken: 'r2' });
  expect(await tokens.read('my server')).toEqual(entry);
  expect(await tokens.forget('my server')).toBe(true);
  expect(await tokens.forget('my server')).toBe(false);
  expect(await tokens.read('my server')).toBeUndefined();
  const [file = '', ...rest] = await readdir(dir.path);
  expect(rest).toEqual([]);
  const path = join(dir.path, file);
  expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ server: 'my_server', refreshToken: 'r2' });
  for (const damaged of ['{"refreshToken":"r2"', '{"refreshToken":"r2"}']) {
    await writeFile(path, damaged);
    await expect(tokens.read('my_server')).rejects.toMatchObject({
      code: 'auth_failed',
      message: expect.stringContaining(path),
    });
  }
});
