import { connectBroker } from '@signalbox/client';
import type { Message } from '@signalbox/protocol';
import type { TestBroker } from '@signalbox/testing';

/** An agent of its own, with messages from walt in its inbox. */
export async function agentWith(broker: TestBroker, agent: string, bodies: readonly unknown[]) {
  const env = { SIGNALBOX_TOKEN: await broker.tokenOf(agent), SIGNALBOX_URL: broker.url };
  await using walt = await connectBroker({ ...(await senderOf(broker, 'walt')), agent: 'walt' });
  for (const [at, body] of bodies.entries()) {
    await walt.deliver({ to: agent, kind: 'note', id: `${agent}-${at}`, body });
  }
  const waitingIds = async (): Promise<string[]> => {
    await using client = await connectBroker({ ...(await senderOf(broker, agent)), agent });
    const messages: Message[] = [];
    let page: Message[];
    do {
      page = await client.peek({ after: messages.at(-1)?.seq ?? 0 });
      messages.push(...page);
    } while (page.length > 0);
    return messages.map(({ id }) => id);
  };
  return { env, waitingIds };
}

/** Returns how an agent connects. */
export async function senderOf(broker: TestBroker, agent: string) {
  return { url: broker.url, token: await broker.tokenOf(agent) };
}
