import { Agent } from 'node:http';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { expect, test } from 'vitest';
import { admin, connectOperator } from '../support/broker/wire-actions.ts';
import {
  connectHttpFace,
  initialize,
  modernCall,
  openRequest,
  rawRequest,
  startHttpFaceStack,
  validHeaders,
} from '../support/worker/http-face.ts';
import { eras } from '../support/worker/mcp-client.ts';

test.each(eras)(
  'two agents on one face see and call what their own roles may, as %s clients',
  async (era) => {
    await using site = await startHttpFaceStack({
      allowlist: RoleToolAllowlist.fromEntries([
        ['reader', ['mcp_counter__echo']],
        ['writer', ['mcp_counter__echo', 'mcp_counter__count']],
      ]),
    });
    const { stack, face } = site;
    await using rita = await connectHttpFace(face.url, await stack.broker.token('rita', 'reader'), era);
    await using walt = await connectHttpFace(`${face.url}/`, await stack.broker.token('walt', 'writer'), era);
    expect(rita.client.getInstructions()).toContain("you are 'rita'");
    expect(walt.client.getInstructions()).toContain("the role 'writer'");
    expect(await rita.hostedTools()).toEqual(['mcp_counter__echo']);
    expect(await walt.hostedTools()).toEqual(['mcp_counter__count', 'mcp_counter__echo']);
    expect(await rita.call('mcp_counter__echo', { n: 1 })).toMatchObject({ structuredContent: { n: 1 } });
    expect(await walt.call('mcp_counter__count')).toMatchObject({ structuredContent: { n: 1 } });
    await expect(rita.call('mcp_counter__count')).rejects.toMatchObject({ code: -32602 });
    expect(stack.ran('count')).toHaveLength(2);
    expect(face.agentCount).toBe(2);
  },
);

test.each(eras)(
  'progress reaches a %s client that asked for it, and a cancellation reaches the server',
  async (era) => {
    await using site = await startHttpFaceStack({}, { heartbeatMs: 100 });
    const { stack, face } = site;
    await using wim = await connectHttpFace(face.url, await stack.broker.token('wim'), era);
    const messages: (string | undefined)[] = [];
    const slept = await wim.call(
      'mcp_counter__slow',
      { ms: 800 },
      { onprogress: ({ message }) => messages.push(message) },
    );
    expect(slept).toMatchObject({ structuredContent: { slept: 800 } });
    // Those that reach a starved process in one breath with the result come too late to be told.
    const steps = messages.filter((text) => text?.startsWith('step'));
    expect(steps).toEqual(['step 1', 'step 2', 'step 3'].slice(0, Math.max(1, steps.length)));
    expect(messages.some((text) => text?.startsWith('still running'))).toBe(true);
    const given = new AbortController();
    const call = wim.call('mcp_counter__slow', { ms: 60_000 }, { signal: given.signal });
    await expect.poll(() => stack.ran('slow').length).toBe(3);
    given.abort();
    await expect(call).rejects.toThrow();
    await expect.poll(() => stack.ran('slow').at(-1)?.at).toBe('cancelled');
    expect(await wim.call('mcp_counter__echo', { n: 2 })).toMatchObject({ structuredContent: { n: 2 } });
  },
);

test.each(eras)('a %s caller that hangs up takes its call with it, down to the server', async (era) => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const token = await stack.broker.token('wim');
  const sound = modernCall(token, 'mcp_counter__slow', { ms: 60_000 });
  const legacy = async () => {
    const opened = await rawRequest(face.port, { headers: validHeaders(token), body: initialize });
    const headers = validHeaders(token, { 'mcp-session-id': String(opened.headers['mcp-session-id']) });
    const params = { name: 'mcp_counter__slow', arguments: { ms: 60_000 } };
    return { headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) };
  };
  const call = openRequest(face.port, era === 'modern' ? sound : await legacy());
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  await call[Symbol.asyncDispose]();
  await expect.poll(() => stack.ran('slow').map(({ at }) => at)).toEqual(['start', 'cancelled']);
});

test('a token that is revoked in mid-session ends its streams and sessions, and its next request gets 401', async () => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const { id, token } = await stack.broker.broker.issueToken({ agent: 'wim', role: 'worker' });
  const kept = await stack.broker.token('kim');
  await using agent = new KeptConnections();
  const begin = async (text: string) => {
    const opened = await rawRequest(face.port, { headers: validHeaders(text), body: initialize, agent });
    const headers = validHeaders(text, { 'mcp-session-id': String(opened.headers['mcp-session-id']) });
    return { headers, stream: openRequest(face.port, { method: 'GET', headers }) };
  };
  const wim = await begin(token);
  const kim = await begin(kept);
  await expect.poll(() => [wim.stream.status(), kim.stream.status()]).toEqual([200, 200]);
  const ping = (headers: Record<string, string>) =>
    rawRequest(face.port, { headers, agent, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
  expect((await ping(wim.headers)).status).toBe(200);
  await using operator = await connectOperator(stack.broker);
  await admin(operator, 'token_revoke', { id });
  await wim.stream.ended;
  expect(await ping(wim.headers)).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': expect.stringContaining('error="invalid_token"') },
  });
  expect((await ping(kim.headers)).status).toBe(200);
  expect(face.agentCount).toBe(1);
  await kim.stream[Symbol.asyncDispose]();
});

test('a face that is asked to end answers what it has running and cancels it in the server', async () => {
  await using site = await startHttpFaceStack();
  const { stack, face } = site;
  const token = await stack.broker.token('wim');
  await using wim = await connectHttpFace(face.url, token, 'legacy');
  const then = wim.call('mcp_counter__slow', { ms: 60_000 });
  const { headers, body } = modernCall(token, 'mcp_counter__slow', { ms: 60_000 });
  const now = rawRequest(face.port, { headers, body });
  await expect.poll(() => stack.ran('slow').length).toBe(2);
  await face.close();
  const cancelled = {
    isError: true,
    structuredContent: { error: { code: 'cancelled', may_have_run: true } },
  };
  expect(await then).toMatchObject(cancelled);
  expect(JSON.parse((await now).text)).toMatchObject({ result: cancelled });
  await expect.poll(() => stack.ran('slow').filter(({ at }) => at === 'cancelled').length).toBe(2);
  await expect(rawRequest(face.port, { headers, body })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

class KeptConnections extends Agent implements AsyncDisposable {
  constructor() {
    super({ keepAlive: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.destroy();
  }
}
