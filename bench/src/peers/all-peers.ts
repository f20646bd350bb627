import { bullMq } from './bullmq.ts';
import { natsJetStream } from './nats.ts';
import type { Peer } from './peer.ts';
import { pgBoss, postgres, postgresKeeping } from './postgres.ts';
import { rabbitMq } from './rabbitmq.ts';
import { redisStreams } from './redis.ts';
import { signalbox, signalboxOnPostgres, signalboxSocket } from './signalbox.ts';

/** All peers in the order of the tables. Those of another checkout follow ours, so that they run in turn. */
export function peersBeside(before?: URL): readonly Peer[] {
  const ours = (['full', 'process'] as const).flatMap((durability) => [
    signalbox(durability),
    ...(before ? [signalbox(durability, before)] : []),
  ]);
  return [
    ...ours,
    signalboxSocket(),
    ...([1, 2] as const).flatMap((brokers) => [
      signalboxOnPostgres(brokers),
      ...(before ? [signalboxOnPostgres(brokers, before)] : []),
    ]),
    redisStreams('everysec'),
    redisStreams('always'),
    redisStreams('everysec', { dedupe: true }),
    redisStreams('always', { dedupe: true }),
    natsJetStream('default'),
    natsJetStream('always'),
    rabbitMq,
    postgres,
    postgresKeeping,
    pgBoss,
    bullMq,
  ];
}

/** Brokers on PostgreSQL, and what they are compared with. */
export function peersOnPostgres(): readonly Peer[] {
  return [
    signalbox('full'),
    signalboxOnPostgres(1),
    signalboxOnPostgres(2),
    postgres,
    postgresKeeping,
    pgBoss,
  ];
}

export function peerNamed(name: string): Peer {
  const peer = peersBeside().find((one) => one.name === name);
  if (!peer) throw new Error(`there is no peer '${name}'`);
  return peer;
}
