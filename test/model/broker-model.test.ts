import { expect, it } from 'vitest';
import { type BrokerOp, brokerOps } from './broker-ops.ts';
import { BrokerWorld, type Sabotage } from './broker-world.ts';
import { counterexample, modelSettings } from './model-settings.ts';

async function agrees(ops: readonly BrokerOp[], sabotage?: Sabotage, patienceMs?: number): Promise<void> {
  await using world = await BrokerWorld.open(sabotage, patienceMs);
  for (const op of ops) await world.step(op);
  await world.finish();
}

it('a running broker agrees with the model over random sequences on the wire', async () => {
  expect(await counterexample(brokerOps, (ops) => agrees(ops), modelSettings(40))).toBeUndefined();
});

const sabotages: [string, () => Sabotage][] = [
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

it.each(sabotages)('the model finds a broker that %s', async (_name, sabotage) => {
  const settings = { ...modelSettings(25), endOnFailure: true };
  const report = await counterexample(brokerOps, (ops) => agrees(ops, sabotage(), 300), settings);
  expect(report).toMatch(/Counterexample/);
});

it('a withdrawn message is not pushed when its place comes before its end is on disk', async () => {
  await using world = await BrokerWorld.open();
  await world.step({ op: 'subscribe', as: 0, window: 1 });
  for (const id of ['p', 'q']) {
    await world.step({ op: 'deliver', sender: 'alice', id, kind: 'ask', body: '"1"', brief: false });
  }
  // Both reach the broker in the same few milliseconds, in this order.
  await Promise.all([world.cancel('alice', 'q'), world.settle('ack', 0, world.pushed(0))]);
  await world.compare();
  await world.finish();
  expect(world.model.get('alice', 'q')).not.toHaveProperty('seq');
});
