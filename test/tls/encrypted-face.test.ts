import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { testAuthority } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { startHttpFaceStack } from '../support/worker/http-face.ts';

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

it('An HTTP face serves https, with another certificate once it has one, and tells clients that do not encrypt.', async () => {
  const { ca, issue } = await testAuthority();
  await using set = await startHttpFaceStack({}, { tls: await issue({ names: ['localhost'] }) });
  const { face, stack } = set;
  expect(face.url).toBe(`https://localhost:${face.port}/mcp`);
  const headers = {
    authorization: `Bearer ${await stack.broker.token('rosa')}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  };
  const call = async (): Promise<{ names: string | undefined; answer: string }> => {
    const sent = request(face.url, { ca, agent: false, method: 'POST', headers });
    sent.end(JSON.stringify(initialize));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const names = (response.socket as TLSSocket).getPeerCertificate().subjectaltname;
    return { names, answer: await text(response) };
  };
  const first = await call();
  expect(first.names).toBe('DNS:localhost');
  expect(first.answer).toContain('"serverInfo"');
  face.setTls(await issue({ names: ['localhost', 'new.example.com'] }));
  expect((await call()).names).toContain('new.example.com');
  const plain = await fetch(face.url.replace('https:', 'http:'), { method: 'POST' });
  expect(plain.status).toBe(426);
  expect(await plain.text()).toContain('https://');
});
