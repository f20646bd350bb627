import { expect, test } from 'vitest';
import { type RawCall, startRawHttpServer } from '../support/mcp-host/raw-http-server.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectHttpFace, modernCall, rawRequest, startHttpFaceStack } from '../support/worker/http-face.ts';
import { connectFace, eras } from '../support/worker/mcp-client.ts';
import { faceWithTasks } from '../support/worker/task-client.ts';

type Json = Record<string, unknown>;

const odd = {
  content: [
    { type: 'vendor/chart', data: [1, 2] },
    { type: 'text', text: 'x', 'x-mark': 1 },
  ],
  success: 'of its own',
  text: 'of its own',
  'x-vendor': { deep: [null] },
  _meta: { 'vendor/trace': 'abc' },
};
const notFound = { code: -32002, message: 'no such file', data: { uri: 'file:///a' } };
/** The SDK's client reads the code as another one if the data names a URI. */
const gone = { code: -32002, data: { path: '/a' } };
const steps = [
  { progress: 1, _meta: { 'vendor/step': 'one' } },
  { progress: 1, total: 2, _meta: { 'vendor/step': 'two' } },
];

/** Each step is followed by the answer, or by the next one, in one stream. */
const progressing: RawCall = ({ _meta }) => [
  ...steps.map((step) => ({
    method: 'notifications/progress',
    params: { progressToken: (_meta as Json).progressToken, ...step },
  })),
  { result: odd },
];

const tools = {
  odd: { call: () => [{ result: odd }] },
  missing: { call: () => [{ error: notFound }] },
  gone: { call: () => [{ error: { ...gone, message: 'gone' } }] },
  progressing: { call: progressing },
  asking: { call: () => [{ id: 'asked', method: 'roots/list' }, { result: odd }] },
};

test.each(eras)(
  'What a %s server says in its own words passes raw: content of unknown types, fields, codes, progress.',
  async (era) => {
    await using server = await startRawHttpServer(era, tools);
    await using opened = await startHttpFaceStack({
      servers: { raw: { type: 'http', url: server.url, prefix: false } },
      counter: false,
    });
    const { stack, face } = opened;
    const executor = await stack.executor('agent');
    const token = await stack.broker.tokenOf('agent');
    for (const clientEra of eras) {
      await using overPipe = await connectFace(executor, { era: clientEra });
      // The SDK's client would refuse this content from a modern server.
      const answered = async (name: string): Promise<Json> => {
        await overPipe.call(name).catch(() => {});
        return overPipe.written.at(-1) as Json;
      };
      const isModern = clientEra === 'modern';
      const { result } = (await answered('odd')) as { result: Json };
      expect(result).toEqual({ ...odd, ...(isModern && { resultType: 'complete', _meta: result._meta }) });
      expect(result._meta).toMatchObject(odd._meta);
      // The current revision has no such code.
      const code = isModern ? -32602 : notFound.code;
      expect(await answered('missing')).toMatchObject({ error: { ...notFound, code } });
    }
    const { status, text } = await rawRequest(face.port, modernCall(token, 'odd', {}));
    expect({ status, result: JSON.parse(text).result }).toMatchObject({ status: 200, result: odd });
    await using overHttp = await connectHttpFace(face.url, token, 'legacy');
    const error = await overHttp.call('gone').catch((thrown) => thrown);
    expect(error).toMatchObject(gone);
    const told: Json[] = [];
    const onprogress = (progress: object) => told.push({ ...progress });
    expect(await overHttp.call('progressing', {}, { onprogress })).toEqual(odd);
    expect(told).toEqual(steps);
    await overHttp.call('asking');
    const refusal = expect.objectContaining({
      id: 'asked',
      error: expect.objectContaining({ code: -32601 }),
    });
    await expect.poll(() => server.received).toContainEqual(refusal);
  },
);

test.each(eras)(
  'A %s server is not told of clients that know tasks, and a task of its own is an error that says so.',
  async (era) => {
    const task = {
      taskId: 't',
      status: 'working',
      createdAt: '2026-11-26T00:00:00Z',
      lastUpdatedAt: '2026-11-26T00:00:00Z',
      ttlMs: 1,
    };
    const result = era === 'modern' ? { resultType: 'task', ...task } : { task };
    await using server = await startRawHttpServer(era, { tasking: { call: () => [{ result }] } });
    await using stack = await startToolStack({
      servers: { raw: { type: 'http', url: server.url, prefix: false } },
      counter: false,
    });
    await using client = await faceWithTasks(await stack.executor('agent'));
    expect(await client.ask('tools/call', { name: 'tasking', arguments: {} })).toMatchObject({
      result: {
        isError: true,
        structuredContent: {
          error: {
            may_have_run: true,
            message: expect.stringContaining("a result of the kind 'task', which it was not asked for"),
          },
        },
      },
    });
    const called = server.received.find(({ method }) => method === 'tools/call');
    expect(JSON.stringify(called)).not.toContain('io.modelcontextprotocol/tasks');
  },
);

test('A call whose headers contradict its arguments is refused, and its server gets no request.', async () => {
  const properties = { region: { type: 'string', 'x-mcp-header': 'Region' } };
  const definition = { inputSchema: { type: 'object' as const, properties } };
  await using server = await startRawHttpServer('modern', {
    regional: { definition, call: () => [{ result: { content: [] } }] },
  });
  await using opened = await startHttpFaceStack({
    servers: { raw: { type: 'http', url: server.url, prefix: false } },
    counter: false,
  });
  const { stack, face } = opened;
  const { body, headers } = modernCall(await stack.broker.tokenOf('agent'), 'regional', { region: 'north' });
  const calls = () => server.received.filter(({ method }) => method === 'tools/call').length;
  for (const more of [{}, { 'mcp-param-region': 'south' }]) {
    const { status, text } = await rawRequest(face.port, { body, headers: { ...headers, ...more } });
    expect({ status, ...JSON.parse(text) }).toMatchObject({ status: 400, id: 1, error: { code: -32020 } });
  }
  expect(calls()).toBe(0);
  const right = { ...headers, 'Mcp-Param-Region': 'north' };
  expect((await rawRequest(face.port, { body, headers: right })).status).toBe(200);
  expect(calls()).toBe(1);
});
