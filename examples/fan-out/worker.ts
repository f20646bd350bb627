import { once } from 'node:events';
import { connectBroker, type ServedReply, type ServedRequest } from '@signalbox/client';
import { identityFrom } from '../identity.ts';

/** How this worker behaves: what goes wrong with real ones, to order. */
export type Part = 'answers' | 'fails' | 'stalls' | 'is late';

const parts: Record<Part, (request: ServedRequest) => Promise<ServedReply>> = {
  answers: async ({ json }) => {
    const { text } = json as { text: string };
    return { kind: 'reply', body: { words: text.split(' ').length } };
  },
  // A failure that a second try would not mend is an answer. To throw would mean: try again.
  fails: async () => ({ kind: 'reply', body: { error: { code: 'no_dictionary' } } }),
  stalls: (request) => {
    request.progress({ begun: true });
    return new Promise(() => {});
  },
  'is late': async () => {
    // To order: when the supervisor says that the deadline is over.
    await once(process, 'message');
    return { kind: 'reply', body: { words: 9 }, settled: () => process.send?.({ answered: true }) };
  },
};

const client = await connectBroker(identityFrom());
await client.serve(['task'], parts[process.argv[2] as Part]);
// Without the supervisor nobody wants our work. What is stored in our inbox stays there.
process.once('disconnect', () => process.exit(0));
process.send?.({ ready: true });
