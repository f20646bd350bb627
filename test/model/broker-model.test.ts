import { areStoresInFiles } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { brokerOps } from './broker-ops.ts';
import { agrees, BrokerUnderTest, type InjectedFaults } from './broker-under-test.ts';
import { counterexample, modelSettings } from './model-settings.ts';

it('a running broker agrees with the model over random sequences on the wire', async () => {
  expect(await counterexample(brokerOps, (ops) => agrees(ops), modelSettings(6))).toBeUndefined();
});

const injectedFaults: [string, () => InjectedFaults][] = [
  [
    'forgets an ack',
    () => {
      let acks = 0;
      return { forgetsAck: () => ++acks % 3 === 0 };
    },
  ],
  [
    'stores a message twice',
    () => {
      let delivers = 0;
      return { deliver: (frame) => (++delivers === 3 ? [frame, { ...frame, id: 'twin' }] : [frame]) };
    },
  ],
];

it.each(injectedFaults)('the model finds a broker that %s', async (_name, injected) => {
  const settings = { ...modelSettings(13), endOnFailure: true };
  const report = await counterexample(brokerOps, (ops) => agrees(ops, injected(), 300), settings);
  expect(report).toMatch(/Counterexample/);
});

// A database finds the message that is cancelled after the place was freed: its holder gets it, and is told of the cancel.
it.runIf(areStoresInFiles)(
  'a withdrawn message is not pushed when its place comes before its end is on disk',
  async () => {
    await using tested = await BrokerUnderTest.open();
    await tested.step({ op: 'subscribe', as: 0, window: 1 });
    for (const id of ['p', 'q']) {
      await tested.step({ op: 'deliver', sender: 'alice', id, kind: 'ask', body: '"1"', brief: false });
    }
    // Both reach the broker in the same few milliseconds, in this order.
    await Promise.all([tested.cancel('alice', 'q'), tested.settle('ack', 0, tested.pushed(0))]);
    await tested.compare();
    await tested.finish();
    expect(tested.model.get('alice', 'q')).not.toHaveProperty('seq');
  },
);
