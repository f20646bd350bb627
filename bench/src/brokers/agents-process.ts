import { type BrokerClient, connectBroker } from '@signalbox/client';
import { monotonicMs } from '../fleet/monotonic-clock.ts';
import { serveParent, setupOf } from '../processes.ts';
import type { AgentsOrder, Arrivals, Connected } from './agents.ts';

/** The number of connections that are made at a time. The broker's limit on unauthenticated connections is 256. */
const lanes = 64;

/** One of the agents, with the times of the shared clock at which it was subscribed and got a message last. */
interface Agent {
  client: BrokerClient;
  subscribedAt: number;
  gotAt: number;
  onMessage: (at: number) => void;
}

const { urls, sender } = setupOf<{ urls: string[]; sender: string }>();
const agents = new Map<string, Agent>();
/** A client that only sends, at each broker. */
const senders = new Map<string, BrokerClient>();
for (const url of urls)
  senders.set(url, await connectBroker({ url, agent: `sender#${senders.size}`, token: sender }));

async function connect(name: string, token: string): Promise<void> {
  const client = await connectBroker({ url: urls.join(','), agent: name, token });
  const agent: Agent = { client, subscribedAt: 0, gotAt: 0, onMessage: () => {} };
  agents.set(name, agent);
  const onSubscribed = (): void => {
    agent.subscribedAt = monotonicMs();
  };
  const { messages } = await client.subscribe({ onSubscribed });
  void (async () => {
    for await (const { seq } of messages) {
      agent.gotAt = monotonicMs();
      agent.onMessage(agent.gotAt);
      await client.ack([seq!]);
    }
  })().catch(() => {});
}

async function connectAll(tokens: [name: string, token: string][]): Promise<Connected> {
  const began = performance.now();
  const left = tokens.values();
  const lane = async (): Promise<void> => {
    for (const [name, token] of left) await connect(name, token);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const at = Object.fromEntries(urls.map((url) => [url, namesAt(url).length]));
  return { connectedMs: performance.now() - began, at };
}

function namesAt(url: string): string[] {
  return [...agents].filter(([, { client }]) => client.url === url).map(([name]) => name);
}

async function deliverTo(name: string, from: string): Promise<number> {
  const agent = agents.get(name)!;
  const got = new Promise<number>((resolve) => {
    agent.onMessage = resolve;
  });
  const sentAt = monotonicMs();
  await senders.get(from)!.deliver({ to: name, kind: 'note', body: { n: 1 } });
  return (await got) - sentAt;
}

/** Sends one message after the other, each to the next agent at a broker, from this broker and another one in turn. */
async function wakeUp({ at, samples }: { at: string; samples: number }) {
  const names = namesAt(at);
  const other = urls.find((url) => url !== at)!;
  const same: number[] = [];
  const across: number[] = [];
  for (let n = 0; n < samples; n++) {
    const name = names[n % names.length]!;
    same.push(await deliverTo(name, at));
    across.push(await deliverTo(name, other));
  }
  return { same, across };
}

/** Sends a message to each agent that was at a broker which is gone, until each has come back. */
async function move({ from, killedAt }: { from: string; killedAt: number }): Promise<Arrivals> {
  const other = urls.find((url) => url !== from)!;
  const moved = [...agents].filter(([, { subscribedAt }]) => subscribedAt < killedAt);
  const names = movedNames ?? moved.map(([name]) => name);
  const all = await Promise.all(
    names.map(async (name) => {
      const agent = agents.get(name)!;
      await deliverTo(name, other);
      return { subscribedMs: agent.subscribedAt - killedAt, servedMs: agent.gotAt - killedAt };
    }),
  );
  return {
    subscribedMs: all.map(({ subscribedMs }) => subscribedMs),
    servedMs: all.map(({ servedMs }) => servedMs),
  };
}

let movedNames: string[] | undefined;

serveParent({
  obey: async (order) => {
    const asked = order as AgentsOrder;
    if (asked.type === 'connect') return connectAll(asked.tokens);
    if (asked.type === 'wake') return wakeUp(asked);
    if (asked.type === 'expect') {
      movedNames = namesAt(asked.from);
      return movedNames.length;
    }
    return move(asked);
  },
  stop: async () => {},
});
