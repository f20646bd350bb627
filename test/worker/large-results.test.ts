import { expect, test } from 'vitest';
import { startHttpFaceStack } from '../support/worker/http-face.ts';
import { large } from '../support/worker/large-results.ts';

test('A text result counts once towards the size of a body, and the refusal of a longer one says the limit.', async () => {
  await using opened = await startHttpFaceStack({
    servers: { large },
    counter: false,
    broker: { limits: { message: { bytes: 200_000 } } },
  });
  const executor = await opened.stack.executor('agent');
  const sized = (size: number) => executor.execute({ name: 'mcp_large__text', arguments: { size } });
  expect((await sized(199_000)).result?.text).toHaveLength(199_000);
  expect(await sized(200_000)).toMatchObject({
    error: {
      code: 'result_too_large',
      message: 'the result is 200050 bytes long; at most 200000 can be delivered',
      hint: expect.stringContaining('broker.limits.message.bytes'),
    },
  });
});
