import type { ClusterPort, PresencePort, TokenStore } from '@signalbox/store';
import { nanoid } from 'nanoid';
import type { IdentityParts } from '../auth/identity-parts.ts';
import type { TailFollowers } from '../frames/tail-followers.ts';
import type { Holds } from '../holds/holds.ts';
import type { BrokerTalk } from './broker-talk.ts';
import { TailRelay } from './tail-relay.ts';
import { TokenFollower } from './token-follower.ts';

/** The parts that know the other brokers on the same stores. */
export interface ClusterParts {
  /** Knows the callers that are connected to other brokers. */
  presence: PresencePort;
  /** Applies the changes of other brokers to tokens and holds. */
  others: TokenFollower;
  /** Makes other brokers send their events. */
  tailRelay: TailRelay;
  /** Asks other brokers. */
  talk: BrokerTalk;
}

/** The dependencies of {@link joinCluster}. */
export interface ClusterPartsDeps extends Pick<IdentityParts, 'tokens' | 'agents'> {
  cluster: ClusterPort;
  tokenStore: TokenStore;
  talk: BrokerTalk;
  holds: Holds;
  followers: TailFollowers;
  /** Called with the ids of tokens that other brokers have revoked. */
  onRevoked: (ids: readonly string[]) => Promise<void>;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
}

/** Makes the parts of this feature, and answers the questions of other brokers from now on. */
export function joinCluster(deps: ClusterPartsDeps): ClusterParts {
  const { cluster, tokenStore, tokens, agents, talk, holds, followers, onRevoked, monotonic } = deps;
  const others = new TokenFollower({
    hasOthers: !cluster.isAlone,
    store: tokenStore,
    tokens,
    holds,
    agents,
    onRevoked,
  });
  talk.on('holds', async () => {
    await others.follow();
    return holds.confirmed();
  });
  const tailRelay = new TailRelay({ talk, followers, run: nanoid(12), monotonic });
  return { presence: cluster.presence, others, tailRelay, talk };
}
