import { createGuardedFetch } from '@signalbox/mcp-host/guarded-fetch';
import { createAuthorizer, hostsOfAuth } from '@signalbox/mcp-host/server-auth';
import { lastingPort } from '@signalbox/testing';
import { afterAll, expect, it } from 'vitest';
import { hello, noSignIns, startWithAuth } from '../support/mcp-host/oauth/host-with-sign-ins.ts';
import { startProtectedServer } from '../support/mcp-host/oauth/protected-server.ts';
import { machine, startOAuthProvider, subjectToken } from '../support/mcp-host/oauth/provider.ts';
import { call, startTestHost, type TestHost } from '../support/mcp-host/test-host.ts';

const provider = await startOAuthProvider();
afterAll(() => provider[Symbol.asyncDispose]());

const credentials = { type: 'client_credentials', ...machine, scope: 'tools' } as const;
const exchange = {
  ...credentials,
  type: 'token_exchange',
  issuer: provider.issuer,
  subjectToken,
  audience: 'tools',
} as const;

function tokensOf(host: TestHost) {
  return host.events.filter(({ event }) => event === 'auth_ready').length;
}

it('gets a token with client credentials from the authorization server that the server names', async () => {
  await using server = await startProtectedServer(provider);
  await using host = startWithAuth({ web: [server.url, credentials] });
  expect((await host.inventory()).problems).toEqual([]);
  expect(host.servers()).toMatchObject([{ state: 'ready', auth: 'ready' }]);
  expect(await call(host, 'mcp_web__greet')).toMatchObject(hello);
  expect([...server.eras]).toEqual(['modern']);
});

it('shows its token to a server of the 2025 revision, too', async () => {
  await using server = await startProtectedServer(provider);
  const authorizerFor = () => aTokenSource(server.url);
  const config = { type: 'http', url: server.url, auth: credentials, protocol: 'legacy' } as const;
  await using host = startTestHost({ servers: { web: config }, authorizerFor });
  await host.inventory();
  expect(await call(host, 'mcp_web__greet')).toMatchObject(hello);
  expect([...server.eras]).toEqual(['legacy']);
});

it("exchanges the gateway's session for a token, and shows a fixed token as it is", async () => {
  await using server = await startProtectedServer(provider);
  await using host = startWithAuth({ exchanged: [server.url, exchange] });
  await host.inventory();
  expect(await call(host, 'mcp_exchanged__greet')).toMatchObject(hello);
  expect(provider.tokenRequests.at(-1)).toBe('urn:ietf:params:oauth:grant-type:token-exchange');
  const token = [...server.shown].at(-1)!;
  expect(token).not.toBe(subjectToken);
  await using fixed = startWithAuth({ fixed: [server.url, { type: 'bearer', token }] });
  await fixed.inventory();
  expect(await call(fixed, 'mcp_fixed__greet')).toMatchObject(hello);
  expect(fixed.servers()).toMatchObject([{ auth: 'ready' }]);
});

it('sends a subject token only where the configuration says', async () => {
  await using server = await startProtectedServer(provider);
  const { issuer: _unnamed, ...auth } = exchange;
  const { length } = provider.tokenRequests;
  await using host = startWithAuth({ web: [server.url, auth] });
  expect((await host.inventory()).problems).toMatchObject([
    { message: expect.stringContaining('token_exchange needs issuer or tokenUrl') },
  ]);
  expect(provider.tokenRequests).toHaveLength(length);
});

it('asks for one token for 30 calls, and again 30 s before it ends', async () => {
  await using server = await startProtectedServer(provider);
  const clock = { ms: 1_000_000 };
  await using host = startWithAuth({ web: [server.url, credentials] }, { clock });
  await host.inventory();
  const calls = () => Promise.all(Array.from({ length: 30 }, () => call(host, 'mcp_web__greet')));
  clock.ms += 569_999;
  expect(await calls()).toMatchObject(Array(30).fill(hello));
  expect(tokensOf(host)).toBe(1);
  clock.ms += 1;
  expect(await calls()).toMatchObject(Array(30).fill(hello));
  expect(tokensOf(host)).toBe(2);
  expect(server.called).toHaveLength(60);
});

it('lets one who waits for a token give up without the others', async () => {
  await using server = await startProtectedServer(provider);
  const authorizer = aTokenSource(server.url);
  const impatient = new AbortController();
  const first = authorizer.header(impatient.signal);
  const second = authorizer.header(new AbortController().signal);
  expect(authorizer.state).toBe('connecting');
  impatient.abort(new Error('no time'));
  await expect(first).rejects.toThrow('no time');
  expect(await second).toMatch(/^Bearer .+/);
  expect(authorizer.state).toBe('ready');
});

it('renews a token once that the server refuses, and makes the calls', async () => {
  await using server = await startProtectedServer(provider);
  await using host = startWithAuth({ web: [server.url, credentials] });
  await host.inventory();
  const refused = [...server.shown];
  expect(refused).toHaveLength(1);
  server.distrusted.add(refused[0]!);
  const calls = await Promise.all(Array.from({ length: 10 }, () => call(host, 'mcp_web__greet')));
  expect(calls).toMatchObject(Array(10).fill(hello));
  expect(tokensOf(host)).toBe(2);
  expect(server.called).toHaveLength(10);
});

it('gives up when the server refuses the new token as well, while another server goes on', async () => {
  await using server = await startProtectedServer(provider);
  await using other = await startProtectedServer(provider);
  await using host = startWithAuth({ web: [server.url, credentials], other: [other.url, credentials] });
  await host.inventory();
  server.closed = true;
  const outcome = await call(host, 'mcp_web__greet', {}, { timeoutMs: 1_000 });
  expect(outcome).toMatchObject({
    error: { may_have_run: false, message: expect.stringContaining('refused a new token, too (HTTP 401)') },
  });
  expect(host.servers()).toMatchObject([
    { name: 'web', auth: 'failed' },
    { name: 'other', auth: 'ready' },
  ]);
  expect(await call(host, 'mcp_other__greet')).toMatchObject(hello);
  server.closed = false;
  expect(await call(host, 'mcp_web__greet')).toMatchObject(hello);
  expect(host.servers()).toMatchObject([{ auth: 'ready' }, {}]);
  expect(server.called).toEqual(['greet']);
});

it('names a scope that is missing, and keeps the connection', async () => {
  await using server = await startProtectedServer(provider);
  await using host = startWithAuth({ web: [server.url, credentials] });
  await host.inventory();
  expect(await call(host, 'mcp_web__admin')).toMatchObject({
    error: { may_have_run: false, message: expect.stringContaining("the scope 'admin'") },
  });
  expect(server.called).toEqual([]);
  expect(await call(host, 'mcp_web__greet')).toMatchObject(hello);
  expect(host.servers()).toMatchObject([{ state: 'ready', restarts: 0 }]);
});

it('says what is wrong with a secret without saying the secret', async () => {
  await using server = await startProtectedServer(provider);
  const wrong = { clientId: machine.clientId, clientSecret: 'wrong+secret/654321' };
  await using host = startWithAuth({
    web: [server.url, { ...credentials, ...wrong }],
    exchanged: [server.url, { ...exchange, subjectToken: 'session-that-ended' }],
    fixed: [server.url, { type: 'bearer', token: 'fixed-token-1' }],
    fine: [server.url, credentials],
  });
  const { problems, tools } = await host.inventory();
  expect(problems.map(({ message }) => message)).toEqual([
    expect.stringMatching(/invalid_client.*check auth\.clientId and auth\.clientSecret/),
    expect.stringMatching(/invalid_request/),
    expect.stringMatching(/check auth\.token/),
  ]);
  expect(tools.map(({ name }) => name)).toContain('mcp_fine__greet');
  const basic = Buffer.from(`machine:${encodeURIComponent(wrong.clientSecret)}`).toString('base64');
  const said = JSON.stringify([host.events, host.servers(), problems]);
  for (const secret of [wrong.clientSecret, basic, 'session-that-ended', 'fixed-token-1']) {
    expect(said).not.toContain(secret);
  }
});

it("takes its token out of a server's own words", async () => {
  await using server = await startProtectedServer(provider);
  await using host = startWithAuth({ web: [server.url, credentials] });
  await host.inventory();
  const outcome = JSON.stringify(await call(host, 'mcp_web__leak'));
  expect(outcome).toContain('cannot work with [redacted]');
  expect(server.shown.size).toBe(1);
  expect(outcome).not.toContain([...server.shown][0]);
});

it('says that nobody answers where tokens should come from', async () => {
  await using server = await startProtectedServer(provider);
  const auth = { ...credentials, tokenUrl: `http://127.0.0.1:${await lastingPort()}/token` };
  await using host = startWithAuth({
    web: [server.url, auth],
    plain: [server.url, { ...auth, tokenUrl: 'http://auth.example/' }],
  });
  expect((await host.inventory()).problems).toMatchObject([
    { message: expect.stringContaining('the authorization server cannot be reached (ECONNREFUSED)') },
    { message: expect.stringContaining("'auth.example' without encryption") },
  ]);
});

it('asks private addresses for tokens only if the operator wrote them down', async () => {
  await using server = await startProtectedServer(provider);
  const { url } = server;
  const headerBy = async (auth: typeof credentials & { issuer?: string }) => {
    await using guarded = createGuardedFetch({ allowHosts: hostsOfAuth(url, auth) });
    const options = { server: 'web', url, auth, tokens: noSignIns, log: () => {} };
    return await createAuthorizer({ ...options, fetch: guarded }).header(new AbortController().signal);
  };
  expect(await headerBy({ ...credentials, issuer: provider.issuer })).toMatch(/^Bearer /);
  await expect(headerBy(credentials)).rejects.toMatchObject({
    code: 'auth_failed',
    message: expect.stringMatching(/^the authorization server cannot be used: .*127\.0\.0\.1/),
  });
});

function aTokenSource(url: string) {
  const log = () => {};
  return createAuthorizer({ server: 'web', url, auth: credentials, tokens: noSignIns, fetch, log });
}
