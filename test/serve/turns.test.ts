import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServeStage, startServeStage } from '../support/serve/served-agent.ts';

let stage: ServeStage;
const wait = { timeoutMs: 20_000 };

beforeAll(async () => {
  stage = await startServeStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

test('An ask starts a turn with the text, the message and a token of its own, and the output is the reply; nothing is left.', async () => {
  await using rosa = await stage.serve(
    'echo "you said: $(cat)"; grep -c "\\"kind\\": \\"ask\\"" "$SIGNALBOX_MESSAGE_FILE"; cat "$SIGNALBOX_TOKEN_FILE"',
  );
  const outcome = await stage.walt.request('rosa', 'ask', 'hello', wait);
  expect(outcome).toMatchObject({ status: 'completed' });
  const [first, count, token] = String(outcome.status === 'completed' && outcome.reply.json).split('\n');
  expect([first, count]).toEqual(['you said: hello', '1']);
  expect(rosa.tokens.indexOf(token!)).toBe(1);
  const refused = connectBroker({ url: stage.broker.url, token: token!, agent: 'rosa' });
  await expect(refused).rejects.toMatchObject({ code: 'unauthorized' });
  expect(rosa.events.map(({ event }) => event)).toEqual(['serving', 'turn_started', 'turn_ended']);
  expect((await readdir(join(stage.directory, 'serve-1'))).sort()).toEqual(['program']);
  expect(await stage.walt.peek({ address: 'walt' })).toEqual([]);
});
