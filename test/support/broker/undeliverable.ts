import { startTestBroker, type TestBroker, type WireClient } from '@signalbox/testing';
import { connect, connectOperator, subscribe } from './wire-actions.ts';

interface Setup extends AsyncDisposable {
  broker: TestBroker;
  alice: WireClient;
  bob: WireClient;
  operator: WireClient;
  advance(ms: number): void;
}

/** A broker whose clock the test moves, and three who are connected; alice reads what she gets. */
export async function setUp(): Promise<Setup> {
  let now = 1_000_000;
  await using opened = new AsyncDisposableStack();
  const broker = opened.use(await startTestBroker({ now: () => now }));
  const alice = opened.use(await connect(broker, 'alice#one'));
  const bob = opened.use(await connect(broker, 'bob'));
  const operator = opened.use(await connectOperator(broker));
  await subscribe(alice);
  const resources = opened.move();
  return {
    broker,
    alice,
    bob,
    operator,
    advance: (ms) => {
      now += ms;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
