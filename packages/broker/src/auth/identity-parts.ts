import type { TokenStore } from '@signalbox/store';
import type { BrokerSettings } from '../broker-options.ts';
import type { ExpiryClock } from '../core/time/expiry-clock.ts';
import { Groups } from './groups.ts';
import { KnownAgents } from './known-agents.ts';
import { MintingLimits } from './minting-limits.ts';
import type { RolePolicy } from './role-policy.ts';
import { SignInCodes } from './sign-in-codes.ts';
import { newTokenId } from './token-id.ts';
import { TokenRegistry } from './token-registry.ts';

/** The parts that know who a caller is, and what its role may do. */
export interface IdentityParts {
  tokens: TokenRegistry;
  minting: MintingLimits;
  agents: KnownAgents;
  groups: Groups;
  signIns: SignInCodes;
  /** The rules of each role that differ from the default, by role. */
  policies: Readonly<Record<string, RolePolicy>>;
}

/** Loads the tokens and the known agents, and makes the other parts of this feature. */
export async function loadIdentities(
  { limits, policies, roles, groups, monotonic }: BrokerSettings,
  store: TokenStore,
  time: ExpiryClock,
): Promise<IdentityParts> {
  const tokens = await TokenRegistry.load(store, time, newTokenId);
  return {
    tokens,
    minting: new MintingLimits(limits, tokens),
    agents: await KnownAgents.load(store, tokens),
    groups: new Groups(tokens, roles, groups),
    signIns: new SignInCodes(monotonic),
    policies,
  };
}
