import { expect, test } from 'vitest';
import { signalbox } from '../support/cli/command-line.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import {
  connectHttpFace,
  initialize,
  modernCall,
  openRequest,
  rawRequest,
  validHeaders,
} from '../support/worker/http-face.ts';
import { startFaceAt, startFaceProcess } from '../support/worker/http-face-process.ts';

test('callers whose face is killed in mid-call fail at once, in both eras, and go on with the next face', async () => {
  await using stack = await startToolStack({ drainMs: 0 });
  await using face = await startFaceProcess(stack.broker.url);
  const token = await stack.broker.token('wim');
  await using then = await connectHttpFace(face.url, token, 'legacy');
  await using now = await connectHttpFace(face.url, token, 'modern');
  const calls = [then, now].map(({ call }) =>
    call('mcp_counter__slow', { ms: 60_000 }).then(
      () => 'answered',
      (thrown: Error) => thrown,
    ),
  );
  await expect.poll(() => stack.ran('slow').length).toBe(2);
  face.kill('SIGKILL');
  // The broken connection ends them, not their own timeout.
  for (const call of calls) expect(await call).toMatchObject({ message: 'fetch failed' });
  await using _next = await startFaceAt(face.port, stack.broker.url);
  const session = then.transport.sessionId;
  for (const { call } of [then, now])
    expect(await call('mcp_counter__echo', { n: 1 })).toMatchObject({ structuredContent: { n: 1 } });
  expect(then.transport.sessionId).toBe(session);
});

test('the command says where it listens, answers what runs when it is asked to end, and exits with 0', async () => {
  await using stack = await startToolStack();
  await using face = await startFaceProcess(stack.broker.url, '--allow-host', 'gateway.example');
  expect(face.url).toBe(`http://127.0.0.1:${face.port}/mcp`);
  const token = await stack.broker.token('wim');
  const headers = validHeaders(token, { host: 'gateway.example' });
  const opened = await rawRequest(face.port, { headers, body: initialize });
  const session = { ...headers, 'mcp-session-id': String(opened.headers['mcp-session-id']) };
  await using stream = openRequest(face.port, { method: 'GET', headers: session });
  const call = rawRequest(face.port, modernCall(token, 'mcp_counter__slow', { ms: 60_000 }));
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  face.kill('SIGTERM');
  expect((await call).text).toContain('"code":"cancelled"');
  await stream.ended;
  expect(await face.ended).toEqual([0, null]);
  expect(face.stdout()).toBe('');
  await expect.poll(() => stack.ran('slow').map(({ at }) => at)).toEqual(['start', 'cancelled']);
});

test('a wrong command line for a face over HTTP is refused with the reason', async () => {
  const refused = await Promise.all([
    signalbox(['worker', 'mcp', '--http', 'nowhere']),
    signalbox(['worker', 'mcp', '--http', '0.0.0.0:0']),
    signalbox(['worker', 'mcp', '--http', '127.0.0.1:0', '--token-file', 'x.token']),
    signalbox(['worker', 'mcp', '--allow-host', 'box']),
  ]);
  expect(refused.map(({ code, stderr }) => `${code} ${stderr}`)).toEqual([
    expect.stringContaining("2 signalbox: --http 'nowhere' is not HOST:PORT"),
    expect.stringContaining("2 signalbox: listening on '0.0.0.0' would send tokens and calls unencrypted"),
    expect.stringContaining('2 signalbox: --token-file means nothing with --http'),
    expect.stringContaining("2 signalbox: option '--allow-host' goes with --http only"),
  ]);
});
