import fc from 'fast-check';

/** One of the three connections of the recipient. There are also only two senders and few ids, so that they meet often. */
export type Connection = 0 | 1 | 2;
export type SenderName = 'alice' | 'carol';

/** One step of a sequence on the wire. `pick` chooses one of the messages that were pushed so far. */
export type BrokerOp =
  | { op: 'deliver'; sender: SenderName; id: string; kind: 'ask' | 'note'; body: string; brief: boolean }
  | { op: 'subscribe'; as: Connection; window: number }
  | { op: 'ack' | 'nack' | 'kill'; as: Connection; pick: number }
  | { op: 'reply'; as: Connection; pick: number; replyId: 're' | 'again'; settles: boolean }
  | { op: 'cancel'; sender: SenderName; id: string }
  | { op: 'leave'; as: Connection }
  | { op: 'advance'; ms: number }
  | { op: 'step'; how: 'back' | 'forward' }
  | { op: 'restart' };

const connection = fc.constantFrom<Connection>(0, 1, 2);
const sender = fc.constantFrom<SenderName>('alice', 'carol');
const id = fc.constantFrom('p', 'q', 'r', 's', 't');

const deliver = fc.record({
  op: fc.constant('deliver' as const),
  sender,
  id,
  kind: fc.constantFrom('ask' as const, 'note' as const),
  body: fc.constantFrom('"1"', '"1"', '"2"'),
  brief: fc.boolean(),
});
const subscribe = fc.record({
  op: fc.constant('subscribe' as const),
  as: connection,
  window: fc.integer({ min: 1, max: 4 }),
});
const settle = fc.record({
  op: fc.constantFrom('ack', 'ack', 'nack', 'kill'),
  as: connection,
  pick: fc.nat({ max: 30 }),
}) as fc.Arbitrary<BrokerOp>;
const reply = fc.record({
  op: fc.constant('reply' as const),
  as: connection,
  pick: fc.nat({ max: 30 }),
  replyId: fc.constantFrom('re' as const, 're' as const, 'again' as const),
  settles: fc.boolean(),
});

export const brokerOps: fc.Arbitrary<BrokerOp[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: deliver },
    { weight: 4, arbitrary: subscribe },
    { weight: 7, arbitrary: settle },
    { weight: 4, arbitrary: reply },
    { weight: 2, arbitrary: fc.record({ op: fc.constant('cancel' as const), sender, id }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('leave' as const), as: connection }) },
    {
      weight: 1,
      arbitrary: fc.record({
        op: fc.constant('advance' as const),
        ms: fc.constantFrom(1000, 21_000, 61_000),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        op: fc.constant('step' as const),
        how: fc.constantFrom('back' as const, 'forward' as const),
      }),
    },
    { weight: 1, arbitrary: fc.constant<BrokerOp>({ op: 'restart' }) },
  ),
  { minLength: 5, maxLength: 45, size: 'max' },
);
