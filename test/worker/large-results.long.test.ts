import { expect, test } from 'vitest';
import { connectHttpFace, startHttpFaceStack } from '../support/worker/http-face.ts';
import { large } from '../support/worker/large-results.ts';

test('Results of 5 MB and 20 MB arrive if the broker takes bodies of that size, also deep results and results of many values.', async () => {
  await using opened = await startHttpFaceStack({
    servers: { large },
    counter: false,
    broker: { limits: { message: { bytes: 24 * 1024 * 1024 } } },
  });
  const executor = await opened.stack.executor('agent');
  const token = await opened.stack.broker.tokenOf('agent');
  await using client = await connectHttpFace(opened.face.url, token, 'modern');
  const texts = (await client.call('mcp_large__text', { size: 5e6 })).content as { text: string }[];
  expect(texts[0]?.text).toHaveLength(5e6);
  const { result } = await executor.execute({ name: 'mcp_large__text', arguments: { size: 20e6 } });
  expect(result?.text).toHaveLength(20e6);
  const deep = await client.call('mcp_large__nested', { size: 250 });
  expect(JSON.stringify(deep.structuredContent)).toHaveLength(2 * 250 + '"leaf"'.length);
  expect((await client.call('mcp_large__values', { size: 300_000 })).structuredContent).toHaveLength(300_000);
});
