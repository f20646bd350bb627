import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AcpStage, startAcpStage } from '../support/serve/acp-stage.ts';
import { serveAcp } from '../support/serve/served-acp.ts';

let stage: AcpStage;

beforeAll(async () => {
  stage = await startAcpStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

test('signalbox ask is answered by an agent that speaks ACP, with our tools, in the mode that was named, and a thread goes on with its session.', async () => {
  await using served = await serveAcp(stage.workspace, 'walker', { args: ['--mode', 'plan'] });
  const said = async (text: string) => (await stage.command('ask', 'walker', text, '--thread', 't')).stdout;
  expect(await said('hello')).toBe('session-1, turn 1, mode plan, echo Echo: hello\n');
  // The mode is forgotten with the process, and set again.
  expect(await said('again')).toBe('session-1, turn 2, mode plan, echo Echo: hello\n');
  expect(served.events('turn_ended')).toMatchObject([{ outcome: 'answered' }, { outcome: 'answered' }]);
  expect(served.warnings('no_tools')).toEqual([]);
  await served.stop();
});
