import { openPostgresStores } from '@signalbox/postgres';
import type { ClusterListener } from '@signalbox/store';
import { testSchema } from './test-store.ts';

/** One broker's share in a schema, and the events that it was told of. */
export type Share = Awaited<ReturnType<typeof openPostgresStores>> & { heard: string[] };

/** Opens the shares of two brokers in one schema. Each records the events that it was told of. */
export async function openTwoShares() {
  await using opening = new AsyncDisposableStack();
  const schema = opening.use(await testSchema());
  const open = async (broker: string): Promise<Share> => {
    const opened = opening.use(await openPostgresStores({ ...schema, broker }));
    const heard: string[] = [];
    const listener: ClusterListener = {
      wake: (inbox) => void heard.push(`wake ${inbox}`),
      came: (inbox) => void heard.push(`wake ${inbox}`),
      freed: (inbox, seqs) => void heard.push(`freed ${inbox} ${seqs}`),
      lost: (inbox) => void heard.push(`lost ${inbox}`),
      cancelled: (requests) => void heard.push(`cancelled ${requests.map(({ id }) => id)}`),
      told: () => {},
    };
    opened.cluster.listen(listener);
    return { ...opened, heard };
  };
  const one = await open('one');
  const other = await open('other');
  const opened = opening.move();
  return { schema, one, other, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
