import { expect, it } from 'vitest';
import { brokerOps } from './broker-ops.ts';
import { agrees } from './broker-under-test.ts';
import { counterexample, modelSettings } from './model-settings.ts';

it('a running broker agrees with the model over many random sequences on the wire', async () => {
  expect(await counterexample(brokerOps, (ops) => agrees(ops), modelSettings(25))).toBeUndefined();
});
