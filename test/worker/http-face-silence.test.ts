import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  initialize,
  modernCall,
  openRequest,
  rawRequest,
  startHttpFaceStack,
  validHeaders,
} from '../support/worker/http-face.ts';

test('A silent call without a progress token has a stream that ends with its result, in both eras.', async () => {
  await using opened = await startHttpFaceStack({}, { times: { silenceMs: 30 } });
  const { stack, face } = opened;
  const token = await stack.broker.tokenOf('agent');
  const begun = await rawRequest(face.port, { headers: validHeaders(token), body: initialize });
  const session = { 'mcp-session-id': String(begun.headers['mcp-session-id']) };
  for (const era of ['legacy', 'modern']) {
    const opener = join(stack.directory, era);
    const args = { file: opener };
    const params = { name: 'mcp_counter__gate', arguments: args };
    const legacy = {
      headers: validHeaders(token, session),
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    };
    const call = era === 'legacy' ? legacy : modernCall(token, params.name, args);
    await using request = openRequest(face.port, call);
    // Clients of 2025-11-25 can resume the stream.
    const ids = era === 'legacy' ? ['id: MQ.0\nretry: 3000\ndata: \n\n', 'id: MQ.1\n'] : ['', ''];
    await expect.poll(() => request.text()).toBe(`${ids[0]}: keepalive\n\n`);
    expect(request.status()).toBe(200);
    await writeFile(opener, '');
    await request.ended;
    const answer = request.text().replace(`${ids[0]}: keepalive\n\n${ids[1]}event: message\ndata: `, '');
    expect(JSON.parse(answer)).toMatchObject({ id: 1, result: { structuredContent: { highWater: 1 } } });
    // A client that takes no stream has its answer in one piece.
    const plain = { ...call, headers: { ...call.headers, accept: 'application/json' } };
    if (era === 'legacy')
      expect(JSON.parse((await rawRequest(face.port, plain)).text)).toHaveProperty('result');
  }
});
