import { connectBroker } from '@signalbox/client';
import type { TestBroker } from '@signalbox/testing';
import { jsonOf, signalbox } from './command-line.ts';

/** Lets a reader give up what it is sent: one dead letter for each text. */
export async function giveUp(broker: TestBroker, reader: string, texts: readonly string[]): Promise<void> {
  const { url } = broker;
  await using sender = await connectBroker({ url, token: await broker.token('rosa'), agent: 'rosa' });
  await using receiver = await connectBroker({ url, token: await broker.token(reader), agent: reader });
  for (const body of texts) await sender.deliver({ to: reader, kind: 'task', body });
  await using subscription = await receiver.subscribe();
  for (const text of texts) {
    const { value } = await subscription.messages.next();
    await receiver.nack([value!.seq!], { dead: true, reason: `cannot do ${text}` });
  }
}

export interface Listed {
  messages: { seq: number; inbox: string }[];
  more: boolean;
}

export async function listed(broker: TestBroker, ...args: string[]): Promise<Listed> {
  return jsonOf(await signalbox(['dead', 'list', '--data', broker.dataDir, '--json', ...args])) as Listed;
}
