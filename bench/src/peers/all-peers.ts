import { bullMq } from './bullmq.ts';
import { natsJetStream } from './nats.ts';
import type { Peer } from './peer.ts';
import { postgres } from './postgres.ts';
import { rabbitMq } from './rabbitmq.ts';
import { redisStreams } from './redis.ts';
import { signalbox } from './signalbox.ts';

/** In the order of the tables. */
export const allPeers: readonly Peer[] = [
  signalbox('full'),
  signalbox('process'),
  redisStreams('everysec'),
  redisStreams('always'),
  natsJetStream('default'),
  natsJetStream('always'),
  rabbitMq,
  postgres,
  bullMq,
];

export function peerNamed(name: string): Peer {
  const peer = allPeers.find((one) => one.name === name);
  if (!peer) throw new Error(`there is no peer '${name}'`);
  return peer;
}
