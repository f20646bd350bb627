import { once } from 'node:events';
import { connectBroker, type ServedReply, type ServedRequest } from '@signalbox/client';
import { identityFrom } from '../identity.ts';

/** The ways in which a worker of this example behaves: real ones fail, stall and are late, too. */
export type Behaviour = 'answers' | 'fails' | 'stalls' | 'is late';

const behaviours: Record<Behaviour, (request: ServedRequest) => Promise<ServedReply>> = {
  answers: async ({ json }) => {
    const { text } = json as { text: string };
    return { kind: 'reply', body: { words: text.split(' ').length } };
  },
  // An answer reports a failure that a second try would not mend. Throwing would mean: try again.
  fails: async () => ({ kind: 'reply', body: { error: { code: 'no_dictionary' } } }),
  stalls: (request) => {
    request.progress({ begun: true });
    return new Promise(() => {});
  },
  'is late': async () => {
    // It answers when the supervisor says that the deadline is over.
    await once(process, 'message');
    return { kind: 'reply', body: { words: 9 }, settled: () => process.send?.({ answered: true }) };
  },
};

const client = await connectBroker(identityFrom());
await client.serve(['task'], behaviours[process.argv[2] as Behaviour]);
// Without the supervisor nobody wants our work. Messages that are stored in our inbox stay there.
process.once('disconnect', () => process.exit(0));
process.send?.({ ready: true });
